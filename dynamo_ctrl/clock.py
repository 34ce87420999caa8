"""Time as an injected value. Nothing in the library asks the operating system for the time but through a `Clock`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Two kinds of time: `now` to write down, `monotonic` to measure with."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""

    def monotonic(self) -> float:
        """Seconds that only grow. Only differences mean something."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    monotonic = staticmethod(time.monotonic)
    """Seconds since some moment; never goes back. It is read three times for each reconcile: no call of ours in between."""


class ManualClock:
    """A clock that moves only when it is told to; for tests and scratch worlds."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The start moved on by what `advance` was told."""
        return datetime.fromtimestamp(self._start.timestamp() + self._elapsed, UTC)

    def monotonic(self) -> float:
        """Seconds advanced so far."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Move on. Raises `ValueError` when asked to go back."""
        if seconds < 0:
            raise ValueError(f"time does not go back ({seconds} s)")
        self._elapsed += seconds
