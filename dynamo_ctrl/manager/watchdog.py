"""`Watchdog`: finds out when the loop stands still, for how long, and who holds it up.

Contract (R 4, 14):

- The loop measures itself: a timer that comes late by more than the threshold is a stall, and is counted. So nothing is missed,
  not even what holds the interpreter itself.
- A thread takes the stack of the loop's thread when the timer is overdue by the threshold. A stall is logged with that stack when
  it is over; one that does not end is logged while it lasts.
- The log tells what kind of stall it was by the processor time that the loop's thread got. One that was kept waiting by a busy
  machine, not by a call that blocks, is nobody's fault here: it is counted, and logged as information.
- Lines are bounded: `MAX_LINES` in `LINES_PERIOD`; further stalls are only counted.
- Between the threads go immutable values only, by assignment.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from typing import NamedTuple

import structlog
from structlog.typing import FilteringBoundLogger

TICKS = 4
"""Ticks of the loop in the time of the threshold: how exactly a stall is measured."""

HANGS = 50
"""After so many thresholds a stall is logged although it has not ended."""

MAX_LINES, LINES_PERIOD = 10, 60.0
"""At most so many lines in so many seconds."""

MAX_FRAMES = 12
"""Frames of a stack that are told, the innermost ones."""


class _Processor(NamedTuple):
    """What the calling thread got of a processor so far: the time, and how often it was taken away (0 where nobody tells)."""

    seconds: float
    taken_away: int


if sys.platform == "linux":
    import resource

    def _processor() -> _Processor:
        usage = resource.getrusage(resource.RUSAGE_THREAD)
        return _Processor(usage.ru_utime + usage.ru_stime, usage.ru_nivcsw)

else:

    def _processor() -> _Processor:
        return _Processor(time.thread_time(), 0)


class Watchdog:
    """Watches the loop that runs it, in real time.

    Args:
        threshold: seconds; a longer stall is told.
        log: where to.

    Attributes:
        stalls: how many there were.
        longest: seconds of the longest.
    """

    def __init__(self, threshold: float, log: FilteringBoundLogger | None = None) -> None:
        self.stalls = 0
        self.longest = 0.0
        self._threshold = threshold
        self._period = threshold / TICKS
        self._log: FilteringBoundLogger = log if log is not None else structlog.get_logger()
        self._lines: deque[float] = deque(maxlen=MAX_LINES)
        self._due = 0.0
        self._sample: tuple[float, str] = (0.0, "")

    async def run(self) -> None:
        """Watch until cancelled."""
        stopping = threading.Event()
        self._due = time.monotonic() + self._period
        before = _processor()
        loop_thread = threading.get_ident()
        thread = threading.Thread(target=self._look, args=(stopping, loop_thread), name="loop watchdog", daemon=True)
        thread.start()
        try:
            while True:
                due = self._due
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                now = time.monotonic()
                after = _processor()
                if now - due > self._threshold:
                    self._stalled(due, now, after.seconds - before.seconds, after.taken_away - before.taken_away)
                self._due, before = now + self._period, after
        finally:
            stopping.set()
            thread.join()  # it wakes at once, and looks at most once more

    def _stalled(self, due: float, now: float, ran: float, taken_away: int) -> None:
        self.stalls += 1
        seconds = now - due
        self.longest = max(self.longest, seconds)
        sampled, stack = self._sample
        if len(self._lines) == MAX_LINES and now - self._lines[0] < LINES_PERIOD:
            return
        self._lines.append(now)
        waited = taken_away > 0 and ran < seconds / 2
        if sampled != due:
            stack = "unknown: the process did not run" if waited else "unknown: the interpreter itself was held"
        tell = self._log.info if waited else self._log.warning
        tell("the loop stood still", seconds=round(seconds, 3), processor_seconds=round(ran, 3), stack=stack)

    # -- on the thread

    def _look(self, stopping: threading.Event, loop_thread: int) -> None:
        sampled = told = 0.0
        pause = self._threshold
        while not stopping.wait(pause):
            due = self._due
            late = time.monotonic() - due
            if late < self._threshold:  # the loop ticks: come back when this tick would be overdue
                pause = self._threshold - late
                continue
            pause = self._threshold
            if sampled != due:
                sampled = due
                self._sample = (due, _stack(loop_thread))
            if told != due and late >= self._threshold * HANGS:
                told = due
                with suppress(Exception):  # a log that fails must not end the watch
                    self._log.error("the loop stands still", seconds=round(late, 3), stack=_stack(loop_thread))


def _stack(thread: int) -> str:
    """Where that thread is, the innermost frame last."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001  (the documented way to another thread's frame)
    if frame is None:
        return ""
    summary = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=MAX_FRAMES, lookup_lines=False)
    summary.reverse()
    return "".join(summary.format()).rstrip()
