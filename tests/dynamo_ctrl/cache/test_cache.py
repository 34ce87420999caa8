"""Sharing, handles that come and go, the bound on lists, own writes, and the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, SERVICE, ConfigMap
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.selector import InvalidSelector
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]


@asynccontextmanager
async def running(cache: Cache) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(cache.run())
    try:
        await settle()
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def keep_names(content: JsonMap) -> dict[str, Any]:
    return {"metadata": content["metadata"]}


def cache_over(engine: Any, **options: Any) -> Cache:
    return Cache(engine, clock=LoopClock(), options=CacheOptions(**options))


async def test_r4_4_informers_are_shared_by_kind_selector_and_projection(scripted: Any) -> None:
    cache = cache_over(scripted())
    first = cache.informer(CONFIG_MAP, "a=b,c in (e,d)")
    same = cache.informer(CONFIG_MAP, " a=b, c in (d, e)", optional=True)
    others: list[Informer[Any]] = [
        cache.informer(SECRET, "a=b,c in (d,e)"),
        cache.informer(CONFIG_MAP),
        cache.informer(CONFIG_MAP, "a=b,c in (d,e)", keep_names),
    ]
    assert same.shared is first.shared
    assert (first.optional, same.optional) == (False, True)
    assert len({id(handle.shared) for handle in (first, *others)}) == 4
    assert len(list(cache.informers)) == 4


async def test_a_selector_that_cannot_be_read_is_refused(scripted: Any) -> None:
    with pytest.raises(InvalidSelector, match="=="):
        cache_over(scripted()).informer(CONFIG_MAP, "=== ===")


async def test_an_informer_that_is_added_while_it_runs_is_followed(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    cache = cache_over(engine)
    async with running(cache):
        informer = cache.informer(CONFIG_MAP)
        engine.page(config_map("a", 1), version=10)
        await settle()
        assert informer.state.phase is Phase.LIVE
        await informer.wait_complete()


async def test_r4_50_the_last_handle_stops_the_informer_and_a_new_one_starts_afresh(
    scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    cache = cache_over(engine)
    one, two = cache.informer(CONFIG_MAP), cache.informer(CONFIG_MAP)
    states: list[SourceState] = []
    two.watch_state(states.append)
    subscription = two.subscribe()
    async with running(cache):
        assert engine.open == 1
        one.close()
        one.close()
        await settle()
        assert (engine.open, two.state.phase) == (1, Phase.LIVE)
        two.close()
        await settle()
        assert (engine.open, two.state.phase) == (0, Phase.STOPPED)
        assert list(cache.informers) == []
        assert [batch async for batch in subscription] != [], "what waited can still be taken, then it ends"
        engine.page(config_map("b", 20), version=20)
        again = cache.informer(CONFIG_MAP)
        await settle()
        assert [obj.key.name for obj in again.shared.store.list()] == ["b"]
        assert list(cache.view({CONFIG_MAP: again}).list(CONFIG_MAP)) != []


async def test_closing_a_handle_ends_what_it_opened_and_nothing_else(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(version=10)
    stream = engine.stream()
    cache = cache_over(engine)
    one, two = cache.informer(CONFIG_MAP), cache.informer(CONFIG_MAP)
    mine, theirs = one.subscribe(), two.subscribe()
    told: list[str] = []
    one.watch_state(lambda state: told.append("mine"))
    two.watch_state(lambda state: told.append("theirs"))
    async with running(cache):
        told.clear()
        one.close()
        stream.send("ADDED", config_map("a", 11))
        await settle()
        assert (len(mine), len(theirs)) == (0, 1)
    assert told == ["theirs"]


async def test_a_callback_on_the_state_can_be_ended(scripted: Any) -> None:
    engine = scripted()
    cache = cache_over(engine)
    states: list[SourceState] = []
    end = cache.informer(CONFIG_MAP).watch_state(states.append)
    end()
    end()
    async with running(cache):
        engine.page(version=10)
        await settle()
    assert states == []


async def test_r4_22_only_so_many_lists_are_under_way_at_once(scripted: Any) -> None:
    engine = scripted()
    cache = cache_over(engine, lists_at_once=2)
    informers = [cache.informer(kind) for kind in (CONFIG_MAP, POD, SECRET, SERVICE)]
    async with running(cache):
        assert len(engine.listed) == 2
        engine.page(version=10)
        await settle()
        assert len(engine.listed) == 3
        for _ in range(3):
            engine.page(version=10)
        await settle()
        assert all(informer.state.phase is Phase.LIVE for informer in informers)


async def test_own_writes_reach_every_informer_of_the_kind_and_only_where_they_belong(
    scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    cache = cache_over(engine, namespaces=("ns",))
    everything, selected, slim = (
        cache.informer(CONFIG_MAP),
        cache.informer(CONFIG_MAP, "app=x"),
        cache.informer(CONFIG_MAP, project=keep_names),
    )
    written: Written = cache
    for _ in range(3):
        engine.page(version=10)
    async with running(cache):
        views = [cache.view({CONFIG_MAP: informer}) for informer in (everything, selected, slim)]
        written.wrote(config_map("a", 11, labels={"app": "y"}, data={"k": "v"}))
        written.wrote(config_map("b", 12, labels={"app": "x"}, data={"k": "v"}))
        written.wrote(config_map("c", 13, namespace="elsewhere"))
        assert [[obj.key.name for obj in view.list(CONFIG_MAP)] for view in views] == [["a", "b"], ["b"], ["a", "b"]]
        assert [[dict(obj.data) for obj in view.list(CONFIG_MAP)] for view in views[1:]] == [[{"k": "v"}], [{}, {}]]
        written.deleted(CONFIG_MAP, Key("ns", "b"), "uid-ns-b")
        written.deleted(SECRET, Key("ns", "b"), "uid-ns-b")
        assert [[obj.key.name for obj in view.list(CONFIG_MAP)] for view in views] == [["a"], [], ["a"]]
        assert everything.counts().own_writes == 2


async def test_an_index_of_another_kind_is_refused(scripted: Any) -> None:
    informer = cache_over(scripted()).informer(CONFIG_MAP)
    with pytest.raises(ValueError, match="cannot be kept by the informer of configmaps"):
        informer.add_index(Index("x", SECRET, lambda obj: ()))  # type: ignore[arg-type]


async def test_after_the_end_nothing_runs_and_nothing_can_be_read(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(config_map("a", 1), version=10)
    engine.stream()
    cache = cache_over(engine)
    informer = cache.informer(CONFIG_MAP)
    async with running(cache) as task:
        with pytest.raises(RuntimeError, match="run once"):
            await cache.run()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert engine.open == 0
    assert informer.state.phase is Phase.STOPPED
    assert not informer.ready
    assert [batch async for batch in informer.subscribe()] == []
    with pytest.raises(RuntimeError, match="has ended"):
        cache.informer(SECRET)
    with pytest.raises(RuntimeError, match="run once"):
        await cache.run()
    informer.close()


async def test_two_caches_share_nothing(scripted: Any, config_map: Make) -> None:
    engines = [scripted(), scripted()]
    caches = [cache_over(engine) for engine in engines]
    informers = [cache.informer(CONFIG_MAP) for cache in caches]
    for number, engine in enumerate(engines):
        engine.page(config_map(f"of-{number}", 1), version=10)
    async with running(caches[0]), running(caches[1]):
        assert [[obj.key.name for obj in informer.shared.store.list()] for informer in informers] == [
            ["of-0"],
            ["of-1"],
        ]


async def test_counts_are_plain_numbers(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    a = config_map("a", 1)
    engine.page(a, version=10)
    cache = cache_over(engine)
    informer = cache.informer(CONFIG_MAP)
    informer.subscribe()
    async with running(cache):
        counts = informer.counts()
        assert (counts.objects, counts.bytes, counts.pending, counts.lists) == (1, len(a.raw), 1, 1)
