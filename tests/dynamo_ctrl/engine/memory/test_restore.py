"""Objects that another server made, put into a core as they are."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, POD
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing.widget import WIDGET


@pytest.fixture
def core() -> Core:
    core = Core(clock=ManualClock(), random=Random(1))
    core.restore(NAMESPACE, msgspec.json.encode({"metadata": {"name": "ns", "uid": "n"}}))
    return core


def body(name: str, uid: str, *owners: tuple[Kind[Any], str, str], **more: Any) -> bytes:
    references = [
        {"apiVersion": kind.api_version, "kind": kind.kind, "name": owner, "uid": owner_uid, "controller": True}
        for kind, owner, owner_uid in owners
    ]
    metadata = {
        "name": name, "namespace": "ns", "uid": uid, "generation": 7, "resourceVersion": "4711",
        "creationTimestamp": "2024-01-01T00:00:00Z", "managedFields": [{"manager": "m"}],
    }  # fmt: skip
    if references:
        metadata["ownerReferences"] = references
    return msgspec.json.encode({"metadata": metadata, **more})


def there(core: Core, kind: Kind[Any], name: str) -> bool:
    try:
        core.get(kind, Key("ns", name))
    except NotFound:
        return False
    return True


def test_everything_but_the_version_is_kept(core: Core) -> None:
    before = core.version
    raw = body("d", "u", spec={"replicas": 2}, status={"readyReplicas": 2})
    restored = DEPLOYMENT.decode(core.restore(DEPLOYMENT, raw))
    content = restored.content()
    assert content["spec"] == {"replicas": 2}
    assert content["status"] == {"readyReplicas": 2}
    assert content["metadata"] == {
        "name": "d", "namespace": "ns", "uid": "u", "generation": 7, "creationTimestamp": "2024-01-01T00:00:00Z",
        "resourceVersion": str(before + 1),
    }  # fmt: skip
    assert core.get(DEPLOYMENT, Key("ns", "d")) == restored.raw


def test_a_watch_sees_it_come(core: Core) -> None:
    feed = core.watch(CONFIG_MAP, WatchOptions(resource_version=str(core.version), bookmarks=False))
    raw = core.restore(CONFIG_MAP, body("c", "u"))
    assert [(event.type, event.object) for event in feed.take()] == [("ADDED", raw)]


def test_an_owner_that_is_not_here_does_not_count_as_gone(core: Core) -> None:
    core.restore(CONFIG_MAP, body("c", "c", (REPLICA_SET, "r", "r")))
    core.create(CONFIG_MAP, "ns", msgspec.json.encode({"metadata": {"name": "other"}}))
    core.patch(CONFIG_MAP, Key("ns", "c"), Patch.merge({"metadata": {"labels": {"a": "b"}}}))
    assert there(core, CONFIG_MAP, "c")


@pytest.mark.parametrize("owner_first", [True, False])
def test_dependants_go_with_an_owner_that_is_here(core: Core, owner_first: bool) -> None:
    owner, child = (DEPLOYMENT, body("d", "d")), (REPLICA_SET, body("r", "r", (DEPLOYMENT, "d", "d")))
    for kind, raw in (owner, child) if owner_first else (child, owner):
        core.restore(kind, raw)
    core.delete(DEPLOYMENT, Key("ns", "d"))
    assert not there(core, REPLICA_SET, "r")


def test_a_namespace_that_ends_elsewhere_is_not_emptied_here(core: Core) -> None:
    metadata = {"name": "going", "uid": "g", "deletionTimestamp": "2024-01-01T00:00:00Z"}
    status = {"phase": "Terminating"}
    core.restore(NAMESPACE, msgspec.json.encode({"metadata": metadata, "status": status}))
    core.restore(CONFIG_MAP, body("c", "u"))
    core.create(CONFIG_MAP, "default", msgspec.json.encode({"metadata": {"name": "other"}}))
    assert there(core, CONFIG_MAP, "c")


def test_a_later_state_takes_the_place_of_an_earlier_one(core: Core) -> None:
    core.restore(CONFIG_MAP, body("c", "u", data={"a": "1"}))
    core.restore(CONFIG_MAP, body("c", "u", data={"a": "2"}))
    assert CONFIG_MAP.decode(core.get(CONFIG_MAP, Key("ns", "c"))).data == {"a": "2"}


def test_a_definition_is_served(core: Core) -> None:
    version = {
        "name": "v1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }  # fmt: skip
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    definition = {
        "metadata": {"name": "widgets.example.com", "uid": "crd"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        "status": {"conditions": [], "acceptedNames": names, "storedVersions": ["v1"]},
    }
    assert not core.serves(WIDGET)
    core.restore(CUSTOM_RESOURCE_DEFINITION, msgspec.json.encode(definition))
    assert core.serves(WIDGET)
    core.restore(WIDGET, body("w", "w", spec={"size": 3}))
    assert WIDGET.decode(core.get(WIDGET, Key("ns", "w"))).spec.size == 3


def test_what_is_no_object_of_the_kind_is_refused(core: Core) -> None:
    with pytest.raises(InvalidObject, match="expected v1 ConfigMap"):
        core.restore(CONFIG_MAP, POD.object({"metadata": {"name": "p", "namespace": "ns"}}).raw)
