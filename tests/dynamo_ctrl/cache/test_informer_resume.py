"""Watches that are throttled, silent, cut or out of date (R 3.1): what is asked for next, and the state that it must end in."""

from __future__ import annotations

import asyncio
import gc
import itertools
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.engine.errors import (
    Expired,
    Forbidden,
    ServerError,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
)
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, SERVICE, ConfigMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}


@asynccontextmanager
async def cache_running(cache: Cache) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        await settle()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def status(code: int, reason: str, message: str, **details: Any) -> dict[str, Any]:
    return {**STATUS, "code": code, "reason": reason, "message": message, "details": details}


async def test_r4_12_every_watch_asks_for_bookmarks_and_has_a_client_side_limit_of_silence(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    silent, second = engine.stream(), engine.stream()
    async with scene(engine, watcher=WatcherOptions(idle=90)) as it:
        assert (engine.watched[0].bookmarks, engine.watched[0].idle) == (True, 90)
        heard = it.informer.counts().heard
        silent.bookmark(12)
        await it.passing(60)
        assert it.informer.counts().heard == heard, "a gauge of staleness can be made of this"
        silent.fail(Unanswered("no event within 90 s"))
        second.send("MODIFIED", config_map("a", 20))
        await settle()
        assert engine.watched[1].resource_version == "12"
        assert it.informer.counts().heard >= heard + 60
        assert it.view.get(CONFIG_MAP, "ns/a").metadata.resource_version == "20"
        assert it.phases == [Phase.LIVE]


async def test_a_throttled_list_waits_as_long_as_the_server_asks_for(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.refuse_list(TooManyRequests("too many requests", retry_after=20))
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    async with scene(engine) as it:
        await it.passing(19)
        assert (it.phase, len(engine.listed)) == (Phase.SYNCING, 1)
        assert "too many requests" in it.informer.state.reason
        await it.passing(2)
        assert (it.names(), it.phase, len(engine.listed)) == (["a"], Phase.LIVE, 2)


async def test_a_throttled_watch_waits_as_long_and_is_opened_again_without_a_list(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.refuse_watch(TooManyRequests("too many requests", retry_after=20))
    stream = engine.stream()
    async with scene(engine) as it:
        await it.passing(19)
        assert (it.phase, len(engine.watched)) == (Phase.STALE, 1)
        assert it.names() == ["a"], "a stale source can be read"
        stream.send("DELETED", config_map("a", 11))
        await it.passing(2)
        assert (it.names(), it.phase) == ([], Phase.LIVE)
        assert (len(engine.listed), engine.watched[1].resource_version) == (1, "10")


@pytest.mark.parametrize(
    ("event", "lists", "version"),
    [
        pytest.param(status(410, "Expired", "too old"), 2, "30", id="expired"),
        pytest.param(status(429, "TooManyRequests", "busy", retryAfterSeconds=5), 1, "11", id="throttled"),
        pytest.param(status(500, "InternalError", "etcd exploded"), 2, "30", id="internal"),
        pytest.param(status(504, "Timeout", "Too large resource version", causes=[
            {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
        ]), 2, "30", id="too-large"),
        pytest.param(status(403, "Forbidden", "no more"), 2, "30", id="forbidden"),
        pytest.param({"kind": "nonsense"}, 2, "30", id="unreadable"),
    ],
)  # fmt: skip
async def test_an_error_event_in_the_middle_of_a_stream_ends_live_with_what_the_server_has(
    scene: Any, scripted: Any, config_map: Make, event: dict[str, Any], lists: int, version: str
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    first, second = engine.stream(), engine.stream()
    async with scene(engine) as it:
        first.send("ADDED", config_map("b", 11))
        first.send("ERROR", event)
        first.send("ADDED", config_map("never", 12))
        await settle()
        assert it.phase in (Phase.STALE, Phase.FORBIDDEN)
        assert it.informer.state.reason
        if lists > 1:
            engine.page(config_map("b", 11), config_map("c", 20), version=30)
        else:
            second.send("ADDED", config_map("c", 20))
            second.send("DELETED", config_map("a", 21))
        await it.passing(8)
        assert it.names() == ["b", "c"]
        assert it.phase is Phase.LIVE
        assert len(engine.listed) == lists
        assert engine.watched[1].resource_version == version


async def test_r4_15_a_version_that_is_too_large_is_asked_for_once_and_never_again(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    """Of an API server that was restored to an older state: the endless loop of "too large resource version"."""
    engine = scripted()
    engine.page(config_map("a", 900), version=950)
    engine.refuse_watch(TooLargeResourceVersion("Too large resource version: 950, current: 100"))
    async with scene(engine) as it:
        engine.refuse_list(*[ServerError("starting")] * 5)
        engine.page(config_map("a", 80), version=100)
        engine.stream()
        await it.passing(300)
        assert [options.resource_version for options in engine.listed] == [""] * 7
        assert it.view.get(CONFIG_MAP, "ns/a").metadata.resource_version == "80"
        assert it.phase is Phase.LIVE


async def test_an_expired_token_that_expires_again_ends_with_a_list_without_pages(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10, token="t")
    engine.refuse_list(Expired("the token is too old"), Expired("and the version as well"))
    engine.page(config_map("b", 12), version=15)
    engine.stream()
    async with scene(engine) as it:
        await it.passing(3)
        assert (it.names(), it.phase) == (["b"], Phase.LIVE)
        assert it.informer.counts().lists == 1


async def test_r4_6_many_relists_leave_exactly_what_the_server_has(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    random = Random(11)
    expected: list[ConfigMap] = []
    engine.page(version=1)
    async with scene(engine) as it:
        for number in range(1, 60):
            names = sorted(random.sample("abcdefghij", random.randint(0, 10)))
            kept = {obj.key.name: obj for obj in expected}
            version = number * 100
            expected = [
                kept[name]
                if name in kept and random.random() < 0.5
                else config_map(name, version + at, labels={"n": name})
                for at, name in enumerate(names)
            ]
            cut = random.randint(0, len(expected))
            if cut:
                engine.page(*expected[:cut], version=version + 20, token="t")
            engine.page(*expected[cut:], version=version + 20)
            engine.stream().send("ERROR", status(410, "Expired", "too old"))
            await it.passing(70)
            found = {obj.key.name: obj.metadata.resource_version for obj in it.view.list(CONFIG_MAP)}
            assert found == {obj.key.name: obj.metadata.resource_version for obj in expected}
        it.changes()
        assert it.informer.counts().pending == 0


async def test_a_list_that_is_always_too_old_to_be_watched_is_asked_for_less_and_less(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    """A server whose list is older than what it remembers is not asked in a circle (kubernetes/kubernetes#133810)."""
    engine = scripted()
    for _ in range(100):
        engine.page(config_map("a", 1), version=10)
    engine.refuse_watch(*[Expired("too old resource version: 10 (90)")] * 100)
    async with scene(engine) as it:
        await it.passing(600)
        assert len(engine.listed) <= 30
        assert (it.names(), it.phase) == (["a"], Phase.STALE)
        assert "too old" in it.informer.state.reason


async def test_r4_22_the_ends_of_watches_are_spread(scripted: Any) -> None:
    """All informers of a process lost their server at once; they do not come back at once for ever after."""
    engine = scripted()
    cache = Cache(engine, clock=LoopClock(), random=Random(1))
    kinds = (CONFIG_MAP, POD, SECRET, SERVICE)
    for kind in kinds:
        cache.informer(kind)
        engine.page(version=10)
        engine.stream()
    async with cache_running(cache):
        timeouts = sorted(options.timeout for options in engine.watched)
        assert len(timeouts) == len(kinds)
        assert all(300 <= timeout <= 600 for timeout in timeouts)
        assert min(later - earlier for earlier, later in itertools.pairwise(timeouts)) > 1


async def test_r4_54_a_kind_that_cannot_be_read_holds_no_other_one_up(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.refuse_list(Forbidden("no right"))
    engine.served = ("configmaps", "secrets")
    cache = Cache(engine, clock=LoopClock(), random=Random(1))
    refused, fine = cache.informer(SECRET), cache.informer(CONFIG_MAP)
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    async with cache_running(cache):
        view = cache.view({SECRET: refused, CONFIG_MAP: fine})
        assert (refused.state.phase, refused.ready) == (Phase.FORBIDDEN, False)
        assert 'resources: ["secrets"]' in refused.state.reason
        assert (fine.state.phase, fine.ready) == (Phase.LIVE, True)
        assert view.get(CONFIG_MAP, "ns/a") is not None


async def test_r4_6_what_a_relist_replaced_does_not_outlive_it(scene: Any, scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(version=1)
    blocks: list[int] = []
    rounds, objects = 20, 200
    async with scene(engine) as it:
        it.informer.add_index(Index("data", CONFIG_MAP, lambda obj: obj.data.values()))
        for number in range(1, 2 * rounds + 1):
            version = number * 1000
            engine.page(
                *(
                    config_map(
                        f"n{at}",
                        version + at,
                        labels={"round": str(number)},
                        owner=f"o{number}",
                        data={"k": str(number)},
                    )
                    for at in range(objects)
                ),
                version=version,
            )
            engine.stream().send("ERROR", status(410, "Expired", "too old"))
            await it.passing(70)
            assert len(it.changes()) == objects
            for kept in (engine.listed, engine.watched, it.states):
                kept.clear()
            if number % rounds == 0:
                gc.collect()
                blocks.append(sys.getallocatedblocks())
    assert blocks[1] - blocks[0] < rounds * objects, "one block for an object would be too many"
