"""The memory budget: a warning that names the largest kinds, when it is news (R 4, 2 and 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from dynamo_ctrl.cache.budget import EVERY, NAMED
from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.counts import OBJECT_OVERHEAD
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET, ConfigMap
from dynamo_ctrl.testing.virtual_loop import LoopClock, settle

Make = Callable[..., ConfigMap]


def warnings(logs: list[Any]) -> list[Any]:
    return [line for line in logs if "memory budget" in line["event"]]


async def test_r4_2_a_cache_that_outgrows_its_budget_names_its_largest_kinds(
    scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    stream = engine.stream()
    engine.page(*(config_map(f"n{number}", 1) for number in range(3)), version=10)
    cache = Cache(engine, clock=LoopClock(), options=CacheOptions(memory_budget=4 * OBJECT_OVERHEAD))
    informer = cache.informer(CONFIG_MAP)
    cache.informer(POD)
    task = asyncio.create_task(cache.run())
    await asyncio.sleep(EVERY / 2)
    assert warnings(logs) == []
    for number in range(3, 6):
        stream.send("ADDED", config_map(f"n{number}", number + 10))
    await asyncio.sleep(EVERY)
    (line,) = warnings(logs)
    counts = informer.counts()
    assert (line["budget"], line["estimate"]) == (4 * OBJECT_OVERHEAD, counts.memory)
    assert list(line["largest"].items()) == [
        ("configmaps", f"{counts.memory} bytes, 6 objects"),
        ("pods", "0 bytes, 0 objects"),
    ]
    await asyncio.sleep(5 * EVERY)
    assert len(warnings(logs)) == 1, "nothing new"
    stream.send("ADDED", config_map("n7", 20))
    await asyncio.sleep(EVERY)
    assert len(warnings(logs)) == 2, "it has grown by more than a tenth"
    for number in range(7):
        stream.send("DELETED", config_map(f"n{number}", 30 + number))
    await asyncio.sleep(EVERY)
    for number in range(7):
        stream.send("ADDED", config_map(f"n{number}", 50 + number))
    await asyncio.sleep(EVERY)
    assert len(warnings(logs)) == 3, "it was kept in between"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_informers_of_one_kind_are_added_up_and_few_are_named(
    scripted: Any, config_map: Make, logs: list[Any]
) -> None:
    engine = scripted()
    for _ in range(2):
        engine.page(config_map("a", 1), version=10)
    cache = Cache(engine, clock=LoopClock(), options=CacheOptions(memory_budget=OBJECT_OVERHEAD))
    cache.informer(CONFIG_MAP)
    cache.informer(CONFIG_MAP, "app=x")
    for selector in "abcdef":
        cache.informer(SECRET, selector)
    task = asyncio.create_task(cache.run())
    await asyncio.sleep(1.5 * EVERY)
    (line,) = warnings(logs)
    assert line["largest"]["configmaps"].endswith("2 objects")
    assert len(line["largest"]) == 2 <= NAMED
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_without_a_budget_nobody_looks(scripted: Any, config_map: Make, logs: list[Any]) -> None:
    engine = scripted()
    engine.page(config_map("a", 1, data={"k": "v" * 1_000_000}), version=10)
    cache = Cache(engine, clock=LoopClock())
    cache.informer(CONFIG_MAP)
    task = asyncio.create_task(cache.run())
    await asyncio.sleep(100 * EVERY)
    assert warnings(logs) == []
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_r4_3_objects_and_bytes_are_counted_exactly_whatever_happens(
    scene: Any, scripted: Any, config_map: Make
) -> None:
    engine = scripted()
    stream = engine.stream()
    engine.page(config_map("a", 1), config_map("b", 2), version=10)
    async with scene(engine) as it:
        stream.send("MODIFIED", config_map("a", 11, data={"k": "v" * 100}))
        stream.send("ADDED", config_map("c", 12))
        stream.send("DELETED", config_map("b", 13))
        it.cache.wrote(config_map("d", 14, data={"k": "own"}))
        await settle()
        counts = it.informer.counts()
        objects = it.view.list(CONFIG_MAP)
        assert counts.objects == len(objects) == 3
        assert counts.bytes == sum(len(obj.raw) for obj in objects)
        assert counts.memory == counts.bytes + 3 * OBJECT_OVERHEAD
