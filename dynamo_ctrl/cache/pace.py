"""`Pace`: long work gives the loop back in between, so that nobody else waits longer than a slice."""

from __future__ import annotations

import asyncio

from dynamo_ctrl.clock import Clock


class Pace:
    """Counts the time since the loop was last given back.

    Args:
        clock: what measures.
        slice_seconds: how long the loop may be kept.
    """

    def __init__(self, clock: Clock, slice_seconds: float = 0.005) -> None:
        self._clock = clock
        self._slice = slice_seconds
        self._since = clock.monotonic()

    def restart(self) -> None:
        """The task was suspended a moment ago; a new slice begins."""
        self._since = self._clock.monotonic()

    @property
    def over(self) -> bool:
        """Whether the slice is used up."""
        return self._clock.monotonic() - self._since >= self._slice

    async def breathe(self) -> None:
        """Give the loop back if the slice is used up."""
        if self.over:
            await asyncio.sleep(0)
            self._since = self._clock.monotonic()
