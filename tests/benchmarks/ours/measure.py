"""Clocks, memory, and the one line of JSON that is the answer of a measurement."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import re
import resource
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import structlog

MIN_SECONDS: Final = 1.0
"""A figure of single operations takes at least so long."""


def cpu() -> float:
    """Seconds of CPU that this process has used, user and system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory(field: str) -> int:
    """Bytes: `VmRSS` is what is resident, `VmHWM` the most that ever was."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def collected() -> int:
    """Resident bytes after a collection."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return memory("VmRSS")


def emit(**answer: Any) -> None:
    """Print the answer."""
    print(json.dumps({"impl": "dynamo_ctrl", **answer}), flush=True)


async def until(condition: Callable[[], bool], *, every: float = 0.01) -> None:
    """Ask again and again, as the peers do."""
    while not condition():  # noqa: ASYNC110  (nobody tells us)
        await asyncio.sleep(every)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on the loop that the binary runs on, with a log that tells warnings only (the peers have none)."""
    import uvloop

    configure_log()
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(main)


def configure_log() -> None:
    """Warnings only, on standard error."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def fail(reason: str) -> None:
    """End without an answer."""
    sys.exit(reason)


def per_operation(operation: Callable[[int], object], seconds: float = MIN_SECONDS) -> dict[str, float]:
    """Nanoseconds of `operation(i)` for i = 0, 1, 2, ..., over at least that many seconds."""
    count = 1
    while True:
        numbers = range(count)
        began = time.perf_counter()
        for i in numbers:
            operation(i)
        took = time.perf_counter() - began
        if took >= seconds:
            return {"ns": took / count * 1e9, "ops": count}
        count = max(count + 1, min(count * 100, int(count * 1.2 * seconds / max(took, 1e-6))))


class Ticker:
    """Records the gaps between the ticks of a task that wants to run each millisecond."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            self._gaps.append((now - last) * 1e3)
            last = now

    def finish(self) -> dict[str, float]:
        """Stop, and tell the gaps in milliseconds."""
        self._task.cancel()
        gaps = sorted(self._gaps) or [0.0]

        def at(share: float) -> float:
            return gaps[min(len(gaps) - 1, int(share * len(gaps)))]

        return {
            "max_ms": at(1), "p99_ms": at(0.99), "p999_ms": at(0.999), "ticks": len(gaps),
            "over_10ms": sum(gap > 10 for gap in gaps), "over_50ms": sum(gap > 50 for gap in gaps),
        }  # fmt: skip
