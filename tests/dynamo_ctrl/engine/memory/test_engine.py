"""The asynchronous face: verbs that never suspend, watches that wake up and end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from dynamo_ctrl.engine.errors import NotFound, Unanswered, Unreachable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

T = TypeVar("T")
KEY = Key("default", "a")
BODY = b'{"metadata":{"name":"a"}}'
LIMIT = 5.0


def step(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns at its first step. It must not suspend."""
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    result: T = stop.value.value
    return result


def test_no_verb_suspends() -> None:
    engine = MemoryEngine()
    step(engine.create(CONFIG_MAP, "default", BODY))
    assert json.loads(step(engine.get(CONFIG_MAP, KEY)))["metadata"]["name"] == "a"
    step(engine.patch(CONFIG_MAP, KEY, Patch.merge({"data": {"k": "v"}})))
    step(engine.update(CONFIG_MAP, KEY, BODY))
    assert len(step(engine.list(CONFIG_MAP, ListOptions())).items) == 1
    assert len(step(engine.discover("apps", "v1"))) > 1
    step(engine.delete(CONFIG_MAP, KEY))
    step(engine.close())


def test_an_error_is_raised_at_the_first_step() -> None:
    with pytest.raises(NotFound):
        MemoryEngine().get(CONFIG_MAP, KEY).send(None)


async def collect(engine: MemoryEngine, options: WatchOptions, count: int) -> list[WatchEvent]:
    found: list[WatchEvent] = []
    async with asyncio.timeout(LIMIT), engine.watch(CONFIG_MAP, options) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


def test_a_watch_is_woken_by_a_write() -> None:
    async def scenario() -> list[WatchEvent]:
        engine = MemoryEngine()
        options = WatchOptions(resource_version=str(engine.core.version))
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(collect(engine, options, 1))
            await asyncio.sleep(0)
            await engine.create(CONFIG_MAP, "default", BODY)
        return watching.result()

    assert [event.type for event in asyncio.run(scenario())] == ["ADDED"]


def test_many_watches_see_everything_in_order() -> None:
    async def scenario() -> list[list[WatchEvent]]:
        engine = MemoryEngine()
        options = WatchOptions(resource_version=str(engine.core.version))
        async with asyncio.TaskGroup() as group:
            watches = [group.create_task(collect(engine, options, 21)) for _ in range(10)]
            await asyncio.sleep(0)
            await engine.create(CONFIG_MAP, "default", BODY)
            for n in range(20):
                await engine.patch(CONFIG_MAP, KEY, Patch.merge({"data": {"n": str(n)}}))
                await asyncio.sleep(0)
        return [watch.result() for watch in watches]

    first, *others = asyncio.run(scenario())
    assert [json.loads(event.object)["data"]["n"] for event in first[1:]] == [str(n) for n in range(20)]
    assert all(other == first for other in others)


def test_a_watch_ends_with_its_time() -> None:
    async def scenario() -> int:
        engine = MemoryEngine()
        options = WatchOptions(resource_version=str(engine.core.version), timeout=0.05)
        return len(await collect(engine, options, 1))

    assert asyncio.run(scenario()) == 0


def test_a_silent_watch_is_given_up_after_its_idle_time() -> None:
    async def scenario() -> None:
        engine = MemoryEngine()
        await collect(engine, WatchOptions(resource_version=str(engine.core.version), idle=0.05), 1)

    with pytest.raises(Unanswered, match=r"no event within 0.05 s"):
        asyncio.run(scenario())


def test_closing_the_engine_ends_its_watches_and_refuses_requests() -> None:
    async def scenario() -> MemoryEngine:
        engine = MemoryEngine()
        watch = asyncio.create_task(collect(engine, WatchOptions(resource_version=str(engine.core.version)), 1))
        await asyncio.sleep(0)
        await engine.close()
        await engine.close()
        with pytest.raises(Unreachable):
            await watch
        return engine

    engine = asyncio.run(scenario())
    with pytest.raises(Unreachable):
        engine.get(CONFIG_MAP, KEY).send(None)


def test_engines_share_a_core_and_end_alone() -> None:
    core = Core()
    one, two = MemoryEngine(core), MemoryEngine(core)
    step(one.create(CONFIG_MAP, "default", BODY))
    step(one.close())
    assert step(two.get(CONFIG_MAP, KEY))


def test_a_cancelled_watch_leaves_no_feed_behind() -> None:
    async def scenario() -> int:
        engine = MemoryEngine()
        options = WatchOptions(resource_version=str(engine.core.version))
        task = asyncio.create_task(collect(engine, options, 1))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(engine._feeds)

    assert asyncio.run(scenario()) == 0
