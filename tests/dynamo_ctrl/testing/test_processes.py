"""A run of processes is the same each time, whatever the memory looks like in which it takes place."""

from __future__ import annotations

import asyncio
from random import Random

from dynamo_ctrl.testing.processes import ProcessLoop
from dynamo_ctrl.testing.virtual_loop import run_on


async def cancelled() -> list[int]:
    """The order in which the tasks of a group are cancelled."""
    order: list[int] = []

    async def wait(number: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            order.append(number)

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(wait(number))
            group.create_task(fail())
    except* LookupError:
        pass
    return order


def test_tasks_that_are_cancelled_together_end_in_one_order() -> None:
    random, litter, orders = Random(7), [], []
    for _ in range(8):
        orders.append(run_on(ProcessLoop(3), cancelled()))
        litter += [bytes(random.randrange(2_000)) for _ in range(random.randrange(200))]
        del litter[:: random.randrange(2, 5)]
    assert len(set(map(tuple, orders))) == 1
