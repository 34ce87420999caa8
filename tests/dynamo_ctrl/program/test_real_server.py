"""What a bound write does on a real API server: the facts that `outcome` and the executor build on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Conflict, Invalid
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, Deployment
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.attempt import Attempted, Attempts
from dynamo_ctrl.program.effect import (
    CreateOnce,
    Delete,
    Effect,
    EnsureFinalizer,
    Patch,
    PatchPrimary,
    RemoveFinalizer,
    Scale,
    Sync,
    SyncPolicy,
)
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.program.trace import Trace
from dynamo_ctrl.testing.widget import WIDGET, WidgetStatus, widget
from envtest import ApiError, Cluster
from envtest.api import wait_for

GENERATION = "example.com/last-applied-generation"
POLICY = SyncPolicy(prefix="example.com/", metadata="converge")


class Live:
    """The lookup, the written-to and the recorder of an attempt on a real server; it can let something happen in between."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.api = cluster.api
        self.kubeconfig = cluster.kubeconfig
        self.namespace = namespace
        self.between: Callable[[], object] | None = None

    def get(self, kind: Kind[Any], key: Key | str) -> Any:
        found = Key.of(key)
        try:
            content = self.api.get(kind.path(found.namespace, found.name))
        except ApiError as error:
            if error.code != 404:
                raise
            content = None
        if self.between is not None and kind != CONFIG_MAP:
            self.between()
            self.between = None
        return None if content is None else kind.object(content)

    def wrote(self, obj: Object[Any, Any]) -> None:
        pass

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        pass

    def event(self, regarding: Any, event: Any) -> None:
        pass

    @property
    def primary(self) -> Any:
        return self.get(CONFIG_MAP, Key(self.namespace, "primary"))

    def edit(self, kind: Kind[Any], name: str, patch: Any, subresource: str = "") -> Any:
        path = kind.path(self.namespace, name, subresource)
        return self.api.request("PATCH", path, patch, content_type="application/merge-patch+json")

    def apply(self, *effects: Effect, primary: Any = None, status: Any = None) -> Attempted:
        steps = tuple(Step(name=str(number), effects=(effect,)) for number, effect in enumerate(effects))

        async def main() -> Attempted:
            async with open_engine("kubernetes", EngineConfig(kubeconfig=self.kubeconfig)) as engine:
                attempts = Attempts(engine=engine, view=self, written=self, recorder=self)  # type: ignore[arg-type]
                result = Result(steps=steps, status=status)
                return await attempts.make(primary or self.primary, result, Trace(datetime.now(UTC)))

        return asyncio.run(main())


@pytest.fixture
def live(cluster: Cluster, namespace: str) -> Live:
    live = Live(cluster, namespace)
    cluster.api.create(CONFIG_MAP.path(namespace), {"metadata": {"name": "primary"}})
    return live


def deployment(live: Live, replicas: int, *, image: str = "i", note: str | None = None) -> Deployment:
    metadata: dict[str, Any] = {"name": "d", "namespace": live.namespace}
    if note is not None:
        metadata["annotations"] = {"note": note}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": image}]}},
    }
    return DEPLOYMENT.object({"metadata": metadata, "spec": spec})


def child(kind: Kind[Any], live: Live, **fields: Any) -> Sync:
    return Sync(child=kind.object({"metadata": {"name": "c", "namespace": live.namespace}, **fields}), policy=POLICY)


CHANGES: dict[Kind[Any], tuple[dict[str, Any], dict[str, Any]]] = {
    SERVICE: (
        {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}},
        {"spec": {"selector": {"a": "b"}, "ports": [{"port": 81}]}},
    ),
    CONFIG_MAP: ({"data": {"a": "1"}}, {"binaryData": {"b": "aGk="}}),
    SERVICE_ACCOUNT: ({}, {"automountServiceAccountToken": False}),
    ROLE: (
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]},
    ),
}


@pytest.mark.parametrize("kind", CHANGES, ids=str)
def test_a_child_is_created_once_and_replaced_once(live: Live, kind: Kind[Any]) -> None:
    first, second = CHANGES[kind]
    assert [live.apply(child(kind, live, **first)).report.wrote for _ in range(2)] == [1, 0]
    before = live.get(kind, Key(live.namespace, "c"))
    assert [live.apply(child(kind, live, **second)).report.wrote for _ in range(2)] == [1, 0]
    after = live.get(kind, Key(live.namespace, "c"))
    assert after.metadata.uid == before.metadata.uid
    if kind == SERVICE:
        assert after.content()["spec"]["clusterIP"] == before.content()["spec"]["clusterIP"]


def test_a_deployment_is_written_through_its_defaults_and_comes_to_rest(live: Live) -> None:
    for wanted in (deployment(live, 0), deployment(live, 0, image="j"), deployment(live, 0, image="j", note="x")):
        wrote = [live.apply(Sync(child=wanted, policy=POLICY)).report.wrote for _ in range(3)]
        assert wrote == [1, 0, 0]
        found = live.get(DEPLOYMENT, Key(live.namespace, "d"))
        assert found.metadata.annotations[GENERATION] == str(found.metadata.generation)


def test_lost_bookkeeping_of_a_deployment_comes_to_rest(live: Live) -> None:
    wanted = Sync(child=deployment(live, 0), policy=POLICY)
    live.apply(wanted)
    live.edit(DEPLOYMENT, "d", {"metadata": {"annotations": {GENERATION: None}}})
    assert [live.apply(wanted).report.wrote for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("patch", "subresource", "conflict"),
    [
        pytest.param({"status": {"collisionCount": 1}}, "status", False, id="status"),
        pytest.param({"metadata": {"labels": {"x": "y"}}}, "", False, id="labels"),
        pytest.param({"spec": {"paused": True}}, "", True, id="spec"),
    ],
)
def test_a_child_write_is_bound_to_the_generation(live: Live, patch: Any, subresource: str, conflict: bool) -> None:
    live.apply(Sync(child=deployment(live, 0), policy=POLICY))
    live.between = lambda: live.edit(DEPLOYMENT, "d", patch, subresource)
    wanted = Sync(child=deployment(live, 0, image="j"), policy=POLICY)
    if conflict:
        with pytest.raises(Conflict):
            live.apply(wanted)
    else:
        assert live.apply(wanted).error is None
        image = live.get(DEPLOYMENT, Key(live.namespace, "d")).content()["spec"]["template"]["spec"]["containers"][0]
        assert image["image"] == "j"


def test_a_rule_that_a_bound_write_breaks_is_a_failure_and_no_conflict(live: Live) -> None:
    live.apply(Sync(child=deployment(live, 0), policy=POLICY))
    content = deployment(live, 0).content()
    content["spec"]["selector"] = {"matchLabels": {"other": "x"}}
    attempted = live.apply(Sync(child=DEPLOYMENT.object(content), policy=POLICY))
    assert isinstance(attempted.error, Invalid)


def test_a_missing_map_is_not_created_over_somebody_elses(live: Live) -> None:
    live.api.create(SERVICE_ACCOUNT.path(live.namespace), {"metadata": {"name": "c"}})
    target = live.get(SERVICE_ACCOUNT, Key(live.namespace, "c"))
    note = Patch(target=target, patch=Change.merge({"metadata": {"labels": {"mine": "1"}}}))
    live.between = lambda: live.edit(SERVICE_ACCOUNT, "c", {"metadata": {"labels": {"theirs": "1"}}})
    with pytest.raises(Conflict):
        live.apply(note)
    assert live.apply(note).report.wrote == 1
    assert live.get(SERVICE_ACCOUNT, Key(live.namespace, "c")).metadata.labels == {"mine": "1", "theirs": "1"}


@pytest.mark.parametrize("replicas", [0, 3])
def test_the_scale_is_written_and_bound_to_the_object(live: Live, replicas: int) -> None:
    live.apply(Sync(child=deployment(live, 1), policy=POLICY))
    effect = Scale(kind=DEPLOYMENT, key=Key(live.namespace, "d"), replicas=replicas)
    found = live.apply(effect).report.live(effect)
    assert isinstance(found, Deployment)
    assert found.spec.replicas == replicas
    assert live.apply(Scale(kind=DEPLOYMENT, key=Key(live.namespace, "d"), replicas=replicas)).report.wrote == 0

    def replaced() -> None:
        live.api.delete(DEPLOYMENT.path(live.namespace, "d"))
        live.api.create(DEPLOYMENT.path(live.namespace), deployment(live, 1).content())

    live.between = replaced
    with pytest.raises(Conflict):
        live.apply(Scale(kind=DEPLOYMENT, key=Key(live.namespace, "d"), replicas=7))


def test_finalizers_come_and_go_and_the_object_with_the_last(live: Live) -> None:
    for name in ("example.com/a", "example.com/b"):
        assert live.apply(EnsureFinalizer(name=name)).report.wrote == 1
        assert live.apply(EnsureFinalizer(name=name)).report.wrote == 0
    live.api.delete(CONFIG_MAP.path(live.namespace, "primary"))
    assert live.apply(RemoveFinalizer(name="example.com/a")).report.wrote == 1
    primary = live.primary
    assert primary.metadata.finalizers == ("example.com/b",)
    assert live.apply(RemoveFinalizer(name="example.com/b")).report.wrote == 1
    assert live.primary is None
    assert live.apply(RemoveFinalizer(name="example.com/b"), primary=primary).error is None


@pytest.mark.parametrize("effect", [EnsureFinalizer(name="example.com/c"), RemoveFinalizer(name="example.com/b")])
@pytest.mark.parametrize("left", [["example.com/b"], ["example.com/b", "example.com/a"], []])
def test_finalizers_that_others_changed_meanwhile_are_a_conflict(live: Live, effect: Effect, left: list[str]) -> None:
    """Nobody's entry comes back or goes with ours (nolar/kopf#1106), also where the list got too short for the patch."""
    stale = live.edit(CONFIG_MAP, "primary", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}})
    live.edit(CONFIG_MAP, "primary", {"metadata": {"finalizers": left}})
    with pytest.raises(Conflict):
        live.apply(effect, primary=CONFIG_MAP.object(stale))
    assert list(live.primary.metadata.finalizers) == left
    live.edit(CONFIG_MAP, "primary", {"metadata": {"finalizers": []}})


def test_a_stale_primary_is_a_conflict(live: Live) -> None:
    stale = live.primary
    live.edit(CONFIG_MAP, "primary", {"data": {"a": "b"}})
    with pytest.raises(Conflict):
        live.apply(PatchPrimary(patch=Change.merge({"metadata": {"labels": {"x": "y"}}})), primary=stale)
    with pytest.raises(Conflict):
        live.apply(EnsureFinalizer(name="example.com/a"), primary=stale)


@pytest.fixture
def widgets(live: Live) -> Live:
    names = {"kind": WIDGET.kind, "plural": WIDGET.plural, "singular": "widget", "listKind": "WidgetList"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": WIDGET.group, "scope": "Namespaced", "names": names}
    content = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": str(WIDGET)},
        "spec": {**spec, "versions": [{**version, "subresources": {"status": {}}}]},
    }
    with contextlib.suppress(ApiError):
        live.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", content)

    def served() -> Any:
        with contextlib.suppress(ApiError):
            return live.api.create(WIDGET.path(live.namespace), widget(namespace=live.namespace).content())

    wait_for("the kind Widget", served, timeout=20)
    return live


def test_a_status_is_written_through_metadata_that_moved_and_not_over_a_spec_that_did(widgets: Live) -> None:
    seen = widgets.get(WIDGET, Key(widgets.namespace, "w"))
    widgets.edit(WIDGET, "w", {"metadata": {"labels": {"x": "y"}}})
    assert widgets.apply(primary=seen, status=WidgetStatus(state="ready")).error is None
    assert widgets.get(WIDGET, seen.key).status.state == "ready"
    seen = widgets.get(WIDGET, seen.key)
    widgets.edit(WIDGET, "w", {"spec": {"size": 9}})
    with pytest.raises(Conflict):
        widgets.apply(primary=seen, status=WidgetStatus(state="gone"))
    assert widgets.get(WIDGET, seen.key).status.state == "ready"


def test_a_status_follows_the_attempts_own_patches_of_the_primary(widgets: Live) -> None:
    seen = widgets.get(WIDGET, Key(widgets.namespace, "w"))
    patch = PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"a": "b"}}, "spec": {"size": 4}}))
    keep = EnsureFinalizer(name="example.com/f")
    assert widgets.apply(patch, keep, primary=seen, status=WidgetStatus(state="ready")).report.wrote == 2
    found = widgets.get(WIDGET, seen.key)
    assert (found.spec.size, found.status.state, found.metadata.finalizers) == (4, "ready", ("example.com/f",))
    assert widgets.apply(RemoveFinalizer(name="example.com/f"), primary=found).error is None


def test_a_delete_is_bound_to_what_was_read(live: Live) -> None:
    live.apply(child(SERVICE_ACCOUNT, live))
    stale = live.get(SERVICE_ACCOUNT, Key(live.namespace, "c"))
    live.between = lambda: live.edit(SERVICE_ACCOUNT, "c", {"metadata": {"labels": {"x": "y"}}})
    with pytest.raises(Conflict):
        live.apply(Delete(target=stale))
    fresh = live.get(SERVICE_ACCOUNT, Key(live.namespace, "c"))
    assert live.apply(Delete(target=fresh)).report.wrote == 1
    assert live.apply(Delete(target=fresh)).report.wrote == 0


def test_a_generated_secret_is_stored_as_it_was_made(live: Live) -> None:
    async def fill() -> dict[str, bytes]:
        return {"key": b"\x00\xff"}

    secret = SECRET.object({"metadata": {"name": "s", "namespace": live.namespace}})
    assert live.apply(CreateOnce(object=secret, fill=fill)).report.wrote == 1
    assert live.get(SECRET, Key(live.namespace, "s")).data == {"key": b"\x00\xff"}
    assert live.apply(CreateOnce(object=secret, fill=fill)).report.wrote == 0
