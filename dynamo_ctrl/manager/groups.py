"""`Group`: runnables that start together and stop together.

Contract:

- The tasks of a group belong to one task group, which a task of its own (the keeper) holds open.
- `add` works before the start, during it and while the group runs; once it stops (even without a start) it raises `Stopping`.
- `start` returns when every runnable that was there is ready.
- A runnable may end. What one raises is handed to the owner at once, with the runnable's name as a note; the owner then stops the
  groups in order, and the others of the group go on until then. Cancellation is not an error; an unasked one is a warning.
- `stop` cancels and waits until a deadline; what is left over is returned, not waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from inspect import isawaitable
from typing import Any

import structlog

from dynamo_ctrl.manager.errors import RunnableAborted, Stopping

_log = structlog.get_logger()


class Order(Enum):
    """The groups of a manager in the order in which they start. They stop in reverse."""

    HTTP = "http"
    WEBHOOKS = "webhooks"
    CACHES = "caches"
    OTHERS = "others"
    WARMUP = "warm-up"
    """What a replica that does not lead does to be ready to: the sources of its controllers."""
    LEADER = "leader"
    """What only a leader may do: controllers, and every runnable that does not say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """Something that runs as long as its manager.

    Attributes:
        name: of its task; in errors and logs.
        run: runs until it is cancelled; it may also end by itself.
        ready: returns when the runnable can be relied on; `None` when that is so from the start.
    """

    name: str
    run: Callable[[], Awaitable[None]]
    ready: Callable[[], Awaitable[None]] | None = None


class Group:
    """One group. `failed` is called with what a runnable of it raised."""

    def __init__(self, order: Order, failed: Callable[[Exception], None]) -> None:
        self.order = order
        self._failed = failed
        self._waiting: list[Runnable] = []
        self._members: set[asyncio.Task[None]] = set()
        self._tasks: asyncio.TaskGroup | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    def add(self, runnable: Runnable) -> None:
        """Start the runnable with the group, or now if the group runs. Raises `Stopping`."""
        if self._closed:
            raise Stopping(f"{runnable.name} cannot be added: the group {self.order.value!r} stops")
        if self._tasks is None:
            self._waiting.append(runnable)
        else:
            self._launch(runnable)

    async def start(self) -> None:
        """Start what was added, and wait until all of it is ready. The caller watches for failures meanwhile.

        Raises:
            Stopping: it was stopped already. A group that was stopped before it started never starts (R 4, 41).
        """
        if self._closed:
            raise Stopping(f"the group {self.order.value!r} stops; it cannot start any more")
        opened = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep(opened), name=f"manager: group {self.order.value}")
        await opened.wait()
        waiting, self._waiting = self._waiting, []
        for runnable in waiting:
            self._launch(runnable)
        for runnable in waiting:
            if runnable.ready is not None:
                await self._awaited(runnable, runnable.ready)

    async def stop(self, deadline: float) -> tuple[asyncio.Task[Any], ...]:
        """Cancel everything and wait until the loop's clock shows `deadline`. Returns the tasks that still run."""
        self._closed = True
        if self._keeper is None:
            return ()
        self._keeper.cancel()
        await asyncio.wait([self._keeper], timeout=max(0.0, deadline - asyncio.get_running_loop().time()))
        return tuple(task for task in self._members if not task.done())

    def _launch(self, runnable: Runnable) -> None:
        assert self._tasks is not None, "only an open group launches"  # noqa: S101
        task = self._tasks.create_task(self._carry(runnable), name=runnable.name)
        self._members.add(task)
        task.add_done_callback(self._members.discard)

    async def _keep(self, opened: asyncio.Event) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                opened.set()
                await asyncio.get_running_loop().create_future()
        except BaseExceptionGroup as error:  # what is no `Exception` gets past `_carry`
            aborted = RunnableAborted(f"the group {self.order.value!r}", error.exceptions[0])
            aborted.__cause__ = error
            self._failed(aborted)
        finally:
            self._closed = True

    async def _carry(self, runnable: Runnable) -> None:
        try:
            await self._awaited(runnable, runnable.run)
        except Exception as error:  # noqa: BLE001  (handed on: the owner decides what follows)
            if isinstance(error, RunnableAborted) and isinstance(error.__cause__, asyncio.CancelledError):
                _log.warning(str(error), group=self.order.value)
            else:
                self._failed(error)

    async def _awaited(self, runnable: Runnable, function: Callable[[], Awaitable[None]]) -> None:
        """Await what the author of the runnable wrote. Whatever it raises names the runnable."""
        who = f"the runnable {runnable.name!r}"
        try:
            pending: object = function()
            if not isawaitable(pending):
                raise TypeError(f"{who} must be an async function; it answered {type(pending).__name__}")
            await pending
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self._closed or (task is not None and task.cancelling()):
                raise
            raise RunnableAborted(who, error) from error
        except BaseExceptionGroup as error:
            if isinstance(error, ExceptionGroup):
                error.add_note(f"raised by {who}")
                raise
            raise RunnableAborted(who, error) from error
        except Exception as error:
            error.add_note(f"raised by {who}")
            raise
