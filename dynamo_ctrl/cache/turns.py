"""`Turns`: the long works of one cache share the loop, so that nobody else waits longer than a slice.

One work runs at a time, for a slice; then the loop turns, and the next work in line has its slice. So a turn of the loop holds
one slice, however many lists are laid aside, indexes built and old contents given back at the same time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import TracebackType

from dynamo_ctrl.clock import Clock


class Turns:
    """Hands out turns.

    Args:
        clock: what measures.
        slice_seconds: how long the loop may be kept.
    """

    def __init__(self, clock: Clock, slice_seconds: float = 0.004) -> None:
        self._clock = clock
        self._slice = slice_seconds
        self._lock = asyncio.Lock()

    def turn(self) -> Turn:
        """For one long work: `async with turns.turn() as turn`, and `await turn.breathe()` after each step of it."""
        return Turn(self._clock, self._slice, self._lock)

    async def work(self, steps: Iterator[object]) -> None:
        """Take all steps of a long work."""
        async with self.turn() as turn:
            for _ in steps:
                await turn.breathe()


class Turn:
    """The right to keep the loop for a slice. Made by `Turns`."""

    __slots__ = ("_clock", "_held", "_lock", "_since", "_slice")

    def __init__(self, clock: Clock, slice_seconds: float, lock: asyncio.Lock) -> None:
        self._clock = clock
        self._slice = slice_seconds
        self._lock = lock
        self._held = False
        self._since = 0.0

    async def __aenter__(self) -> Turn:
        await self._take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            self._give()

    async def breathe(self) -> None:
        """Give the loop back if the slice is used up."""
        if self._clock.monotonic() - self._since >= self._slice:
            self._give()
            await asyncio.sleep(0)
            await self._take()

    async def _take(self) -> None:
        await self._lock.acquire()
        self._held = True
        self._since = self._clock.monotonic()

    def _give(self) -> None:
        self._held = False
        self._lock.release()
