"""Where a task hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dynamo_ctrl.manager.hang import MAX_FRAMES, describe, frames
from dynamo_ctrl.testing import settle


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
