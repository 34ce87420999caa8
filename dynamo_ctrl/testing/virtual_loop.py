"""`VirtualLoop`: an event loop in which time passes only when nothing else is left to do.

Contract:

- `loop.time()` is a number. When no callback is ready it jumps to the next timer: a day of sleeps takes milliseconds.
- When nothing is ready and no timer is armed, `Deadlock` is raised; it names every task and the line where it hangs.
- With a seed, callbacks that are ready at the same moment run in an order drawn from it. The same seed gives the same run.
- Threads and sockets do not belong here: `run_in_executor` raises, and nothing ever becomes readable.

`run` closes the loop in any case and fails on tasks that are still there at the end.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections import deque
from collections.abc import Coroutine, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

ITERATIONS: Final = 1_000_000
"""Turns of the loop in one run; more means that it will not come to an end."""

RESOLUTION: Final = time.get_clock_info("monotonic").resolution
"""What the loops of asyncio take for one moment, in seconds."""

SETTLE_TURNS: Final = 10_000
"""Turns that `settle` waits for."""


class Deadlock(RuntimeError):
    """Every task waits for something that cannot happen any more."""


class Livelock(RuntimeError):
    """The loop turns and turns and does not come to an end."""


class TaskLeak(RuntimeError):
    """Tasks were still there when the main coroutine had ended."""


class LoopErrors(RuntimeError):
    """Errors that reached nobody but the loop's exception handler."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop in virtual time; see the module's contract."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, seed: int | None = None) -> None:
        self._now = 0.0
        self._order = None if seed is None else Random(seed)  # noqa: S311  (a schedule, not a secret)
        self._turns = 0
        self.errors: list[Mapping[str, Any]] = []
        super().__init__(_NoWorld(self))
        self.set_exception_handler(lambda _, context: self.errors.append(context))

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        """Raises: a thread would make the run depend on real time."""
        raise RuntimeError(f"{func!r} was given to a thread; the virtual loop has none")

    def _run_once(self) -> None:
        self._count_turn()
        if self._order is not None and len(self._ready) > 1:
            ready = list(self._ready)
            self._order.shuffle(ready)
            self._ready.clear()
            self._ready.extend(ready)
        self._finish_moment()
        super()._run_once()  # type: ignore[misc]  # private in every version since 3.4; tests/…/test_virtual_loop.py guards it

    def pass_time(self, seconds: float | None) -> None:
        """Nothing is ready for so long; `None` for ever. Raises `Deadlock` then."""
        if seconds is None:
            raise Deadlock(f"nothing is left to happen:\n{_where(asyncio.all_tasks(self))}")
        self._now += seconds

    def _finish_moment(self) -> None:
        """What is due within the clock's resolution counts as due: real time passes meanwhile, here it would stand for ever."""
        if not self._ready and self._scheduled and self._now < self._scheduled[0].when() <= self._now + RESOLUTION:
            self._now = self._scheduled[0].when()

    def _count_turn(self) -> None:
        self._turns += 1
        if self._turns > ITERATIONS:
            raise Livelock(
                f"{ITERATIONS} turns, at {self._now:.3f} s of virtual time:\n{_where(asyncio.all_tasks(self))}"
            )


class LoopClock:
    """A `Clock` that follows the running loop, virtual or not."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The start, moved on by the loop's time."""
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """The loop's time."""
        return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T], *, seed: int | None = None, debug: bool = False) -> T:
    """Run `main` on a virtual loop of its own; raises what `run_on` raises."""
    return run_on(VirtualLoop(seed), main, debug=debug)


def run_on(loop: VirtualLoop, main: Coroutine[Any, Any, T], *, debug: bool = False) -> T:
    """Run `main` on `loop`, which is closed then.

    Raises:
        Deadlock, Livelock: see the module's contract.
        TaskLeak: it left tasks behind.
        LoopErrors: an error reached only the loop's exception handler.
    """
    with asyncio.Runner(loop_factory=lambda: loop, debug=debug) as runner:
        result = runner.run(main)
        check_leaks(loop)
    if loop.errors:
        raise LoopErrors("; ".join(f"{e.get('message')}: {e.get('exception')!r}" for e in loop.errors))
    return result


def check_leaks(loop: asyncio.AbstractEventLoop) -> None:
    """Raises `TaskLeak` if a task of `loop` is still there."""
    leaked = [task for task in asyncio.all_tasks(loop) if not task.done()]
    if leaked:
        raise TaskLeak(f"{len(leaked)} task(s) left behind:\n{_where(leaked)}")


async def settle() -> None:
    """Wait until no other callback is ready; time does not pass. Raises `Livelock` if that does not come."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise RuntimeError("settle() needs the virtual loop")
    for _ in range(SETTLE_TURNS):
        await asyncio.sleep(0)
        if not loop._ready:  # noqa: SLF001  (our own subclass)
            return
    raise Livelock(f"not idle after {SETTLE_TURNS} turns:\n{_where(asyncio.all_tasks(loop))}")


class _NoWorld(selectors.BaseSelector):
    """A selector in which nothing ever happens, so that waiting means passing time."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key = selectors.SelectorKey(fileobj, number, events, data)
        self._keys[fileobj] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._loop.pass_time(timeout)
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return MappingProxyType(self._keys)

    def close(self) -> None:
        self._keys.clear()


def _where(tasks: Iterable[asyncio.Task[Any]]) -> str:
    lines = []
    for task in sorted(tasks, key=lambda task: task.get_name()):
        frames = task.get_stack()
        place = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "nowhere"
        lines.append(f"  {task.get_name()} ({getattr(task.get_coro(), '__qualname__', '?')}) at {place}")
    return "\n".join(lines)
