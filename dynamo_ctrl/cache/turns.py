"""`Turns`: the long works of one cache share the loop, so that nobody else waits longer than a slice.

All of them together keep the loop for one slice; then it turns, and the work that is next in line goes on. So a turn of the loop
holds one slice, however many lists are laid aside, indexes built and old contents given back at the same time.
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
        self._since: float | None = None

    def turn(self) -> Turn:
        """For one long work: `async with turns.turn() as turn`, and `await turn.breathe()` after each step of it."""
        return Turn(self, self._lock)

    async def work(self, steps: Iterator[object]) -> None:
        """Take all steps of a long work."""
        async with self.turn() as turn:
            for _ in steps:
                await turn.breathe()

    @property
    def over(self) -> bool:
        """Whether works have had their slice of this turn of the loop. Asking for the first time in it begins the slice."""
        if self._since is None:
            self._since = self._clock.monotonic()
            asyncio.get_running_loop().call_soon(self._turned)
            return False
        return self._clock.monotonic() - self._since >= self._slice

    def _turned(self) -> None:
        self._since = None


class Turn:
    """The right to keep the loop for what is left of its slice. Made by `Turns`."""

    __slots__ = ("_held", "_lock", "_turns")

    def __init__(self, turns: Turns, lock: asyncio.Lock) -> None:
        self._turns = turns
        self._lock = lock
        self._held = False

    async def __aenter__(self) -> Turn:
        try:
            await self._take()
        except BaseException:
            self._give()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give()

    async def breathe(self) -> None:
        """Give the loop back if the slice is used up, and then let those go first who have waited."""
        if self._turns.over:
            await self._rest()
            self._give()
            await self._take()

    async def _take(self) -> None:
        await self._lock.acquire()
        self._held = True
        await self._rest()

    async def _rest(self) -> None:
        """The right is kept meanwhile: nobody else may begin another slice in this turn of the loop."""
        if self._turns.over:
            await asyncio.sleep(0)

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._lock.release()
