"""`Workers`: the tasks that take keys out of a queue and drive a reconcile with them.

Contract:

- A worker that sleeps is woken in the turn of the loop in which a key is added; there is no task for each key.
- A plain reconcile runs inline. After a slice of the loop's time a worker lets the others run.
- One timer, for the earliest waiting key.
- An exception out of a reconcile never ends a worker; cancellation does, at once.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.answer import Answer, Reconcile
from dynamo_ctrl.controller.context import RUNNING, Running
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.workqueue import WorkQueue


class Workers:
    """The workers of one controller, and the door through which keys come to its queue.

    Args:
        name: the controller's.
        queue: the keys.
        settler: ends the runs.
        clock: the time that the queue is told.
        count: how many.
        slice_: see `ControllerOptions.slice`.
    """

    def __init__(
        self, name: str, queue: WorkQueue[Key], settler: Settler, clock: Clock, *, count: int, slice_: float
    ) -> None:
        self._name = name
        self._queue = queue
        self._settler = settler
        self._clock = clock
        self._count = count
        self._slice = slice_
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf

    def add(self, key: Key, cause: Cause | None = None) -> None:
        """The key wants to run."""
        self._queue.add(key, self._clock.monotonic(), cause=cause)
        if self._sleepers:
            self._wake()

    async def run(self, reconcile: Reconcile) -> None:
        """Work until cancelled. Then the queue is shut down."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self._count):
                    tasks.create_task(self._work(reconcile), name=f"controller {self._name}: worker {number}")
        finally:
            self._queue.shut_down()
            if self._timer is not None:
                self._timer.cancel()

    async def _work(self, reconcile: Reconcile) -> None:
        queue, settler, monotonic = self._queue, self._settler, self._clock.monotonic
        running = Running(self._name)
        RUNNING.set(running)
        began = now = monotonic()
        while True:
            entry = queue.get(now)
            if entry is None:
                await self._sleep(now)
                began = now = monotonic()
                continue
            if self._sleepers and queue:
                self._wake()
            running.entry = entry
            try:
                answer = reconcile(entry.key)
                if not isinstance(answer, Answer):
                    answer = await answer
            except Exception as error:  # noqa: BLE001  (whatever a reconcile raises is that key's failure, not the process's)
                now = monotonic()
                settler.panicked(entry, error, now)
            else:
                now = monotonic()
                settler.settle(entry, answer, now)
            running.entry = None
            if now - began > self._slice:
                await asyncio.sleep(0)
                began = now = monotonic()

    async def _sleep(self, now: float) -> None:
        self._arm(now)
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper

    def _wake(self) -> None:
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():  # else its worker was cancelled
                sleeper.set_result(None)
                return

    def _arm(self, now: float) -> None:
        due = self._queue.next()
        if due >= self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - now), self._ring)

    def _ring(self) -> None:
        self._timer, self._timer_due = None, math.inf
        self._wake()
