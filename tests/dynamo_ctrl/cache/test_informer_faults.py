"""The informer against an engine whose every answer is laid down: each fault, and the state that it must end in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.engine.errors import (
    Expired,
    TooLargeResourceVersion,
    Unanswered,
    Unauthorized,
    Unavailable,
    Unreachable,
    from_status,
)
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
GONE = {**STATUS, "code": 410, "reason": "Expired", "message": "too old resource version: 10 (90)"}


async def test_the_first_list_is_not_half_visible(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10, token="t")
    async with scene(engine) as it:
        assert it.phase is Phase.SYNCING
        assert it.changes() == []
        assert len(it.informer.shared.store) == 0
        assert not it.informer.ready
        engine.page(config_map("b", 2), version=10)
        await settle()
        assert it.names() == ["a", "b"]
        assert [(change.key.name, change.initial) for change in it.changes()] == [("a", True), ("b", True)]
        assert it.phases == [Phase.LIVE]
        assert it.subscription.synced


async def test_events_change_the_store_and_are_told(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    a1, a2, b = config_map("a", 1), config_map("a", 11), config_map("b", 12)
    engine.page(a1, version=10)
    stream = engine.stream()
    async with scene(engine) as it:
        it.changes()
        stream.send("MODIFIED", a2)
        stream.send("ADDED", b)
        await settle()
        assert it.names() == ["a", "b"]
        versions = [
            (c.old and c.old.metadata.resource_version, c.new and c.new.metadata.resource_version) for c in it.changes()
        ]
        assert versions == [("1", "11"), (None, "12")]
        stream.send("DELETED", config_map("a", 13))
        await settle()
        assert it.names() == ["b"]
        (change,) = it.changes()
        assert change.new is None


async def test_r4_17c_the_end_of_a_watch_resumes_without_a_list_and_stays_live(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(version=10)
    first, second = engine.stream(), engine.stream()
    async with scene(engine) as it:
        first.bookmark(15)
        first.end()
        await settle()
        assert [options.resource_version for options in engine.watched] == ["10", "15"]
        assert len(engine.listed) == 1
        assert it.phases == [Phase.LIVE]
        second.send("ADDED", config_map("a", 16))
        await settle()
        assert it.names() == ["a"]


@pytest.mark.parametrize("error", [Unanswered("no event within 150 s"), Unreachable("connection reset")])
async def test_r4_13_a_half_open_stream_is_watched_again_without_a_list(
    scene: Any, scripted: Any, config_map: Make, error: Exception
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    first, second = engine.stream(), engine.stream()
    async with scene(engine) as it:
        await it.passing(150)
        first.fail(error)
        await settle()
        second.send("DELETED", config_map("a", 20))
        await settle()
        assert it.names() == []
        assert len(engine.listed) == 1
        assert it.phases == [Phase.LIVE]


async def test_410_lists_anew_and_tells_only_what_differs(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), config_map("b", 2), config_map("c", 3), version=10)
    stream = engine.stream()
    async with scene(engine) as it:
        it.changes()
        stream.send("ERROR", GONE)
        await settle()
        assert it.phase is Phase.STALE
        assert "too old resource version" in it.informer.state.reason
        assert it.names() == ["a", "b", "c"], "a stale source can be read"
        engine.page(config_map("b", 2), config_map("c", 95), config_map("d", 96), version=100)
        engine.stream()
        await it.passing(2)
        assert it.names() == ["b", "c", "d"]
        assert [(c.key.name, c.old is None, c.new is None, c.inferred) for c in it.changes()] == [
            ("a", False, True, True),
            ("c", False, False, False),
            ("d", True, False, False),
        ]
        assert [(o.resource_version, o.match) for o in engine.listed] == [("", ""), ("10", "NotOlderThan")]
        assert engine.watched[-1].resource_version == "100"
        assert it.phases == [Phase.LIVE, Phase.STALE, Phase.LIVE]


async def test_r4_15_a_server_restored_from_a_backup_is_followed(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(config_map("a", 900, data={"k": "new"}), config_map("b", 901), version=950)
    engine.stream().send("ERROR", GONE)
    async with scene(engine) as it:
        it.changes()
        it.cache.wrote(config_map("b", 960))
        engine.refuse_list(TooLargeResourceVersion("950 > 100"))
        engine.page(config_map("a", 900, data={"k": "old"}), config_map("b", 80), version=100)
        engine.stream()
        await it.passing(2)
        assert [options.resource_version for options in engine.listed] == ["", "950", ""]
        found = it.view.get(CONFIG_MAP, "ns/a")
        assert found is not None
        assert found.data == {"k": "old"}
        b = it.view.get(CONFIG_MAP, "ns/b")
        assert b is not None
        assert b.metadata.resource_version == "80"
        assert {change.key.name for change in it.changes()} == {"a", "b"}


async def test_a_relist_from_an_older_cache_of_the_server_does_not_undo_own_writes(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.stream().send("ERROR", GONE)
    async with scene(engine) as it:
        it.cache.wrote(config_map("a", 30))
        engine.page(config_map("a", 1), version=20)
        engine.stream()
        await it.passing(2)
        assert [options.match for options in engine.listed] == ["", "NotOlderThan"]
        found = it.view.get(CONFIG_MAP, "ns/a")
        assert found is not None
        assert found.metadata.resource_version == "30"


async def test_an_own_write_while_a_consistent_list_is_under_way_outlives_it(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    async with scene(engine) as it:
        assert len(engine.listed) == 1
        it.cache.wrote(config_map("a", 30))
        engine.page(config_map("a", 1), version=20)
        await it.passing(0)
        found = it.view.get(CONFIG_MAP, "ns/a")
        assert found is not None
        assert found.metadata.resource_version == "30"


async def test_an_expired_token_in_the_middle_forgets_the_pages_before(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10, token="t")
    engine.refuse_list(Expired("the token is too old"))
    engine.page(config_map("b", 12), version=15)
    engine.stream()
    async with scene(engine) as it:
        assert it.names() == ["b"]
        assert [(o.limit, o.continue_token) for o in engine.listed] == [(500, ""), (500, "t"), (0, "")]


async def test_a_first_list_that_fails_says_why_and_heals(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.refuse_list(Unavailable("etcd is down"), Unauthorized("token expired"))
    async with scene(engine) as it:
        assert it.phase is Phase.SYNCING
        assert "etcd is down" in it.informer.state.reason
        await it.passing(2)
        assert "does not accept the credentials (token expired)" in it.informer.state.reason
        engine.page(config_map("a", 1), version=10)
        engine.stream()
        await it.passing(5)
        assert it.names() == ["a"]
        assert it.informer.state == SourceState(Phase.LIVE)


async def test_a_refused_watch_is_stale_until_it_opens_and_lists_nothing(scene: Any, scripted: Any) -> None:
    engine = scripted()
    engine.page(version=10)
    engine.refuse_watch(*[Unreachable("connection refused")] * 8)
    async with scene(engine) as it:
        assert it.phase is Phase.STALE
        assert "connection refused" in it.informer.state.reason
        engine.stream()
        await it.passing(400)
        assert it.phases[-1] is Phase.LIVE
        assert len(engine.listed) == 1
        assert len(engine.watched) == 9


async def test_unreadable_objects_are_skipped_and_the_cache_stays_whole(
    scene: Any, scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    bad = b'{"metadata":{"name":"bad","namespace":"ns","labels":7}}'
    engine.page(config_map("a", 1), bad, version=10)
    stream = engine.stream()
    async with scene(engine) as it:
        stream.send("ADDED", bad)
        stream.send("MODIFIED", b'{"metadata":{"name":"a","namespace":"ns","labels":7}}')
        stream.send("ADDED", b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ns"}}')
        stream.send("BOOKMARK", b"{")
        stream.send("DELETED", b"{")
        stream.send("WHATEVER", b"{}")
        stream.send("ADDED", config_map("b", 12))
        await settle()
        assert it.names() == ["a", "b"], "the last readable state of a stays"
        assert it.informer.counts().malformed == 5
        skipped = [line for line in logs if line["event"] == "unreadable object is skipped"]
        assert [line["key"] for line in skipped].count("ns/bad") == 1
        stream.send("DELETED", b'{"metadata":{"name":"a","namespace":"ns","labels":7}}')
        await settle()
        assert it.names() == ["b"], "its key can be read, and it is gone"
        assert it.phases == [Phase.LIVE]


async def test_an_unreadable_object_in_a_relist_keeps_its_last_state(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.stream().send("ERROR", GONE)
    async with scene(engine) as it:
        it.changes()
        engine.page(b'{"metadata":{"name":"a","namespace":"ns","labels":7}}', version=100)
        await it.passing(2)
        assert it.names() == ["a"]
        assert it.changes() == []


async def test_a_defect_is_logged_and_the_source_heals(
    scene: Any, scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.refuse_watch(ZeroDivisionError("a defect in an engine"))
    async with scene(engine) as it:
        assert it.phase is Phase.STALE
        assert it.informer.counts().defects == 1
        (line,) = [line for line in logs if line["log_level"] == "error"]
        assert (line["kind"], line["exc_info"]) == ("configmaps", True)
        engine.page(config_map("a", 1), version=11)
        engine.stream()
        await it.passing(2)
        assert it.phases[-1] is Phase.LIVE


async def test_an_error_event_of_any_other_kind_is_typed(scene: Any, scripted: Any) -> None:
    status = {**STATUS, "code": 500, "reason": "InternalError", "message": "etcd exploded"}
    assert "etcd exploded" in str(from_status(500, status))
    engine = scripted()
    engine.page(version=10)
    engine.stream().send("ERROR", status)
    async with scene(engine) as it:
        assert it.phase is Phase.STALE
        assert "etcd exploded" in it.informer.state.reason


async def test_an_answer_of_one_large_page_is_cut_into_slices(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(*(config_map(f"n{number:04}", number + 1) for number in range(1200)), version=2000)
    turns = 0

    async def ticker() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    cache = Cache(engine, clock=Stepping(), options=CacheOptions(slice_seconds=0.005))
    informer = cache.informer(CONFIG_MAP)
    tasks = [asyncio.create_task(ticker()), asyncio.create_task(cache.run())]
    try:
        await informer.wait_complete()
        assert turns > 5
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Stepping(LoopClock):
    """A clock for which every look takes ten milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def monotonic(self) -> float:
        self._looks += 1
        return self._looks * 0.01
