"""What holds for the core alone: determinism, independence of bytes, registered kinds, and nothing half done."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import EngineError, Forbidden, Invalid, NotFound
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, POD
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch


class Thing(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of the test's own kind."""


THING = Kind(Thing, group="x.io", version="v1", kind="Thing", plural="things")
KEY = Key("default", "a")


def thing(name: str = "a", **content: Any) -> bytes:
    return json.dumps({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": name}, **content}).encode()


def history(core: Core) -> list[bytes]:
    core.register(THING)
    core.create(THING, "default", thing(spec={"n": 1}))
    core.create(CONFIG_MAP, "default", b'{"metadata":{"generateName":"g-"}}')
    core.patch(THING, KEY, Patch.merge({"spec": {"n": 2}}))
    core.delete(THING, KEY)
    return [event.object for kind in (THING, CONFIG_MAP) for event in core.watch(kind, WatchOptions()).take()]


def test_equal_seeds_clocks_and_calls_give_equal_bytes() -> None:
    cores = [Core(clock=ManualClock(), random=random.Random(7)) for _ in range(2)]
    assert history(cores[0]) == history(cores[1])
    other = Core(clock=ManualClock(), random=random.Random(8))
    assert history(other) != history(cores[0])


def test_a_kind_is_unknown_until_it_is_registered() -> None:
    core = Core()
    with pytest.raises(NotFound, match="404 page not found"):
        core.list(THING, ListOptions())
    core.register(THING)
    assert core.list(THING, ListOptions()).items == []


def test_a_registered_kind_keeps_everything_and_splits_status() -> None:
    core = Core()
    core.register(THING)
    core.create(THING, "default", thing(spec={"any": {"thing": [1]}}, status={"s": 1}))
    assert "status" not in json.loads(core.get(THING, KEY))
    core.patch(THING, KEY, Patch.merge({"status": {"s": 2}}), subresource="status")
    found = json.loads(core.get(THING, KEY))
    assert (found["spec"], found["status"], found["metadata"]["generation"]) == ({"any": {"thing": [1]}}, {"s": 2}, 1)


def test_registering_twice_or_over_a_definition_changes_nothing() -> None:
    core = Core()
    core.register(THING)
    core.create(THING, "default", thing())
    core.register(THING)
    core.register(POD)
    assert len(core.list(THING, ListOptions()).items) == 1
    with pytest.raises(Invalid):
        core.create(POD, "default", b'{"metadata":{"name":"a"},"spec":{}}')


def test_a_definition_takes_over_a_registered_kind() -> None:
    core = Core()
    core.register(THING)
    core.create(THING, "default", thing(spec={"n": 1, "junk": 1}))
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": "x.io", "scope": "Namespaced", "names": names, "versions": [version]}
    core.create(
        CUSTOM_RESOURCE_DEFINITION, "", json.dumps({"metadata": {"name": "things.x.io"}, "spec": spec}).encode()
    )
    assert json.loads(core.get(THING, KEY))["spec"] == {"n": 1}
    with pytest.raises(Invalid):
        core.patch(THING, KEY, Patch.merge({"spec": {"n": "x"}}))


def test_numbers_and_booleans_are_told_apart() -> None:
    core = Core()
    core.register(THING)
    core.create(THING, "default", thing(spec={"n": 1}))
    before = core.version
    core.patch(THING, KEY, Patch.merge({"spec": {"n": True}}))
    assert core.version == before + 1
    assert json.loads(core.get(THING, KEY))["spec"]["n"] is True


@pytest.mark.parametrize(
    "write",
    [
        lambda core: core.create(CONFIG_MAP, "default", b'{"metadata":{"name":"A"}}'),
        lambda core: core.create(CONFIG_MAP, "nowhere", b'{"metadata":{"name":"b"}}'),
        lambda core: core.update(CONFIG_MAP, KEY, b'{"metadata":{"name":"a","resourceVersion":"1"}}'),
        lambda core: core.patch(CONFIG_MAP, KEY, Patch.merge({"data": {"x y": "1"}})),
        lambda core: core.patch(CONFIG_MAP, KEY, Patch.json([{"op": "remove", "path": "/data/x"}])),
        lambda core: core.delete(NAMESPACE, Key("", "default")),
        lambda core: core.delete(CONFIG_MAP, Key("default", "x")),
    ],
)
def test_a_refused_write_changes_nothing(write: Any) -> None:
    core = Core(random=random.Random(1))
    core.create(CONFIG_MAP, "default", b'{"metadata":{"name":"a"}}')
    feed = core.watch(CONFIG_MAP, WatchOptions(resource_version=str(core.version)))
    before = core.version, core.list(CONFIG_MAP, ListOptions()).items
    with pytest.raises(EngineError):
        write(core)
    assert (core.version, core.list(CONFIG_MAP, ListOptions()).items) == before
    assert feed.take() == []


def test_what_is_handed_out_cannot_change_what_is_stored() -> None:
    core = Core()
    core.create(CONFIG_MAP, "default", b'{"metadata":{"name":"a"},"data":{"k":"v"}}')
    page = core.list(CONFIG_MAP, ListOptions())
    assert isinstance(page.items, list)
    page.items.clear()
    tree = json.loads(core.get(CONFIG_MAP, KEY))
    tree["data"]["k"] = "changed"
    assert json.loads(core.get(CONFIG_MAP, KEY))["data"] == {"k": "v"}
    assert all(type(raw) is bytes for raw in core.list(CONFIG_MAP, ListOptions()).items)


def test_a_page_of_the_past_does_not_change_with_the_present() -> None:
    core = Core()
    core.create(CONFIG_MAP, "default", b'{"metadata":{"name":"a"},"data":{"k":"v"}}')
    before = core.list(CONFIG_MAP, ListOptions()).items
    core.patch(CONFIG_MAP, KEY, Patch.merge({"data": {"k": "w"}}))
    assert json.loads(before[0])["data"] == {"k": "v"}


def test_a_namespace_ends_with_its_pods_grace() -> None:
    core = Core(clock=ManualClock())
    core.create(NAMESPACE, "", b'{"metadata":{"name":"n"}}')
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "x", "containers": [{"name": "c", "image": "i"}]}}
    core.create(POD, "n", json.dumps(pod).encode())
    core.create(CONFIG_MAP, "n", b'{"metadata":{"name":"c"}}')
    core.delete(NAMESPACE, Key("", "n"))
    assert core.list(CONFIG_MAP, ListOptions(namespace="n")).items == []
    assert json.loads(core.get(POD, Key("n", "p")))["metadata"]["deletionGracePeriodSeconds"] == 30
    with pytest.raises(Forbidden, match="because it is being terminated"):
        core.create(CONFIG_MAP, "n", b'{"metadata":{"name":"d"}}')
    core.delete(POD, Key("n", "p"), grace_seconds=0)
    with pytest.raises(NotFound):
        core.get(NAMESPACE, Key("", "n"))


def test_the_deletion_timestamp_is_the_moment_when_grace_ends() -> None:
    clock = ManualClock()
    core = Core(clock=clock)
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "x", "containers": [{"name": "c", "image": "i"}]}}
    core.create(POD, "default", json.dumps(pod).encode())
    core.delete(POD, KEY)
    assert json.loads(core.get(POD, KEY))["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    clock.advance(10)
    core.delete(POD, KEY, grace_seconds=20)
    assert json.loads(core.get(POD, KEY))["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:20Z"
