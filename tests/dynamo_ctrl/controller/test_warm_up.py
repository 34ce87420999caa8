"""Warm-up: a replica that does not lead watches, and works the moment it may (R 1.6; R 4, 24)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dynamo_ctrl.controller.builder import Watch
from dynamo_ctrl.controller.mapper import by_label
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.objects.builtin.core import SECRET


async def ended(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_r4_24_sources_fill_the_queue_before_anybody_works(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a", "b")
    controller = arena.controller()
    async with arena.caching():
        warm = asyncio.create_task(controller.warm_up())
        await asyncio.wait_for(controller.synced(), 1)
        assert controller.ready
        assert len(controller.queue) == 2
        assert arena.runs == []
        listed = len(list(arena.cache.informers))
        work = asyncio.create_task(controller.work(arena.reconcile(controller)))
        await asyncio.sleep(0.001)
        assert arena.took() == ["a", "b"], "in the turn in which it may, from what is there already"
        assert len(list(arena.cache.informers)) == listed
        arena.put("c")
        await asyncio.sleep(0.001)
        assert arena.took() == ["c"]
        await ended(work, warm)
    controller.close()


@pytest.mark.parametrize("first", ["warm_up", "work"])
async def test_sources_start_once_when_both_begin_together(new_arena: Any, first: str) -> None:
    arena = new_arena()
    arena.put("a")
    controller = arena.controller()
    async with arena.caching():
        lives = {"warm_up": controller.warm_up, "work": lambda: controller.work(arena.reconcile(controller))}
        order = [first, *(name for name in lives if name != first)]
        tasks = [asyncio.create_task(lives[name]()) for name in order]
        await asyncio.sleep(0.01)
        assert [task.get_name() for task in asyncio.all_tasks()].count("controller test: source configmaps") == 1
        arena.put("b")
        await asyncio.sleep(0.01)
        assert arena.runs == ["a", "b"]
        assert controller.numbers.success == 2
        await ended(*reversed(tasks))
    controller.close()


async def test_a_warm_up_that_was_cancelled_leaves_nothing_and_work_watches_by_itself(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    controller = arena.controller()
    async with arena.caching():
        warm = asyncio.create_task(controller.warm_up())
        await asyncio.sleep(0.01)
        await ended(warm)
        arena.put("b")
        await asyncio.sleep(0.01)
        assert len(controller.queue) == 1, "nobody watches"
        assert sum(informer.counts().pending for informer in arena.cache.informers) == 0, "and nothing heaps up"
        work = asyncio.create_task(controller.work(arena.reconcile(controller)))
        await asyncio.sleep(0.01)
        assert sorted(arena.runs) == ["a", "b"], "once, when the initial objects have been told again"
        await ended(work)
    controller.close()


async def test_a_source_that_was_added_after_the_warm_up_runs(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    controller = arena.controller()
    async with arena.caching():
        warm = asyncio.create_task(controller.warm_up())
        await asyncio.sleep(0.01)
        handle = controller.watch(Watch(kind=SECRET, mapper=by_label("for")))
        await asyncio.wait_for(handle.wait_settled(), 1)
        arena.put("s", kind=SECRET, labels={"for": "ghost"})
        await asyncio.sleep(0.01)
        work = asyncio.create_task(controller.work(arena.reconcile(controller)))
        await asyncio.sleep(0.01)
        assert sorted(arena.runs) == ["a", "ghost"]
        await ended(work, warm)
    controller.close()


async def test_events_of_a_long_warm_up_are_one_run_for_each_key(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    controller = arena.controller()
    async with arena.caching():
        warm = asyncio.create_task(controller.warm_up())
        for number in range(100):
            await asyncio.sleep(0.01)
            arena.edit("a", data={"n": str(number)})
        await asyncio.sleep(0.01)
        assert len(controller.queue) == 1
        work = asyncio.create_task(controller.work(arena.reconcile(controller)))
        await asyncio.sleep(0.01)
        assert arena.runs == ["a"]
        await ended(work, warm)
    controller.close()


async def test_without_warm_up_a_replica_that_does_not_lead_is_ready_for_what_it_does(new_arena: Any) -> None:
    arena = new_arena()
    cold, warm = arena.controller(name="cold", warm_up=False), arena.controller(name="warm")
    assert ControllerOptions().warm_up
    async with arena.caching():
        await asyncio.sleep(0.01)
        assert cold.reasons == {}
        assert warm.reasons == {"configmaps": "syncing: not started"}
    cold.close()
    warm.close()
