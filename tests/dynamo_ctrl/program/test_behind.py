"""Attempts over a real cache that is behind the server: own writes, lost answers, writes that nobody could read back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions, KindOptions
from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import EngineError, ServerTimeout, Unanswered, Unreachable, WriteRefused
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, ConfigMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.definition import definitions
from dynamo_ctrl.program.effect import Create, Delete, Effect, Patch, PatchPrimary, Scale, Sync, SyncPolicy
from dynamo_ctrl.program.outer import Outer
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing.faults import FaultyEngine
from dynamo_ctrl.testing.recording import RecordingEngine
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

KEY = Key("ns", "w")
LOST = Unanswered("no answer in 30 s")
Script = Callable[[Request[Widget]], tuple[Effect, ...]]


class Scripted:
    name = "scripted"
    watches = watching(WIDGET).owning(CONFIG_MAP)

    def __init__(self, script: Script, status: WidgetStatus | None = None) -> None:
        self.script = script
        self.status = status

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        effects = self.script(request)
        return Result(steps=(Step(name="s", effects=effects),) if effects else (), status=self.status)


class Nobody:
    def event(self, regarding: Object[Any, Any], event: Any) -> None:
        """Nobody listens."""


class Place:
    """A server with the widget ns/w, an engine that fails where a test says so, and a cache that has caught up so far."""

    def __init__(self, options: CacheOptions) -> None:
        self.core = Core(clock=LoopClock(), random=Random(5))
        self.core.register(WIDGET)
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        self.core.create(WIDGET, "ns", widget().raw)
        self.faults = FaultyEngine(MemoryEngine(self.core))
        self.engine = RecordingEngine(self.faults)
        self.cache = Cache(self.engine, clock=LoopClock(), options=options)
        self.view = self.cache.view({kind: self.cache.informer(kind) for kind in (WIDGET, CONFIG_MAP, DEPLOYMENT)})

    def outer(self, script: Script, status: WidgetStatus | None = None) -> Outer:
        (definition,) = definitions([Scripted(script, status)])
        return Outer(
            definition, engine=self.engine, view=self.view, written=self.cache, recorder=Nobody(), clock=LoopClock()
        )

    def maps(self) -> list[ConfigMap]:
        return [CONFIG_MAP.decode(raw) for raw in self.core.list(CONFIG_MAP, ListOptions(namespace="ns")).items]

    def add(self, name: str, **labels: str) -> ConfigMap:
        body = msgspec.json.encode({"metadata": {"name": name, "labels": labels}, "data": {"k": "v"}})
        return CONFIG_MAP.decode(self.core.create(CONFIG_MAP, "ns", body))


@asynccontextmanager
async def place(**options: Any) -> AsyncIterator[Place]:
    it = Place(CacheOptions(**options))
    task = asyncio.create_task(it.cache.run())
    try:
        await settle()
        yield it
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def config(name: str = "", *, prefix: str = "", **labels: str) -> ConfigMap:
    named = {"generateName": prefix} if prefix else {"name": name}
    return CONFIG_MAP.object({"metadata": {**named, "namespace": "ns", "labels": labels}, "data": {"k": "v"}})


def one_child(request: Request[Widget]) -> tuple[Effect, ...]:
    """One child under a generated name: only what is read says whether it is there."""
    if request.view.owned(CONFIG_MAP, request.object):
        return ()
    return (Create(object=config(prefix="child-", app="x")),)


async def test_r4_9_a_second_attempt_at_once_reads_what_the_first_created() -> None:
    async with place() as it:
        outer = it.outer(one_child)
        assert await outer.attempt(KEY) == DONE
        assert await outer.attempt(KEY) == DONE
        assert len(it.maps()) == 1


async def test_r4_10_a_scale_is_read_at_once_with_the_version_of_its_object() -> None:
    """The body of a scale is no Deployment: laying it over the cache would be wrong."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    seen: list[int | None] = []

    def scale(request: Request[Widget]) -> tuple[Effect, ...]:
        found = request.view.get(DEPLOYMENT, "ns/d")
        assert found is not None
        seen.append(found.spec.replicas)
        return (Scale(kind=DEPLOYMENT, key=found.key, replicas=3),)

    async with place() as it:
        it.core.create(DEPLOYMENT, "ns", msgspec.json.encode({"metadata": {"name": "d"}, "spec": spec}))
        await settle()
        outer = it.outer(scale)
        assert await outer.attempt(KEY) == DONE
        assert await outer.attempt(KEY) == DONE
        assert seen == [1, 3]
        assert [(write.verb, write.subresource) for write in it.engine.writes] == [("patch", "scale")]
        read = it.view.get(DEPLOYMENT, "ns/d")
        assert read is not None
        assert read.content() == DEPLOYMENT.decode(it.core.get(DEPLOYMENT, read.key)).content()


async def test_r4_10_a_status_is_read_at_once_and_the_spec_with_it() -> None:
    async with place() as it:
        outer = it.outer(lambda request: (), WidgetStatus(state="ready"))
        assert await outer.attempt(KEY) == DONE
        read = it.view.get(WIDGET, KEY)
        assert read is not None
        assert read.content() == WIDGET.decode(it.core.get(WIDGET, KEY)).content()
        assert read.status.state == "ready"
        assert await outer.attempt(KEY) == DONE
        assert [(write.verb, write.subresource) for write in it.engine.writes] == [("patch", "status")]


async def test_r4_20_what_a_delete_leaves_behind_is_read_in_its_last_state() -> None:
    """An object that a finalizer holds is answered with its new version: nobody goes on with the old one."""

    def delete(request: Request[Widget]) -> tuple[Effect, ...]:
        target = request.view.get(CONFIG_MAP, "ns/c")
        return () if target is None else (Delete(target=target, owned=False),)

    async with place() as it:
        body = {"metadata": {"name": "c", "finalizers": ["example.com/held"]}}
        before = CONFIG_MAP.decode(it.core.create(CONFIG_MAP, "ns", msgspec.json.encode(body)))
        await settle()
        outer = it.outer(delete)
        assert await outer.attempt(KEY) == DONE
        read = it.view.get(CONFIG_MAP, "ns/c")
        assert read is not None
        assert read.metadata.deletion_timestamp is not None
        assert int(read.metadata.resource_version) > int(before.metadata.resource_version)
        assert await outer.attempt(KEY) == DONE
        assert len(it.engine.writes) == 1


async def test_r4_38_a_conflict_is_decided_anew_and_never_sent_again() -> None:
    """A helper that sends its old patch once more would undo what the other writer counted."""

    def count(request: Request[Widget]) -> tuple[Effect, ...]:
        counted = int(request.object.metadata.annotations.get("count", "0"))
        return (PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"count": str(counted + 1)}}})),)

    def somebody_else() -> None:
        it.core.patch(WIDGET, KEY, Change.merge({"metadata": {"annotations": {"count": "10"}}}))

    async with place() as it:
        outer = it.outer(count)
        it.faults.interleave(somebody_else, "patch", WIDGET)
        assert await outer.attempt(KEY) == CONFLICT
        await settle()
        assert await outer.attempt(KEY) == DONE
        found = WIDGET.decode(it.core.get(WIDGET, KEY))
        assert found.metadata.annotations["count"] == "11"
        assert len(it.engine.writes) == 2


@pytest.mark.parametrize("error", [LOST, ServerTimeout("the server gave up")])
async def test_r4_11_a_create_whose_answer_was_lost_is_not_made_twice(error: EngineError) -> None:
    async with place() as it:
        outer = it.outer(one_child)
        it.faults.fail(error, "create", CONFIG_MAP, after=True)
        assert await outer.attempt(KEY) == Answer(error=error)
        assert await outer.attempt(KEY) == DONE
        assert len(it.maps()) == 1


async def test_r4_11_a_create_that_did_not_happen_is_made_again() -> None:
    async with place() as it:
        it.core.create(CONFIG_MAP, "ns", config(prefix="child-", app="x").raw)  # of somebody else
        outer = it.outer(one_child)
        it.faults.fail(LOST, "create", CONFIG_MAP)
        assert await outer.attempt(KEY) == Answer(error=LOST)
        assert await outer.attempt(KEY) == DONE
        assert len(it.maps()) == 2


async def test_r4_11_nothing_is_decided_while_nobody_knows_what_the_server_has() -> None:
    async with place() as it:
        outer, down = it.outer(one_child), Unreachable("connection refused")
        it.faults.fail(LOST, "create", CONFIG_MAP, after=True)
        it.faults.fail(down, "list", CONFIG_MAP, times=3)
        assert await outer.attempt(KEY) == Answer(error=LOST)
        assert await outer.attempt(KEY) == Answer(error=down)
        assert await outer.attempt(KEY) == Answer(error=down)
        assert await outer.attempt(KEY) == DONE
        assert len(it.maps()) == 1
        assert [write.verb for write in it.engine.writes] == ["create"]


async def test_r4_11_a_change_whose_answer_was_lost_is_read_before_the_next_attempt() -> None:
    seen: list[Any] = []

    def change(request: Request[Widget]) -> tuple[Effect, ...]:
        target = request.view.get(CONFIG_MAP, "ns/c")
        assert target is not None
        seen.append(dict(target.data))
        return (Patch(target=target, patch=Change.merge({"data": {"k": "w"}})),)

    async with place() as it:
        it.add("c")
        await settle()
        outer = it.outer(change)
        it.faults.fail(LOST, "patch", CONFIG_MAP, after=True)
        assert await outer.attempt(KEY) == Answer(error=LOST)
        assert await outer.attempt(KEY) == DONE
        assert seen == [{"k": "v"}, {"k": "w"}]
        assert len(it.engine.writes) == 1


@pytest.mark.parametrize("happened", [True, False])
async def test_r4_11_a_deletion_whose_answer_was_lost_is_read_before_the_next_attempt(happened: bool) -> None:
    def delete(request: Request[Widget]) -> tuple[Effect, ...]:
        target = request.view.get(CONFIG_MAP, "ns/c")
        return () if target is None else (Delete(target=target, owned=False),)

    async with place() as it:
        it.add("c")
        await settle()
        outer = it.outer(delete)
        it.faults.fail(LOST, "delete", CONFIG_MAP, after=happened)
        assert await outer.attempt(KEY) == Answer(error=LOST)
        assert (it.view.get(CONFIG_MAP, "ns/c") is None) is happened
        assert await outer.attempt(KEY) == DONE
        assert it.maps() == []
        assert len(it.engine.writes) == (1 if happened else 2)


async def test_r4_11_a_status_whose_answer_was_lost_is_not_written_again() -> None:
    async with place() as it:
        outer = it.outer(lambda request: (), WidgetStatus(state="ready"))
        it.faults.fail(LOST, "patch", WIDGET, subresource="status", after=True)
        assert await outer.attempt(KEY) == Answer(error=LOST)
        found = it.view.get(WIDGET, KEY)
        assert found is not None
        assert found.status.state == "ready"
        assert await outer.attempt(KEY) == DONE
        assert len(it.engine.writes) == 1


# --- writes outside of what the cache selects


ONLY_X = {"kinds": {"configmaps": KindOptions(label_selector="app=x")}}


async def test_an_object_that_could_never_be_read_back_is_not_created() -> None:
    async with place(**ONLY_X) as it:
        answer = await it.outer(lambda request: (Create(object=config("c", app="y")),)).attempt(KEY)
        assert isinstance(answer.error, WriteRefused)
        assert "ConfigMap ns/c was not written: its labels do not match 'app=x'" in str(answer.error)
        assert answer.terminal, "trying again cannot help"
        assert it.engine.writes == []


async def test_a_namespace_that_is_not_followed_is_not_written_to() -> None:
    async with place(namespaces=("ns",)) as it:
        body = CONFIG_MAP.object({"metadata": {"generateName": "c-", "namespace": "other"}})
        answer = await it.outer(lambda request: (Create(object=body, owned=False),)).attempt(KEY)
        assert isinstance(answer.error, WriteRefused)
        assert "the cache does not follow namespace 'other'" in str(answer.error)
        assert it.engine.writes == []


async def test_an_object_that_is_let_go_does_not_linger() -> None:
    def let_go(request: Request[Widget]) -> tuple[Effect, ...]:
        target = request.view.get(CONFIG_MAP, "ns/c")
        if target is None:
            return ()
        return (Patch(target=target, patch=Change.merge({"metadata": {"labels": {"app": "y"}}})),)

    async with place(**ONLY_X) as it:
        it.add("c", app="x")
        await settle()
        outer = it.outer(let_go)
        assert await outer.attempt(KEY) == DONE
        assert it.view.get(CONFIG_MAP, "ns/c") is None
        assert await outer.attempt(KEY) == DONE
        await settle()
        assert it.view.list(CONFIG_MAP) == []
        assert [found.metadata.labels["app"] for found in it.maps()] == ["y"]


@pytest.mark.parametrize("metadata", ["create", "converge"])
async def test_an_object_outside_is_changed_only_where_that_takes_it_in(metadata: Any) -> None:
    policy = SyncPolicy(prefix="example.com/", metadata=metadata)
    async with place(**ONLY_X) as it:
        primary = it.view.get(WIDGET, KEY)
        assert primary is not None
        owner = msgspec.to_builtins(owner_reference(primary))
        child = {"name": "c", "namespace": "ns", "labels": {"app": "y"}, "ownerReferences": [owner]}
        it.core.create(CONFIG_MAP, "ns", msgspec.json.encode({"metadata": child, "data": {"k": "old"}}))
        await settle()
        answer = await it.outer(lambda request: (Sync(child=config("c", app="x"), policy=policy),)).attempt(KEY)
        (found,) = it.maps()
        if metadata == "converge":
            assert answer == DONE
            assert [each.key.name for each in it.view.list(CONFIG_MAP)] == ["c"]
            assert (found.metadata.labels["app"], found.data["k"]) == ("x", "v")
        else:
            assert isinstance(answer.error, WriteRefused)
            assert (found.metadata.labels["app"], found.data["k"]) == ("y", "old")
