"""Streaming initial lists (R 3.2) through the informer: each way that they can go, and the state that it must end in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions, KindOptions
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.engine.errors import BadRequest, Forbidden, TooManyRequests, Unanswered
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE, ConfigMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]
STREAMING = WatcherOptions(initial="stream")
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
GONE = {**STATUS, "code": 410, "reason": "Expired", "message": "too old resource version: 10 (90)"}


def mark(stream: Any, version: int) -> None:
    annotations = {"k8s.io/initial-events-end": "true"}
    stream.send("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


async def test_initial_objects_are_invisible_until_the_mark_and_events_follow_on_the_same_stream(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    stream = engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        assert (engine.listed, engine.watched[0].send_initial) == ([], True)
        for name in ("b", "a", "c"):
            stream.send("ADDED", config_map(name, 1))
        stream.send("MODIFIED", config_map("a", 2))
        stream.send("DELETED", config_map("c", 3))
        await settle()
        assert it.phase is Phase.SYNCING
        assert len(it.informer.shared.store) == 0
        mark(stream, 10)
        await settle()
        assert it.names() == ["a", "b"]
        assert it.phases == [Phase.LIVE]
        assert it.informer.version() == "10"
        assert {(change.key.name, change.initial) for change in it.changes()} == {("a", True), ("b", True)}
        stream.send("ADDED", config_map("d", 11))
        await settle()
        assert it.names() == ["a", "b", "d"]
        assert len(engine.watched) == 1
        counts = it.informer.counts()
        assert (counts.lists, counts.watches, counts.listed, counts.events) == (1, 1, 5, 1)


async def test_many_initial_objects_are_laid_aside_in_portions(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    stream = engine.stream()
    names = [f"n{number:04}" for number in range(450)]
    for name in names:
        stream.send("ADDED", config_map(name, 1))
    mark(stream, 10)
    async with scene(engine, watcher=STREAMING) as it:
        assert it.names() == names


async def test_unreadable_initial_objects_are_skipped_and_keep_their_last_state(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    bad = b'{"metadata":{"name":"%s","namespace":"ns","labels":7}}'
    first.send("ADDED", config_map("a", 1))
    first.send("ADDED", config_map("c", 1))
    mark(first, 10)
    async with scene(engine, watcher=STREAMING) as it:
        first.send("ERROR", GONE)
        second.send("ADDED", bad % b"a")
        second.send("ADDED", bad % b"b")
        second.send("ADDED", config_map("c", 12))
        second.send("DELETED", bad % b"c")
        second.send("DELETED", b"{")
        second.send("BOOKMARK", b"{")
        second.send("WHATEVER", b"{}")
        mark(second, 20)
        await it.passing(3)
        assert it.names() == ["a"]
        assert it.phase is Phase.LIVE


async def test_a_later_stream_tells_only_what_differs(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    for name in ("a", "b", "c"):
        first.send("ADDED", config_map(name, 1))
    mark(first, 10)
    async with scene(engine, watcher=STREAMING) as it:
        it.changes()
        first.send("ERROR", GONE)
        second.send("ADDED", config_map("b", 1))
        second.send("ADDED", config_map("c", 95))
        second.send("ADDED", config_map("d", 96))
        mark(second, 100)
        await it.passing(3)
        assert [(c.key.name, c.old is None, c.new is None) for c in it.changes()] == [
            ("a", False, True),
            ("c", False, False),
            ("d", True, False),
        ]
        assert engine.watched[1].resource_version == "10"
        assert it.phases == [Phase.LIVE, Phase.STALE, Phase.LIVE]


async def test_r4_16_a_server_that_never_sends_the_end_mark_is_listed_after_a_minute(
    scene: Any, scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    first.send("ADDED", config_map("a", 1))
    engine.page(config_map("a", 1), config_map("b", 2), version=10)
    async with scene(engine, watcher=STREAMING) as it:
        await it.passing(59)
        assert (it.phase, engine.listed) == (Phase.SYNCING, [])
        warnings = [line for line in logs if line["event"] == "the initial objects have not ended yet"]
        assert [line["seconds"] for line in warnings] == [10, 20, 30, 40, 50]
        assert (warnings[0]["kind"], warnings[0]["objects"]) == ("configmaps", 1)
        await it.passing(2)
        assert it.phase is Phase.LIVE
        assert it.names() == ["a", "b"]
        assert engine.open == 1, "the silent stream was left"
        assert it.informer.counts().fallbacks == 1
        second.send("ADDED", config_map("c", 11))
        await it.passing(30)
        assert it.names() == ["a", "b", "c"]
        assert all(line["seconds"] <= 60 for line in logs if line["event"] == warnings[0]["event"])


async def test_a_slow_stream_is_waited_for_as_long_as_it_tells_something(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    stream = engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        for number in range(6):
            await it.passing(50)
            stream.send("ADDED", config_map(f"n{number}", 1))
        mark(stream, 10)
        await it.passing(1)
        assert len(it.names()) == 6
        assert (it.informer.counts().fallbacks, it.phases) == (0, [Phase.LIVE])


async def test_a_bookmark_in_place_of_the_mark_shows_a_server_that_cannot_stream(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.stream().bookmark(10)
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        assert (it.names(), it.phases) == (["a"], [Phase.LIVE])
        assert it.informer.counts().failures == 0


async def test_streams_that_end_before_their_mark_are_followed_by_a_list(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    for _ in range(3):
        stream = engine.stream()
        stream.send("ADDED", config_map("a", 1))
        stream.end()
    engine.page(config_map("b", 2), version=10)
    engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        assert it.phase is Phase.SYNCING
        assert "ended before its end mark" in it.informer.state.reason
        await it.passing(10)
        assert (it.names(), it.phase) == (["b"], Phase.LIVE)


async def test_a_stream_that_is_half_open_before_its_mark_is_opened_again(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        first.fail(Unanswered("no event within 150 s"))
        second.send("ADDED", config_map("a", 1))
        mark(second, 10)
        await it.passing(3)
        assert (it.names(), it.phase, engine.listed) == (["a"], Phase.LIVE, [])


async def test_a_server_that_refuses_the_option_is_listed_at_once(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.refuse_watch(BadRequest("sendInitialEvents is forbidden"))
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    async with scene(engine, watcher=STREAMING) as it:
        assert (it.names(), it.phases) == (["a"], [Phase.LIVE])
        assert not engine.watched[1].send_initial


async def test_a_throttled_stream_waits_as_long_as_the_server_asks_for(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.refuse_watch(TooManyRequests("busy", retry_after=30))
    stream = engine.stream()
    stream.send("ADDED", config_map("a", 1))
    mark(stream, 10)
    async with scene(engine, watcher=STREAMING) as it:
        await it.passing(29)
        assert len(engine.watched) == 1
        assert "busy" in it.informer.state.reason
        await it.passing(2)
        assert (it.names(), it.phase, engine.listed) == (["a"], Phase.LIVE, [])


@pytest.mark.parametrize(
    ("status", "versions", "listed"),
    [
        pytest.param(GONE, ["", ""], 0, id="expired"),
        pytest.param({**STATUS, "code": 429, "reason": "TooManyRequests", "message": "busy"}, ["", ""], 0, id="throttled"),
        pytest.param({**STATUS, "code": 500, "reason": "InternalError", "message": "broken"}, ["", "10"], 1, id="broken"),
    ],
)  # fmt: skip
async def test_an_error_event_before_the_mark_forgets_what_came_before(
    scene: Any, scripted: Any, config_map: Make, status: dict[str, Any], versions: list[str], listed: int
) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    first.send("ADDED", config_map("gone", 1))
    first.send("ERROR", status)
    engine.page(config_map("a", 2), version=10)
    if not listed:
        second.send("ADDED", config_map("a", 2))
        mark(second, 10)
    async with scene(engine, watcher=STREAMING) as it:
        await it.passing(3)
        assert (it.names(), it.phase) == (["a"], Phase.LIVE)
        assert [options.resource_version for options in engine.watched] == versions
        assert len(engine.listed) == listed


async def test_a_missing_right_to_watch_is_told_by_the_list_or_the_watch_that_follows(
    scene: Any, scripted: Any
) -> None:
    engine = scripted()
    engine.refuse_watch(Forbidden("cannot watch"), Forbidden("cannot watch"))
    engine.page(version=10)
    async with scene(engine, watcher=STREAMING) as it:
        assert it.phase is Phase.FORBIDDEN
        assert 'verbs: ["get", "list", "watch"]' in it.informer.state.reason


async def test_a_stream_holds_its_place_among_the_lists_until_its_mark(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    first, second = engine.stream(), engine.stream()
    async with scene(engine, watcher=STREAMING, lists_at_once=1, namespaces=("ns", "other")) as it:
        assert len(engine.watched) == 1
        first.send("ADDED", config_map("a", 1))
        mark(first, 10)
        await settle()
        assert [options.namespace for options in engine.watched] == ["ns", "other"]
        mark(second, 10)
        await settle()
        assert (it.names(), it.phase) == (["a"], Phase.LIVE)


async def test_streams_are_chosen_for_one_kind_and_lists_for_the_others(scripted: Any) -> None:
    engine = scripted()
    kinds = {"configmaps": KindOptions(initial="stream")}
    cache = Cache(engine, clock=LoopClock(), random=Random(3), options=CacheOptions(kinds=kinds))
    cache.informer(CONFIG_MAP)
    cache.informer(NAMESPACE)
    task = asyncio.create_task(cache.run())
    await settle()
    assert (len(engine.listed), [options.send_initial for options in engine.watched]) == (1, [True])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_r4_17d_the_memory_engine_streams_to_its_mark() -> None:
    core = Core(clock=LoopClock(), random=Random(5))
    core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
    for number in range(3):
        core.create(CONFIG_MAP, "ns", msgspec.json.encode({"metadata": {"name": f"n{number}"}}))
    options = CacheOptions(watcher=STREAMING)
    cache = Cache(MemoryEngine(core), clock=LoopClock(), random=Random(3), options=options)
    informer = cache.informer(CONFIG_MAP)
    task = asyncio.create_task(cache.run())
    await settle()
    assert informer.state.phase is Phase.LIVE
    assert informer.counts().fallbacks == 0
    core.create(CONFIG_MAP, "ns", b'{"metadata":{"name":"later"}}')
    await settle()
    assert [obj.key.name for obj in informer.shared.store.list()] == ["later", "n0", "n1", "n2"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
