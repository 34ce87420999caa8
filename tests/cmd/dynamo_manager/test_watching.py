"""What a run looks at: the owner tree, and what keeps applied objects from being ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from structlog.testing import capture_logs

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SERVICE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import FakeCache, FaultyEngine, LoopClock, settle
from dynamo_ctrl.testing.widget import WIDGET, widget
from dynamo_manager.observer import Observer, kinds
from dynamo_manager.tree import rows

AnyObject = Object[Any, Any]

TEMPLATE: Any = {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
SPEC = {"replicas": 1, "selector": {"matchLabels": {"app": "d"}}, "template": TEMPLATE}


def child(kind: Kind[Any], name: str, owner: AnyObject, **content: Any) -> AnyObject:
    reference = {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
    }
    made: AnyObject = kind.object(
        {"metadata": {"name": name, "namespace": "ns", "ownerReferences": [reference]}, **content}
    )
    return made


def test_the_tree_is_depth_first_and_leaves_out_what_stands_between() -> None:
    cache = FakeCache()
    top = cache.add(widget("w"))
    other = cache.add(widget("v"))
    deployment = cache.add(child(DEPLOYMENT, "d", top, spec=SPEC))
    set_ = cache.add(child(REPLICA_SET, "d-1", deployment, spec=SPEC))
    for name in ("d-1-b", "d-1-a"):
        cache.add(child(POD, name, set_, spec=TEMPLATE["spec"]))
    cache.add(child(POD, "stray", other, spec=TEMPLATE["spec"]))
    found = rows(cache, [top], (WIDGET, DEPLOYMENT, REPLICA_SET, POD))
    assert [(row.depth, row.kind, row.name, row.ready, row.text) for row in found] == [
        (0, "Widget", "w", False, "no status yet"),
        (1, "Deployment", "d", False, "0/1 ready, a change is not seen yet"),
        (2, "Pod", "d-1-a", False, "Pending"),
        (2, "Pod", "d-1-b", False, "Pending"),
    ]


def test_the_kinds_of_the_tree_go_from_owners_to_what_they_own() -> None:
    below = watching(CONFIG_MAP).owning(SERVICE)
    above = watching(WIDGET).owning(CONFIG_MAP)
    assert kinds([below, above]) == (WIDGET, CONFIG_MAP, DEPLOYMENT, REPLICA_SET, POD)


@asynccontextmanager
async def observed(core: Core, engine: Engine | None = None) -> AsyncIterator[Observer]:
    engine = engine if engine is not None else MemoryEngine(core)
    observer = Observer(engine, clock=LoopClock(), namespaces=["ns"], kinds=(WIDGET, POD))
    task = asyncio.create_task(observer.run())
    await settle()
    yield observer
    task.cancel()
    await asyncio.wait([task])


def served() -> Core:
    core = FakeCache([CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}})]).core
    core.register(WIDGET)
    return core


def create(core: Core, obj: AnyObject) -> AnyObject:
    made: AnyObject = obj.kind.decode(core.create(obj.kind, obj.metadata.namespace, obj.raw))
    return made


async def test_expected_objects_are_pending_until_they_are_ready() -> None:
    core = served()
    async with observed(core) as observer:
        assert observer.pending() == ()
        applied = create(core, widget())
        observer.expect([applied])
        assert observer.pending() == ("Widget ns/w: is not there",)
        await settle()
        assert observer.pending() == ("Widget ns/w: no status yet",)
        status = {"status": {"conditions": [{"type": "Ready", "status": "True", "message": "fine"}]}}
        core.patch(WIDGET, applied.key, Patch.merge(status), subresource="status")
        await settle()
        assert observer.pending() == ()
        assert [(row.name, row.ready, row.text) for row in observer.rows()] == [("w", True, "fine")]


async def test_what_may_not_be_read_is_left_out_of_the_tree_without_a_complaint() -> None:
    core = served()
    refusing = FaultyEngine(MemoryEngine(core))
    refusing.fail(Forbidden("pods is forbidden"), "list", POD, times=100)
    create(core, widget())
    with capture_logs() as lines:
        async with observed(core, refusing) as observer:
            observer.expect([WIDGET.decode(core.get(WIDGET, Key("ns", "w")))])
            await settle()
            assert [(row.kind, row.name) for row in observer.rows()] == [("Widget", "w")]
    assert [line for line in lines if line["log_level"] == "warning"] == []


async def test_an_expected_object_that_may_not_be_read_is_told_with_the_reason() -> None:
    core = served()
    refusing = FaultyEngine(MemoryEngine(core))
    refusing.fail(Forbidden("widgets is forbidden"), "list", WIDGET, times=100)
    applied = create(core, widget())
    async with observed(core, refusing) as observer:
        observer.expect([applied])
        await settle()
        assert [line.partition(":")[0] for line in observer.pending()] == ["Widget ns/w"]
        assert "forbidden" in observer.pending()[0]


async def test_an_older_version_than_the_applied_one_does_not_count() -> None:
    core = served()
    async with observed(core) as observer:
        create(core, widget())
        status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        core.patch(WIDGET, Key("ns", "w"), Patch.merge(status), subresource="status")
        await settle()
        answer = core.patch(WIDGET, Key("ns", "w"), Patch.merge({"spec": {"size": 2}}))
        observer.expect([WIDGET.decode(answer)])
        assert observer.pending() == ("Widget ns/w: generation 2 is not seen yet",)


async def test_any_other_kind_is_looked_at_too_and_is_not_in_the_tree() -> None:
    core = served()
    async with observed(core) as observer:
        observer.expect([CONFIG_MAP.decode(core.get(CONFIG_MAP, Key("ns", "c")))])
        assert "cannot be looked at" in observer.pending()[0]
        await settle()
        assert observer.pending() == ()
        assert observer.rows() == ()
        core.delete(CONFIG_MAP, Key("ns", "c"))
        await settle()
        assert observer.pending() == ("ConfigMap ns/c: is not there",)


async def test_a_kind_that_is_not_served_is_told() -> None:
    core = Core(clock=LoopClock())
    async with observed(core) as observer:
        metadata = msgspec.json.encode({"metadata": {"name": "w", "namespace": "ns", "generation": 1}})
        observer.expect([WIDGET.decode(metadata)])
        await settle()
        (line,) = observer.pending()
        assert line.startswith("Widget ns/w: ")
        assert observer.rows() == ()
