"""Sources: from changes to keys, and what becomes of a predicate or a mapper that raises (R 3.4, R 4 rows 37 and 50)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.controller.builder import Watch
from dynamo_ctrl.controller.mapper import by_label, to_self
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.predicate import Predicate, always, body_changed, spec_or_deletion_changed
from dynamo_ctrl.controller.source import Source
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.testing import LoopClock

OWNER = "example.com/owner"


class World:
    """A memory engine, its cache, and one source whose keys land in `added`."""

    def __init__(self) -> None:
        clock = LoopClock()
        self.core = Core(clock=clock)
        self.clock = clock
        self.cache = Cache(MemoryEngine(self.core), clock=clock, random=Random(0))
        self.added: list[tuple[str, Cause]] = []
        self.numbers = ControllerNumbers()
        self.lines = LogCapture()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.added]

    def put(self, name: str, owner: str) -> None:
        body = {"metadata": {"name": name, "labels": {OWNER: owner}}}
        self.core.create(CONFIG_MAP, "default", msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", **body}))

    def move(self, name: str, owner: str) -> None:
        self.core.patch(CONFIG_MAP, Key("default", name), Patch.merge({"metadata": {"labels": {OWNER: owner}}}))

    @asynccontextmanager
    async def watching(self, watch: Watch[Any]) -> AsyncIterator[Source[Any]]:
        informer = self.cache.informer(watch.kind, watch.label_selector, watch.project, watch.optional)
        source = Source(
            watch,
            informer,
            view=self.cache.view({watch.kind: informer}),
            add=lambda key, cause, **how: self.added.append((key.name, cause)),
            numbers=self.numbers,
            clock=self.clock,
            log=structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger),
        )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self.cache.run()), tasks.create_task(source.run())]
            await asyncio.sleep(0.01)
            yield source
            for task in running:
                task.cancel()


def owned(mapper: Any = None, when: Any = always) -> Watch[Any]:
    return Watch(kind=CONFIG_MAP, mapper=mapper or by_label(OWNER), when=when)


async def test_initial_objects_and_later_changes_become_keys_with_their_causes() -> None:
    world = World()
    world.put("x", "one")
    async with world.watching(owned()) as source:
        assert source.settled.is_set()
        world.put("y", "two")
        await asyncio.sleep(0.01)
        world.core.delete(CONFIG_MAP, Key("default", "y"))
        await asyncio.sleep(0.01)
    told = [(name, cause.source, cause.event, str(cause.object)) for name, cause in world.added]
    assert told == [
        ("one", "configmaps", "initial", "default/x"),
        ("two", "configmaps", "created", "default/y"),
        ("two", "configmaps", "deleted", "default/y"),
    ]
    initial, created, deleted = (cause for _, cause in world.added)
    assert initial.old == ""
    assert created.new
    assert int(deleted.old) >= int(created.new)
    assert deleted.new == ""


@pytest.mark.parametrize("when", [always, spec_or_deletion_changed, body_changed])
async def test_r4_19_an_object_that_goes_and_comes_back_as_it_was_passes_every_time(when: Predicate[Any]) -> None:
    """No predicate remembers an object of that name: each decides on the two states of one change."""
    world = World()
    async with world.watching(owned(when=when)):
        for _ in range(3):
            world.put("x", "one")
            await asyncio.sleep(0.01)
            world.core.delete(CONFIG_MAP, Key("default", "x"))
            await asyncio.sleep(0.01)
    assert [cause.event for _, cause in world.added] == ["created", "deleted"] * 3


async def test_r4_19_an_object_that_was_replaced_unseen_passes() -> None:
    world = World()
    world.put("x", "one")
    async with world.watching(owned(when=spec_or_deletion_changed)):
        world.added.clear()
        world.core.delete(CONFIG_MAP, Key("default", "x"))
        world.put("x", "one")
        await asyncio.sleep(0.01)
    assert [cause.event for _, cause in world.added] == ["deleted", "created"]


async def test_an_object_that_moves_between_owners_wakes_both() -> None:
    world = World()
    world.put("x", "one")
    async with world.watching(owned()):
        world.added.clear()
        world.move("x", "two")
        await asyncio.sleep(0.01)
    assert world.names == ["one", "two"]


async def test_a_key_that_both_sides_of_a_change_name_is_woken_once() -> None:
    world = World()
    world.put("x", "one")
    async with world.watching(owned(lambda obj, view: (obj.key, obj.key))):
        world.added.clear()
        world.move("x", "two")
        await asyncio.sleep(0.01)
    assert world.names == ["x"]


async def test_what_a_predicate_refuses_wakes_nobody() -> None:
    world = World()
    async with world.watching(owned(when=lambda change: change.new is None)):
        world.put("x", "one")
        await asyncio.sleep(0.01)
        assert world.names == []
        world.core.delete(CONFIG_MAP, Key("default", "x"))
        await asyncio.sleep(0.01)
    assert world.names == ["one"]


async def test_a_mapper_that_raises_is_counted_logged_with_the_key_and_tried_again() -> None:
    world = World()
    broken = True

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        if broken and obj.metadata.name == "bad":
            raise KeyError("label")
        return by_label(OWNER)(obj, view)

    world.put("bad", "one")
    world.put("good", "two")
    async with world.watching(owned(mapper)) as source:
        assert source.settled.is_set(), "one bad object does not hold the others back"
        assert world.names == ["two"]
        (line,) = world.lines.entries
        assert (line["source"], line["object"], line["failures"]) == ("configmaps", "default/bad", 1)
        assert isinstance(line["exc_info"], KeyError)
        await asyncio.sleep(0.15)
        assert world.numbers.lost == 2
        broken = False
        await asyncio.sleep(0.3)
        assert world.names == ["two", "one"]
        assert source.unmapped == 0


async def test_a_change_that_waits_is_merged_with_newer_ones_and_no_owner_is_lost() -> None:
    world = World()
    broken = True

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        if broken:
            raise KeyError("label")
        return by_label(OWNER)(obj, view)

    world.put("x", "one")
    async with world.watching(owned(mapper)) as source:
        world.core.delete(CONFIG_MAP, Key("default", "x"))
        await asyncio.sleep(0.01)
        world.put("x", "two")
        await asyncio.sleep(0.01)
        assert source.unmapped == 1
        assert world.numbers.lost == 1, "events do not inflate the back-off"
        broken = False
        await asyncio.sleep(0.2)
    assert set(world.names) == {"one", "two"}


async def test_a_new_event_is_tried_at_once_although_an_older_one_waits() -> None:
    world = World()

    def when(change: Change[Any]) -> bool:
        if change.new is not None and change.new.metadata.labels[OWNER] == "bad":
            raise ValueError("bad")
        return True

    world.put("x", "bad")
    async with world.watching(owned(when=when)) as source:
        world.move("x", "good")
        await asyncio.sleep(0.001)
        assert world.names == ["good"]
        assert source.unmapped == 0


async def test_a_mapper_that_reads_an_unreadable_kind_waits_quietly_and_is_tried_when_told() -> None:
    world = World()
    readable = False

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        if not readable:
            raise SourceUnavailable(POD, "forbidden")
        return to_self(obj, view)

    world.put("x", "one")
    async with world.watching(owned(mapper)) as source:
        assert (world.numbers.lost, world.lines.entries, source.unmapped) == (0, [], 1)
        readable = True
        source.retry()
        assert world.names == ["x"]
        assert source.unmapped == 0


async def test_a_kind_that_is_only_read_wakes_nobody_and_is_settled_when_it_is_complete() -> None:
    world = World()
    world.put("x", "one")
    async with world.watching(Watch(kind=CONFIG_MAP, mapper=None)) as source:
        world.put("y", "one")
        await asyncio.sleep(0.01)
        assert source.settled.is_set()
        assert world.added == []


async def test_many_initial_objects_are_mapped_before_the_source_is_settled() -> None:
    world = World()
    for number in range(2000):
        world.put(f"x{number}", f"o{number}")
    seen = 0

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        nonlocal seen
        assert not source.settled.is_set()
        seen += 1
        return ()

    informer = world.cache.informer(CONFIG_MAP)
    source = Source(
        owned(mapper),
        informer,
        view=world.cache.view({CONFIG_MAP: informer}),
        add=lambda key, cause, **how: None,
        numbers=world.numbers,
        clock=world.clock,
        log=structlog.get_logger(),
    )
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(world.cache.run()), tasks.create_task(source.run())]
        await source.settled.wait()
        assert seen == 2000
        for task in running:
            task.cancel()


async def test_r4_50_a_source_ends_with_its_informer_and_leaves_nothing_behind() -> None:
    world = World()
    async with world.watching(owned()) as source:
        source.informer.close()
        await asyncio.sleep(0.01)
        assert not list(world.cache.informers)


@pytest.mark.parametrize("yielded", [5, "default/a", None])
async def test_what_a_mapper_yields_that_is_no_key_is_refused_with_its_name(yielded: Any) -> None:
    world = World()
    world.put("one", "a")

    def odd(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        yield yielded

    async with world.watching(owned(odd)) as source:
        await asyncio.sleep(0.05)
        assert (world.names, source.unmapped, world.numbers.lost) == ([], 1, 1)
    (line,) = world.lines.entries
    assert line["mapper"].endswith("odd")
    assert str(line["exc_info"]).endswith(f"odd must yield keys (Key), not {yielded!r}")


async def test_a_mapper_that_raises_a_cancelled_error_loses_nothing() -> None:
    world = World()
    world.put("one", "a")
    calls = []

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        calls.append(obj)
        if len(calls) == 1:
            raise asyncio.CancelledError
        return (Key("default", "a"),)

    async with world.watching(owned(mapper)) as source:
        await asyncio.sleep(1)
        assert (world.names, source.unmapped, world.numbers.lost) == (["a"], 0, 1)
