"""`Life`: the phases of a manager, its first error, and the frame around its start and its stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, TypeVar

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.manager.errors import AlreadyStarted, ManagerError, Stopping
from dynamo_ctrl.manager.stages import GRACE

T = TypeVar("T")


class Phase(Enum):
    """Where a manager is in its life. It goes forward only."""

    NEW = "new"
    OPEN = "open"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Life:
    """One life.

    Args:
        log: for errors that come after the first one.

    Attributes:
        phase: see `Phase`.
        error: the first error, which ends the life.
        stop_wanted: set when the life is to end.
        stopped: set when it has ended.
    """

    def __init__(self, log: FilteringBoundLogger) -> None:
        self.phase = Phase.NEW
        self.error: Exception | None = None
        self.stop_wanted = asyncio.Event()
        self.stopped = asyncio.Event()
        self._log = log

    @property
    def over(self) -> bool:
        """Whether it ends or has ended."""
        return self.phase in (Phase.STOPPING, Phase.STOPPED)

    def open(self) -> None:
        """Raises `AlreadyStarted` the second time."""
        if self.phase is not Phase.NEW:
            raise AlreadyStarted("a manager can be opened once")
        self.phase = Phase.OPEN

    def failed(self, error: Exception) -> None:
        """Something raised: the first error is kept, every one ends the life."""
        if self.error is None:
            self.error = error
        else:
            self._log.warning("a further error while the manager stops", error=repr(error))
        self.stop_wanted.set()

    async def run(self, start: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], Awaitable[T]]) -> T:
        """Run `start` in a task, wait for the end to be wanted or for cancellation, then `start` is cancelled and `stop` run.

        `stop` is bounded by itself; a cancellation meanwhile is passed on only when it has ended. Returns its answer.

        Raises:
            ManagerError: the life is not open. AlreadyStarted: it was run before.
        """
        if self.phase is not Phase.OPEN:
            kind = ManagerError if self.phase is Phase.NEW else AlreadyStarted
            raise kind(f"run: the manager is {self.phase.value}")
        self.phase = Phase.RUNNING
        starter = asyncio.create_task(start(), name="manager: start")
        try:
            await self.stop_wanted.wait()
        finally:
            self.phase = Phase.STOPPING
            ended = asyncio.create_task(self._end(starter, stop), name="manager: stop")
            answer = await _unbroken(ended)
        return answer

    async def unless_stopped(self, wanted: Coroutine[Any, Any, object], otherwise: str) -> None:
        """Returns when `wanted` does. Raises `Stopping`, with the message `otherwise`, when the end is wanted before."""
        waiter = asyncio.create_task(wanted, name="manager: a wait")
        stop = asyncio.create_task(self.stop_wanted.wait(), name="manager: the end of a wait")
        try:
            await asyncio.wait([waiter, stop], return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                raise Stopping(otherwise)
        finally:
            waiter.cancel()
            stop.cancel()
            await asyncio.wait([waiter, stop])

    async def _end(self, starter: asyncio.Task[None], stop: Callable[[], Awaitable[T]]) -> T:
        starter.cancel()
        await asyncio.wait([starter], timeout=GRACE)
        try:
            return await stop()
        finally:
            self.phase = Phase.STOPPED
            self.stopped.set()


async def _unbroken(task: asyncio.Task[T]) -> T:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
