"""`Sync` on a server: the rows T-SYNC of G 11.7, and what a write of a child looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import Conflict
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.program.effect import Delete, Event, Sync, SyncPolicy
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.sync import content_hash
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, widget

Apply = Callable[..., Report]
HASH, GENERATION = "example.com/last-applied-hash", "example.com/last-applied-generation"
POLICY = SyncPolicy(prefix="example.com/")


def deployment(replicas: int = 1, *, labels: Mapping[str, str] | None = None, env: tuple[str, ...] = ()) -> Deployment:
    container = {"name": "main", "image": "i", "env": [{"name": name, "value": "v"} for name in env]}
    return DEPLOYMENT.object(
        {
            "metadata": {"name": "d", "namespace": "ns", "labels": dict(labels or {})},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "d"}},
                "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}},
            },
        }
    )


def sync(child: Any, **options: Any) -> Sync:
    return Sync(child=child, policy=options.pop("policy", POLICY), **options)


def live(cache: FakeCache) -> Deployment:
    found = cache.get(DEPLOYMENT, "ns/d")
    assert found is not None
    return found


def owned_by(name: str, cache: FakeCache) -> list[dict[str, Any]]:
    found = cache.get(WIDGET, f"ns/{name}") or cache.add(widget(name))
    content: list[dict[str, Any]] = [msgspec.to_builtins(owner_reference(found))]
    return content


def put(cache: FakeCache, *, size: int, generation: int, hash_of: int | None, stored: int) -> None:
    """The child ns/d as an earlier attempt and others left it: live size and generation, bookkeeping of `hash_of`, `stored`."""
    content = widget("d", size=99).content()
    content["metadata"]["ownerReferences"] = owned_by("w", cache)
    if hash_of is not None:
        annotations = {HASH: content_hash(widget("d", size=hash_of).content()), GENERATION: str(stored)}
        content["metadata"]["annotations"] = annotations
    cache.add(WIDGET.object(content))
    for number in range(2, generation):
        cache.edit(WIDGET, "ns/d", {"spec": {"size": 99 + number}})
    assert cache.edit(WIDGET, "ns/d", {"spec": {"size": size}}).metadata.generation == generation


@pytest.mark.parametrize("_", [pytest.param(None, id="T-SYNC-01")])
def test_a_missing_child_is_created_with_its_bookkeeping_and_owner(cache: FakeCache, apply: Apply, _: None) -> None:
    wanted = deployment()
    apply(sync(wanted))
    found, owner = live(cache), cache.request(WIDGET, "ns/w").object
    assert found.metadata.annotations == {HASH: content_hash(wanted.content()), GENERATION: "1"}
    assert found.metadata.controller == owner_reference(owner)
    assert found.spec.replicas == 1


@pytest.mark.parametrize("owner", [pytest.param("v", id="T-SYNC-02"), pytest.param(None, id="T-SYNC-03")])
def test_a_child_of_somebody_else_is_refused_and_not_touched(cache: FakeCache, apply: Apply, owner: str | None) -> None:
    content = deployment(7).content()
    content["metadata"]["ownerReferences"] = owned_by(owner, cache) if owner else []
    cache.add(DEPLOYMENT.object(content))
    effect = sync(deployment(1))
    error = apply(effect).error(effect)
    assert isinstance(error, OwnershipConflict)
    assert error.live.key == live(cache).key
    assert live(cache).spec.replicas == 7
    assert not cache.writes


def test_a_shared_child_is_written_whoever_controls_it(cache: FakeCache, apply: Apply) -> None:
    content = deployment(7).content()
    content["metadata"]["ownerReferences"] = owned_by("v", cache)
    cache.add(DEPLOYMENT.object(content))
    apply(sync(deployment(2), shared_owner=True))
    assert live(cache).spec.replicas == 2
    owner = live(cache).metadata.controller
    assert owner is not None
    assert owner.name == "v"


@pytest.mark.parametrize(
    ("size", "generation", "hash_of", "stored", "paths", "kept"),
    [
        pytest.param(2, 3, 2, 3, None, "3", id="T-SYNC-04"),
        pytest.param(3, 5, 2, 4, {"spec", "metadata"}, "6", id="T-SYNC-05"),
        pytest.param(2, 5, 2, 4, {"metadata"}, "5", id="T-SYNC-06"),
        pytest.param(2, 3, None, 0, {"metadata"}, "3", id="T-SYNC-07"),
    ],
)
def test_a_child_is_written_as_the_table_says(
    cache: FakeCache,
    apply: Apply,
    size: int,
    generation: int,
    hash_of: int | None,
    stored: int,
    paths: set[str] | None,
    kept: str,
) -> None:
    put(cache, size=size, generation=generation, hash_of=hash_of, stored=stored)
    wanted = widget("d", size=2)
    effect = sync(wanted, event=Event(type="Normal", reason="Synced", note="n"))
    report = apply(effect)
    assert [{path.partition(".")[0] for path in write.paths} for write in cache.writes] == ([paths] if paths else [])
    found = cache.get(WIDGET, "ns/d")
    assert found is not None
    assert found.spec.size == 2
    assert found.metadata.annotations[GENERATION] == kept
    assert found.metadata.generation == generation + (1 if paths and "spec" in paths else 0)
    assert len(cache.events) == len(cache.writes)
    assert report.live(effect) is not None
    apply(sync(wanted))
    assert len(cache.writes) == (1 if paths else 0)


def test_bookkeeping_that_moves_the_generation_itself_comes_to_rest(cache: FakeCache, apply: Apply) -> None:
    apply(sync(deployment()))
    cache.edit(DEPLOYMENT, "ns/d", {"metadata": {"annotations": {HASH: None, GENERATION: None}}})
    for _ in range(3):
        apply(sync(deployment()))
    assert [write.verb for write in cache.writes] == ["create", "patch"]
    assert live(cache).metadata.annotations[GENERATION] == str(live(cache).metadata.generation)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(deployment(labels={"team": "b"}), id="T-SYNC-08"),
        pytest.param(deployment(), id="T-SYNC-08-removed"),
    ],
)
def test_a_changed_label_alone_is_no_write(cache: FakeCache, apply: Apply, changed: Deployment) -> None:
    apply(sync(deployment(labels={"team": "a"})))
    apply(sync(changed))
    assert len(cache.writes) == 1
    assert live(cache).metadata.labels == {"team": "a"}


def test_metadata_that_converges_is_written_without_touching_what_others_set(cache: FakeCache, apply: Apply) -> None:
    policy = SyncPolicy(prefix="example.com/", metadata="converge")
    apply(sync(deployment(labels={"team": "a"}), policy=policy))
    cache.edit(DEPLOYMENT, "ns/d", {"metadata": {"labels": {"theirs": "x"}, "annotations": {"theirs": "y"}}})
    apply(sync(deployment(labels={"team": "b"}), policy=policy))
    assert live(cache).metadata.labels == {"team": "b", "theirs": "x"}
    assert live(cache).metadata.annotations["theirs"] == "y"
    apply(sync(deployment(labels={"team": "b"}), policy=policy))
    assert len(cache.writes) == 2


def test_declared_annotations_that_converge_come_to_rest_in_one_write(cache: FakeCache, apply: Apply) -> None:
    policy = SyncPolicy(prefix="example.com/", metadata="converge")

    def wanted(value: str) -> Sync:
        content = deployment().content()
        content["metadata"]["annotations"] = {"mine": value}
        return sync(DEPLOYMENT.object(content), policy=policy)

    for value in ("a", "b", "b", "b"):
        apply(wanted(value))
    assert [write.verb for write in cache.writes] == ["create", "patch"]
    assert live(cache).metadata.annotations["mine"] == "b"


@pytest.mark.parametrize("_", [pytest.param(None, id="T-SYNC-09")])
def test_the_order_of_named_objects_is_no_difference(cache: FakeCache, apply: Apply, _: None) -> None:
    apply(sync(deployment(env=("A", "B"))))
    apply(sync(deployment(env=("B", "A"))))
    assert len(cache.writes) == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="T-SYNC-10")])
def test_a_delete_of_a_child_that_changed_in_between_is_a_conflict(cache: FakeCache, apply: Apply, _: None) -> None:
    apply(sync(deployment()))
    effect = Delete(target=live(cache))
    cache.faults.interleave(lambda: cache.edit(DEPLOYMENT, "ns/d", {"spec": {"replicas": 9}}), "delete")
    with pytest.raises(Conflict):
        apply(effect)
    assert live(cache).spec.replicas == 9
    apply(Delete(target=live(cache)))
    assert cache.get(DEPLOYMENT, "ns/d") is None


@pytest.mark.parametrize("_", [pytest.param(None, id="T-SYNC-11")])
def test_the_report_has_the_object_as_the_server_returned_it(cache: FakeCache, apply: Apply, _: None) -> None:
    apply(sync(deployment(1)))
    cache.set_status(DEPLOYMENT, "ns/d", {"observedGeneration": 1, "replicas": 1})
    effect = sync(deployment(2))
    found = apply(effect).live(effect)
    assert isinstance(found, Deployment)
    assert found.metadata.generation == 2
    assert found.status.observed_generation == 1
    assert found.metadata.uid == live(cache).metadata.uid


def test_a_status_write_in_between_does_not_disturb_a_child_write(cache: FakeCache, apply: Apply) -> None:
    apply(sync(deployment(1)))
    cache.faults.interleave(lambda: cache.set_status(DEPLOYMENT, "ns/d", {"replicas": 1}), "patch", DEPLOYMENT)
    apply(sync(deployment(2)))
    assert (live(cache).spec.replicas, live(cache).status.replicas) == (2, 1)


def test_a_spec_write_in_between_is_a_conflict(cache: FakeCache, apply: Apply) -> None:
    apply(sync(deployment(1)))
    cache.faults.interleave(lambda: cache.edit(DEPLOYMENT, "ns/d", {"spec": {"replicas": 9}}), "patch", DEPLOYMENT)
    with pytest.raises(Conflict):
        apply(sync(deployment(2)))
    assert live(cache).spec.replicas == 9


def test_another_object_of_the_same_name_is_a_conflict(cache: FakeCache, apply: Apply) -> None:
    apply(sync(deployment(1)))

    def replaced() -> None:
        cache.delete(DEPLOYMENT, "ns/d")
        cache.add(deployment(1))

    cache.faults.interleave(replaced, "patch", DEPLOYMENT)
    with pytest.raises(Conflict):
        apply(sync(deployment(2)))
    assert live(cache).spec.replicas == 1


def test_a_kind_without_spec_is_replaced_field_by_field(cache: FakeCache, apply: Apply) -> None:
    def role(*verbs: str) -> Sync:
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": list(verbs)}]
        return sync(ROLE.object({"metadata": {"name": "r", "namespace": "ns"}, "rules": rules}))

    apply(role("get"))
    apply(role("get", "list"))
    found = cache.get(ROLE, "ns/r")
    assert found is not None
    assert found.content()["rules"][0]["verbs"] == ["get", "list"]
    apply(role("get", "list"))
    assert len(cache.writes) == 2


def test_a_field_that_a_kind_without_spec_does_not_declare_any_more_goes(cache: FakeCache, apply: Apply) -> None:
    def config(**fields: Any) -> Sync:
        return sync(CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}, **fields}))

    apply(config(data={"a": "1"}, immutable=False))
    apply(config(binaryData={"b": "aGk="}))
    found = cache.get(CONFIG_MAP, "ns/c")
    assert found is not None
    assert found.data == {}
    assert found.content()["binaryData"] == {"b": "aGk="}


def test_an_empty_child_is_synced_once(cache: FakeCache, apply: Apply) -> None:
    effect = sync(SERVICE_ACCOUNT.object({"metadata": {"name": "s", "namespace": "ns"}}))
    apply(effect)
    apply(effect)
    assert len(cache.writes) == 1


def test_a_child_without_a_namespace_lives_in_that_of_its_parent(cache: FakeCache, apply: Apply) -> None:
    apply(sync(CONFIG_MAP.object({"metadata": {"name": "c"}})))
    assert cache.get(CONFIG_MAP, "ns/c") is not None


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        pytest.param({"name": "c", "namespace": "other"}, "metadata.namespace", id="another-namespace"),
        pytest.param({"generateName": "c-", "namespace": "ns"}, "metadata.name", id="no-name"),
    ],
)
def test_a_child_that_cannot_be_one_is_refused_by_field(
    cache: FakeCache, apply: Apply, metadata: dict[str, str], path: str
) -> None:
    effect = sync(CONFIG_MAP.object({"metadata": metadata}))
    error = apply(effect).error(effect)
    assert isinstance(error, InvalidObject)
    assert error.path == path
    assert not cache.writes


def test_a_child_that_is_being_deleted_is_not_taken_for_one_that_was_edited(
    cache: FakeCache, apply: Apply, logs: list[Any]
) -> None:
    """A deletion moves the generation; a parent that answers with writes fights the collector (ai-dynamo/dynamo#8204)."""
    apply(sync(deployment()))
    cache.edit(DEPLOYMENT, "ns/d", {"metadata": {"finalizers": ["example.com/hold"]}})
    apply(sync(deployment()))
    cache.core.delete(DEPLOYMENT, Key("ns", "d"))
    going, written = live(cache), len(cache.writes)
    assert going.metadata.generation > int(going.metadata.annotations[GENERATION])
    report = apply(effect := sync(deployment()))
    assert report.live(effect) == going
    assert len(cache.writes) == written
    assert logs == []


def test_a_hand_edit_is_brought_back_and_logged(cache: FakeCache, apply: Apply, logs: list[Any]) -> None:
    apply(sync(deployment(1)))
    cache.edit(DEPLOYMENT, "ns/d", {"spec": {"replicas": 9}})
    apply(sync(deployment(1)))
    assert live(cache).spec.replicas == 1
    assert live(cache).metadata.annotations[GENERATION] == "3"
    (line,) = logs
    assert (line["log_level"], line["child"]) == ("info", "Deployment ns/d")
    assert "spec.replicas" in line["paths"]
