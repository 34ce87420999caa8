"""Long works give the loop back every five milliseconds (R 4, 14), in a time that only works make pass."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.cache.turns import Turns
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET, ConfigMap
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]
COST = 0.000009
"""Seconds that each object costs when it is read, and again when it is indexed: more than it really does."""
OBJECTS = 2_000
SLICE = 0.005
GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


class Work(LoopClock):
    """A clock on which only work takes time; it remembers how long the loop was kept at most."""

    def __init__(self) -> None:
        super().__init__()
        self.done = self.longest = 0.0

    def monotonic(self) -> float:
        return self.done

    def project(self, content: JsonMap) -> dict[str, Any]:
        self.done += COST
        return dict(content)

    def extract(self, obj: ConfigMap) -> Iterable[str]:
        self.done += COST
        return obj.data.values()

    async def watch(self) -> None:
        while True:
            before = self.done
            await asyncio.sleep(0)
            self.longest = max(self.longest, self.done - before)


class Place:
    def __init__(self, engine: Any, watcher: WatcherOptions) -> None:
        self.work = Work()
        self.by_data = Index("data", CONFIG_MAP, self.work.extract)
        self.cache = Cache(engine, clock=self.work, options=CacheOptions(watcher=watcher))
        self.informer = self.cache.informer(CONFIG_MAP, project=self.work.project)
        self.view = self.cache.view({CONFIG_MAP: self.informer})

    def kept(self, *, at_least: int) -> None:
        """The loop was never kept for longer than a slice, although there was work for so many."""
        assert 0 < self.work.longest <= SLICE
        assert self.work.done > at_least * SLICE
        self.work.done = self.work.longest = 0.0


@asynccontextmanager
async def place(engine: Any, **watcher: Any) -> AsyncIterator[Place]:
    it = Place(engine, WatcherOptions(**watcher))
    tasks = [asyncio.create_task(it.work.watch()), asyncio.create_task(it.cache.run())]
    try:
        yield it
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def objects(make: Make, count: int = OBJECTS, version: int = 1) -> list[ConfigMap]:
    return [make(f"n{number:05}", version + number, data={"k": f"v{number % 7}"}) for number in range(count)]


def phase(informer: Informer[ConfigMap]) -> Phase:
    return informer.state.phase


def over(pace: Pace) -> bool:
    return pace.over


def ready(informer: Informer[ConfigMap]) -> bool:
    return informer.ready


async def turns(count: int = 400) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_r4_14_an_initial_list_a_relist_and_an_index_are_cut_into_slices(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(*objects(config_map), version=OBJECTS)
    stream = engine.stream()
    async with place(engine) as it:
        await it.informer.wait_complete()
        it.kept(at_least=3)

        it.informer.add_index(it.by_data)
        assert phase(it.informer) is Phase.SYNCING
        await turns()
        assert phase(it.informer) is Phase.LIVE
        assert len(it.view.by_index(it.by_data, "v3")) == len(range(3, OBJECTS, 7))
        it.kept(at_least=3)

        subscription = it.informer.subscribe()
        subscription.take()
        stream.send("ERROR", GONE)
        engine.page(*objects(config_map, OBJECTS - 7, version=OBJECTS), version=9 * OBJECTS)
        engine.stream()
        await turns()
        it.informer.retry()  # time does not pass while somebody ticks
        await turns()
        assert len(it.view.list(CONFIG_MAP)) == OBJECTS - 7
        assert len(it.view.by_index(it.by_data, "v3")) == len(range(3, OBJECTS - 7, 7))
        it.kept(at_least=6)


async def test_r4_14_a_streaming_list_is_cut_into_slices(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    stream = engine.stream()
    for obj in objects(config_map):
        stream.send("ADDED", obj)
    annotations = {"k8s.io/initial-events-end": "true"}
    stream.send("BOOKMARK", {"metadata": {"resourceVersion": "10", "annotations": annotations}})
    async with place(engine, initial="stream") as it:
        it.informer.add_index(it.by_data)
        await it.informer.wait_complete()
        assert len(it.view.list(CONFIG_MAP)) == OBJECTS
        it.kept(at_least=6)


async def test_r4_14_works_at_the_same_time_share_a_turn_of_the_loop(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    async with place(engine) as it:
        others = [it.cache.informer(CONFIG_MAP, f"n={number}", it.work.project) for number in range(3)]
        for _ in range(4):
            engine.page(*objects(config_map), version=OBJECTS)
        for informer in (it.informer, *others):
            await informer.wait_complete()
        it.kept(at_least=12)


async def test_r4_14_a_walk_over_everything_gives_the_loop_back(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(*objects(config_map), version=OBJECTS)
    async with place(engine) as it:
        await it.informer.wait_complete()
        it.kept(at_least=3)
        walked = []
        async for obj in it.view.walk(CONFIG_MAP, namespace="ns"):
            it.work.extract(obj)
            walked.append(obj)
        assert walked == list(it.view.list(CONFIG_MAP))
        it.kept(at_least=3)
        with pytest.raises(SourceUnavailable):
            async for _ in it.view.walk(SECRET):
                pass


async def test_r4_14_a_flood_of_events_does_not_keep_the_loop(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    engine.page(version=1)
    stream = engine.stream()
    async with place(engine) as it:
        await it.informer.wait_complete()
        for obj in objects(config_map):
            stream.send("ADDED", obj)
        await turns()
        assert len(it.view.list(CONFIG_MAP)) == OBJECTS
        it.kept(at_least=3)


async def test_r4_14_floods_of_several_sources_share_a_turn_of_the_loop(scripted: Any, config_map: Make) -> None:
    engine = scripted()
    sources = 12
    streams = []
    for _ in range(sources):
        engine.page(version=1)
        streams.append(engine.stream())
    async with place(engine) as it:
        others = [it.cache.informer(CONFIG_MAP, f"n={number}", it.work.project) for number in range(1, sources)]
        for informer in (it.informer, *others):
            await informer.wait_complete()
        await turns()
        assert len(engine.watched) == sources
        for stream in streams:
            for obj in objects(config_map, 300, version=10):
                stream.send("ADDED", obj)
        await turns()
        assert [informer.counts().objects for informer in (it.informer, *others)] == [300] * sources
        it.kept(at_least=3)


async def test_r4_25_an_index_is_declared_without_waiting_before_and_after_the_start(
    scripted: Any, config_map: Make
) -> None:
    """Registering an index blocked on the sync of the cache, which waited for who registered it."""
    engine = scripted()
    it = Place(engine, WatcherOptions())
    it.informer.add_index(it.by_data)
    tasks = [asyncio.create_task(it.cache.run())]
    await settle()
    later = Index("later", CONFIG_MAP, it.work.extract)
    it.informer.add_index(later)
    assert not ready(it.informer)
    engine.page(*objects(config_map, 200), version=200)
    await it.informer.wait_complete()
    assert [len(it.view.by_index(index, "v0")) for index in (it.by_data, later)] == [29, 29]
    after = Index("after", CONFIG_MAP, it.work.extract)
    states: list[Phase] = []
    it.informer.watch_state(lambda state: states.append(it.informer.state.phase))
    other = it.cache.informer(CONFIG_MAP, project=it.work.project)
    it.informer.add_index(after)
    with pytest.raises(SourceUnavailable, match="index 'after' is being built"):
        it.view.by_index(after, "v0")
    assert it.informer.state.reason == "index after of configmaps is being built"
    assert not ready(it.informer)
    assert ready(other), "only who declared it waits for it"
    await settle()
    assert len(it.view.by_index(after, "v0")) == 29
    assert ready(it.informer)
    assert states == [Phase.LIVE], "and is told when it can be read"
    it.informer.close()
    await settle()
    assert list(other.shared.store.indexes) == []
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_index_that_is_given_up_while_it_is_built_is_not_built_to_the_end(
    scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    engine.page(*objects(config_map), version=OBJECTS)
    async with place(engine) as it:
        await it.informer.wait_complete()
        other = it.cache.informer(CONFIG_MAP, project=it.work.project)
        before = it.work.done
        other.add_index(it.by_data)
        await turns(1)
        other.close()
        await turns()
        assert before < it.work.done < before + OBJECTS * COST * 0.8
        assert not list(it.informer.shared.store.building)
        it.informer.add_index(it.by_data)
        await turns()
        assert len(it.view.by_index(it.by_data, "v3")) == len(range(3, OBJECTS, 7))


async def test_no_plain_container_is_kept_for_an_object(scripted: Any, config_map: Make) -> None:
    """The collector walks what it tracks, again and again; it must not find anything of a cached object."""
    engine = scripted()
    labelled = [
        config_map(f"n{number:05}", 1, labels={"app": f"a{number // 10}"}, owner="o") for number in range(1_000)
    ]
    engine.page(*labelled, version=OBJECTS)
    del labelled
    cache = Cache(engine, clock=LoopClock(), options=CacheOptions())
    informer = cache.informer(CONFIG_MAP)
    task = asyncio.create_task(cache.run())
    gc.collect()
    before = len(gc.get_objects())
    await informer.wait_complete()
    await settle()
    gc.collect()
    tracked = len(gc.get_objects()) - before
    assert tracked < 250, "a dictionary for each label value with ten objects, and none for an object"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_pace_measures_from_the_last_time_the_loop_was_given_back() -> None:
    work = Work()
    pace = Pace(work, 0.005)
    work.done += 0.004
    assert not over(pace)
    pace.restart()
    work.done += 0.004
    assert not over(pace)
    work.done += 0.002
    assert over(pace)
    await pace.breathe()
    assert not over(pace)


async def test_a_work_that_is_cancelled_gives_its_turn_back() -> None:
    work = Work()
    turns = Turns(work, 0.004)

    def endless() -> Iterator[None]:
        while True:
            work.done += 0.01
            yield

    task = asyncio.create_task(turns.work(endless()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await turns.work(iter(range(3)))
