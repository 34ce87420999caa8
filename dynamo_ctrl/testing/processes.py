"""`ProcessLoop`: a virtual loop in which several processes live, each of which can be frozen, thawed or killed at any step.

Contract:

- A process is a name in the context of its tasks (`in_process`): whatever a task starts, schedules or waits for belongs to it.
- Callbacks run one by one. A step is one callback of a process: a task that is resumed, or a timer. Steps are counted for each
  process, and a plan (`at_step`) happens right before the step with that number.
- A frozen process takes no step, whatever happens around it; time and the other processes go on. Thawed, it goes on where it was:
  this is SIGSTOP and SIGCONT. A process that is never thawed is a crash.
- With a seed, which callback of those that are ready comes next is drawn from it.
- A run is the same each time: tasks come out of a set (those of a group that is cancelled) by their numbers, not by where they
  happen to lie in memory.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any, Final, TypeVar

from dynamo_ctrl.testing.virtual_loop import VirtualLoop

T = TypeVar("T")

WORLD: Final = ""
"""The process of everything that belongs to none: the test itself, and the server."""

PROCESS: Final = contextvars.ContextVar("PROCESS", default=WORLD)
"""The name of the process that runs."""


class _Numbered(asyncio.Task[T]):
    """A task with a place of its own in every set."""

    def __init__(self, number: int, coroutine: Coroutine[Any, Any, T], **options: Any) -> None:
        self._number = number  # first: the loop's list of tasks is a set as well
        super().__init__(coroutine, **options)

    def __hash__(self) -> int:
        return self._number


class ProcessLoop(VirtualLoop):
    """See the module.

    Args:
        seed: of the order of callbacks; `None` for the order in which they became ready.

    Attributes:
        steps: how many steps each process has taken.
    """

    _timer_cancelled_count: int
    _stopping: bool

    def __init__(self, seed: int | None = None) -> None:
        self.steps: Counter[str] = Counter()
        self._draw = None if seed is None else Random(seed)  # noqa: S311  (a schedule, not a secret)
        self._plans: dict[tuple[str, int], Callable[[], None]] = {}
        self._frozen: dict[str, deque[asyncio.Handle]] = {}
        super().__init__()
        self._numbers = count()
        self.set_task_factory(self._numbered)

    def _numbered(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        return _Numbered(next(self._numbers), coroutine, loop=loop, **options)

    def at_step(self, process: str, number: int, happens: Callable[[], None]) -> None:
        """Call `happens` right before the step of `process` with that number, counted from 1."""
        self._plans[process, number] = happens

    def freeze(self, process: str) -> None:
        """No step of that process until it is thawed. Idempotent."""
        self._frozen.setdefault(process, deque())

    def thaw(self, process: str) -> None:
        """That process goes on: what it missed comes now, in order. Idempotent."""
        self._ready.extend(self._frozen.pop(process, ()))

    def frozen(self, process: str) -> bool:
        """Whether that process stands still."""
        return process in self._frozen

    def _run_once(self) -> None:
        self._count_turn()
        while (handle := self._next()) is None:
            if self._stopping:
                return
            self.pass_time(self._patience())  # lets time pass, or finds that nothing can happen any more
        handle._run()  # noqa: SLF001  (as the loop of asyncio does)

    def _next(self) -> asyncio.Handle | None:
        """The callback that comes now."""
        self._ring()
        while self._ready:
            if self._draw is not None and len(self._ready) > 1:
                self._ready.rotate(-self._draw.randrange(len(self._ready)))
            handle = self._ready.popleft()
            if not handle.cancelled() and self._may_run(handle):
                return handle
        return None

    def _may_run(self, handle: asyncio.Handle) -> bool:
        process = handle._context.get(PROCESS, WORLD)  # type: ignore[attr-defined]  # noqa: SLF001
        if process == WORLD:
            return True
        if process not in self._frozen:
            self.steps[process] += 1
            plan = self._plans.pop((process, self.steps[process]), None) if self._plans else None
            if plan is not None:
                plan()
                if process in self._frozen:
                    self.steps[process] -= 1  # it comes when the process is thawed
        if process in self._frozen:
            self._frozen[process].append(handle)
            return False
        return True

    def _ring(self) -> None:
        """Timers that are due become ready."""
        now, scheduled = self.time(), self._scheduled
        while scheduled and (scheduled[0].cancelled() or scheduled[0].when() <= now):
            handle = heapq.heappop(scheduled)
            handle._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001
            if handle.cancelled():
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(handle)

    def _patience(self) -> float | None:
        """How long nothing will happen; `None` for ever."""
        return max(0.0, self._scheduled[0].when() - self.time()) if self._scheduled else None


def in_process(process: str, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that runs `main` as that process."""
    context = contextvars.Context()
    context.run(PROCESS.set, process)
    return asyncio.get_running_loop().create_task(main, name=process, context=context)
