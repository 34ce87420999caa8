"""Where a task hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import structlog

from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.controller.workers import Workers
from dynamo_ctrl.manager.hang import MAX_FRAMES, describe, frames
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.workqueue import WorkQueue
from dynamo_ctrl.testing import LoopClock, settle


async def innermost(future: asyncio.Future[None]) -> None:
    await future


async def middle(future: asyncio.Future[None]) -> None:
    await innermost(future)


async def test_the_whole_chain_of_awaits_is_named_innermost_last() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(middle(future), name="the task")
    await settle()
    found = [line.rpartition(" in ")[2] for line in frames(task)]
    assert found == ["middle", "innermost"]
    assert f"{__file__}:" in frames(task)[1]
    name, first, second = describe(task).splitlines()
    assert name == "the task"
    assert first.startswith("    at ")
    assert second.endswith("in innermost")
    future.set_result(None)
    await task
    assert frames(task) == ()


async def test_generators_are_followed_too() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def numbers() -> AsyncIterator[int]:
        await innermost(future)
        yield 1

    async def read() -> int:
        return sum([number async for number in numbers()])

    task = asyncio.create_task(read())
    await settle()
    assert frames(task)[0].endswith("read")
    future.set_result(None)
    assert await task == 1


async def test_a_deep_chain_is_cut() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def deep(level: int) -> None:
        if level:
            await deep(level - 1)
        else:
            await future

    task = asyncio.create_task(deep(100))
    await settle()
    assert len(frames(task)) == MAX_FRAMES
    future.set_result(None)
    await task


async def test_a_task_that_waits_for_others_tells_where_those_hang() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(awaits_a_task(), name="second")

    async def awaits_a_task() -> None:
        await asyncio.create_task(innermost(future), name="third")

    task = asyncio.create_task(group(), name="first")
    await settle()
    lines = describe(task).splitlines()
    assert [line for line in lines if not line.startswith("    at ")] == ["first", "second", "third"]
    assert lines[-1].startswith(f"    at {__file__}:")
    assert lines[-1].endswith("in innermost")
    future.set_result(None)
    await task


async def test_a_worker_that_hangs_tells_its_key() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    queue: WorkQueue[Key] = WorkQueue()
    settler = Settler("c", queue, ControllerNumbers(), structlog.get_logger(), lambda error: False)
    workers = Workers("c", queue, settler, LoopClock(), count=2, slice_=1.0)

    async def reconcile(key: Key) -> Answer:
        await innermost(future)
        return DONE

    task = asyncio.create_task(workers.run(reconcile), name="controller c")
    workers.add(Key("ns", "a"))
    await settle()
    text = describe(task)
    assert "controller c: worker 0\n" in text
    assert "Workers._work (key ns/a)\n" in text
    assert f"{__file__}:" in text
    task.cancel()
    await asyncio.wait([task])
