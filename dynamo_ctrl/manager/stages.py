"""`Stages`: all groups of a manager, in the order in which they start and in reverse when they stop.

What only a leader may do has a group for each lease, which starts when that lease is won.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from dynamo_ctrl.manager.groups import Group, Order, Runnable
from dynamo_ctrl.manager.hang import describe

GRACE = 0.1
"""Seconds that a group gets to stop even if those before it used up the budget: it may be innocent."""


class Stages:
    """See the module.

    Args:
        leases: names of the leases; the first is for every runnable that names none.
        failed: called with what a runnable raised.
    """

    def __init__(self, leases: Sequence[str], failed: Callable[[Exception], None]) -> None:
        self._common = {order: Group(order, failed) for order in Order if order is not Order.LEADER}
        self._led = {lease: Group(Order.LEADER, failed) for lease in leases}
        self._first = leases[0]

    def add(self, runnable: Runnable, order: Order, lease: str = "") -> None:
        """Start the runnable with its group, or now if that runs. Raises `Stopping`."""
        group = self._led[lease or self._first] if order is Order.LEADER else self._common[order]
        group.add(runnable)

    async def start(self) -> None:
        """Start every group that needs no lease, each when the one before is ready."""
        for group in self._common.values():
            await group.start()

    async def lead(self, lease: str) -> None:
        """Start what works under that lease."""
        await self._led[lease].start()

    async def stop(self, budget: float) -> tuple[str, ...]:
        """Stop everything, the leader's groups first. Returns what still runs, and where it hangs.

        `budget` is in seconds, for all of it; 0 cancels everything at once, and gives it the time that a cancellation takes.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + budget
        groups = [*self._led.values(), *reversed(self._common.values())]
        if budget == 0:
            left = await asyncio.gather(*(group.stop(deadline + GRACE) for group in groups))
        else:
            left = [await group.stop(max(deadline, loop.time() + GRACE)) for group in groups]
        return tuple(describe(task) for tasks in left for task in tasks)
