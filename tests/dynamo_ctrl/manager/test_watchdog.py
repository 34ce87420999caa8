"""The watchdog of the loop: what it counts, whom it names, and how much it says. Its time is real."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.manager.watchdog import MAX_LINES, Watchdog

pytestmark = pytest.mark.real_loop


PATIENCE = 20.0
"""Seconds for anything here to happen."""

LASTING = "the loop stands still"


class Bench:
    def __init__(self, threshold: float = 0.05) -> None:
        self.lines = LogCapture()
        log = structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger)
        self.watchdog = Watchdog(threshold, log)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.watchdog.run())
        await asyncio.sleep(0.05)
        try:
            yield
            await asyncio.sleep(0.05)
        finally:
            task.cancel()
            await asyncio.wait([task])


def the_offender(seconds: float, until: Callable[[], bool] = lambda: True) -> None:
    """Hold the loop for so long, and until something has come of it, however busy the machine is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end or not until():
        time.sleep(0.002)
        assert time.monotonic() < end + PATIENCE


async def test_r4_14_a_stall_is_counted_and_logged_with_the_stack_of_the_offender() -> None:
    bench = Bench()
    async with bench.watching():
        the_offender(0.3, until=lambda: "the_offender" in bench.watchdog._sample[1])
    assert bench.watchdog.stalls >= 1
    assert bench.watchdog.longest > 0.2
    line = next(line for line in bench.lines.entries if "the_offender" in line["stack"])
    assert line["event"] == "the loop stood still"
    assert line["seconds"] > 0.2
    assert "in the_offender" in line["stack"].splitlines()[-2]


async def test_a_loop_that_moves_is_left_alone() -> None:
    bench = Bench(threshold=5.0)
    async with bench.watching():
        for _ in range(20):
            the_offender(0.01)
            await asyncio.sleep(0)
    assert bench.watchdog.stalls == 0
    assert bench.lines.entries == []


async def test_a_stall_that_does_not_end_is_told_while_it_lasts() -> None:
    bench = Bench(threshold=0.004)
    async with bench.watching():
        the_offender(0.4, until=lambda: any(line["event"] == LASTING for line in bench.lines.entries))
        while_it_lasts = [line for line in bench.lines.entries if line["event"] == LASTING]
    assert "the_offender" in while_it_lasts[0]["stack"]
    assert while_it_lasts[0]["log_level"] == "error"


async def test_lines_are_bounded_and_everything_is_counted() -> None:
    bench = Bench(threshold=0.004)
    async with bench.watching():
        for _ in range(MAX_LINES + 10):
            the_offender(0.012)
            await asyncio.sleep(0.004)
    told = [line for line in bench.lines.entries if line["event"] == "the loop stood still"]
    assert len(told) <= MAX_LINES
    assert bench.watchdog.stalls > MAX_LINES


async def test_what_holds_the_interpreter_itself_is_counted_too() -> None:
    bench = Bench(threshold=0.01)
    async with bench.watching():
        assert sum(range(5_000_000)) > 0  # one call that no other thread can interrupt
    assert bench.watchdog.stalls >= 1


async def test_no_thread_is_left() -> None:
    bench = Bench()
    async with bench.watching():
        assert "loop watchdog" in {thread.name for thread in threading.enumerate()}
    assert "loop watchdog" not in {thread.name for thread in threading.enumerate()}


def stalled(ran: float, taken_away: int, *, sampled: bool) -> dict[str, object]:
    """What is logged of a stall of one second in which the thread ran and lost the processor that much."""
    bench = Bench(threshold=0.1)
    if sampled:
        bench.watchdog._sample = (5.0, "in the_offender")
    bench.watchdog._stalled(5.0, 6.0, ran, taken_away)
    (line,) = bench.lines.entries
    return dict(line)


@pytest.mark.parametrize(
    ("ran", "taken_away", "sampled", "level", "stack"),
    [
        (0.9, 3, True, "warning", "in the_offender"),
        (0.0, 0, True, "warning", "in the_offender"),
        (0.2, 5, True, "info", "in the_offender"),
        (0.2, 5, False, "info", "unknown: the process did not run"),
        (0.9, 5, False, "warning", "unknown: the interpreter itself was held"),
    ],
    ids=["busy code", "a call that blocks", "a busy machine", "a busy machine, unseen", "the interpreter was held"],
)
async def test_what_a_busy_machine_did_is_no_warning(
    ran: float, taken_away: int, sampled: bool, level: str, stack: str
) -> None:
    line = stalled(ran, taken_away, sampled=sampled)
    assert (line["log_level"], line["stack"], line["processor_seconds"]) == (level, stack, ran)
