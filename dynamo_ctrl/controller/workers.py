"""`Workers`: the tasks that take keys out of a queue and drive a reconcile with them.

Contract:

- A worker that sleeps is woken in the turn of the loop in which a key is added, unless one is on its way already; there is no
  task for each key.
- A plain reconcile runs inline, and the next one after it. A worker that is about to wait wakes another one if there is more to
  do. After a slice of the loop's time a worker lets everybody else run.
- One timer, for the earliest waiting key.
- An exception out of a reconcile does not end a worker (unless panics are not to be recovered from); cancellation does, at once.
  A `CancelledError` out of a reconcile whose worker nobody cancelled is its key's failure like any other. A worker that is
  cancelled while its controller goes on, or dies in another way, ends `run` with an error: none is missing silently.
- A reconcile that awaits something has a deadline, if there is one. Only an expiry of this deadline is counted as such; a
  cancellation from elsewhere, and a `TimeoutError` of the reconcile's own, are what they are.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.answer import Answer, Reconcile, ReconcileCancelled, ReconcileTimeout, WorkerCancelled
from dynamo_ctrl.controller.context import RUNNING, Running
from dynamo_ctrl.controller.history import History
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import NORMAL
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
        numbers: where expired deadlines are counted.
        timeout: see `ControllerOptions.timeout`.
        history: keeps each run that is over.
    """

    def __init__(
        self,
        name: str,
        queue: WorkQueue[Key],
        settler: Settler,
        clock: Clock,
        *,
        count: int,
        slice_: float,
        numbers: ControllerNumbers | None = None,
        timeout: float = 0.0,
        history: History | None = None,
    ) -> None:
        self._name = name
        self._queue = queue
        self._settler = settler
        self._monotonic = clock.monotonic
        self._count = count
        self._slice = slice_
        self._numbers = numbers if numbers is not None else ControllerNumbers()
        self._timeout = timeout
        self._history = history if history is not None else History()
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._coming = 0  # workers that will look at the queue without being woken
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf

    def add(
        self,
        key: Key,
        cause: Cause | None = None,
        priority: int = NORMAL,
        after: float = 0.0,
        fresh: bool = False,
    ) -> None:
        """The key wants to run. See `WorkQueue.add`."""
        now = self._monotonic()
        self._queue.add(key, now, cause, priority, after, fresh)
        if self._sleepers and not self._coming:
            if self._queue.more:
                self._wake()
            else:
                self._arm(now)

    async def run(self, reconcile: Reconcile) -> None:
        """Work until cancelled. Then the queue is shut down.

        Raises:
            ExceptionGroup: of `WorkerCancelled`, or of a panic that is not to be recovered from.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                for number in range(self._count):
                    name = f"controller {self._name}: worker {number}"
                    tasks.create_task(self._employ(reconcile, _current()), name=name)
        finally:
            self._queue.shut_down()
            if self._timer is not None:
                self._timer.cancel()

    async def _employ(self, reconcile: Reconcile, employer: asyncio.Task[object]) -> None:
        try:
            await self._work(reconcile)
        except asyncio.CancelledError as error:
            if employer.cancelling():
                raise
            raise WorkerCancelled(f"{_current().get_name()} was cancelled, but the controller goes on") from error

    async def _work(self, reconcile: Reconcile) -> None:
        queue, monotonic, deadline = self._queue, self._monotonic, self._timeout
        settle, keep = self._settler.settle, self._history.keep
        running = Running(self._name)
        RUNNING.set(running)
        began = now = monotonic()
        while True:
            entry = queue.get(now)
            if entry is None:
                await self._sleep(now)
                began = now = monotonic()
                continue
            running.entry = entry
            try:
                answer = reconcile(entry.key)
                if not isinstance(answer, Answer):
                    if self._sleepers and not self._coming and queue.more:
                        self._wake()  # this worker is about to wait: somebody else goes on
                    answer = await (self._in_time(answer, deadline) if deadline else answer)
            except Exception as error:  # noqa: BLE001  (whatever a reconcile raises is that key's failure, not the process's)
                answer = Answer(error=error, panic=True)
            except asyncio.CancelledError as error:
                if _current().cancelling():
                    raise
                aborted = ReconcileCancelled()
                aborted.__cause__ = error
                answer = Answer(error=aborted, panic=True)
            now = monotonic()
            running.entry = None
            settle(entry, answer, now)
            keep(entry)
            if now - began > self._slice:
                self._coming += 1
                await asyncio.sleep(0)
                self._coming -= 1
                began = now = monotonic()

    async def _in_time(self, pending: Awaitable[Answer], seconds: float) -> Answer:
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await pending
        except TimeoutError:
            if not deadline.expired():
                raise
            self._numbers.timeouts += 1
            return Answer(error=ReconcileTimeout(seconds))

    async def _sleep(self, now: float) -> None:
        self._arm(now)
        sleeper = asyncio.get_running_loop().create_future()
        self._sleepers.append(sleeper)
        await sleeper
        self._coming -= 1

    def _wake(self) -> None:
        while self._sleepers:
            sleeper = self._sleepers.popleft()
            if not sleeper.done():  # else its worker was cancelled
                sleeper.set_result(None)
                self._coming += 1
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


def _current() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None, "workers run in tasks"  # noqa: S101
    return task
