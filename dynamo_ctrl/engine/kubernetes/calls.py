"""The calls under way: each has a deadline, and closing the engine ends them all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dynamo_ctrl.engine.errors import Unanswered, Unreachable

T = TypeVar("T")

Remaining = Callable[[], float]
"""Seconds that are left of a call."""


class Calls:
    """The calls of one engine."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._under_way: set[asyncio.Timeout] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.closed = False

    async def call(self, seconds: float, what: str, work: Callable[[Remaining], Awaitable[T]]) -> T:
        """What `work` comes to, which may take `seconds`, whatever it waits for.

        Raises:
            Unreachable: the engine is closed, or was closed meanwhile.
            Unanswered: the time is over.
        """
        if self.closed:
            raise Unreachable(f"{what}: the engine is closed")
        timeout = asyncio.timeout(seconds)
        end = self._loop.time() + seconds
        try:
            async with timeout:
                self._under_way.add(timeout)
                self._idle.clear()
                return await work(lambda: end - self._loop.time())
        except TimeoutError as error:
            if self.closed:
                raise Unreachable(f"{what}: the engine was closed") from error
            raise Unanswered(f"{what}: no answer within {seconds:g} s") from error
        finally:
            self._under_way.discard(timeout)
            if not self._under_way:
                self._idle.set()

    async def close(self) -> None:
        """End every call and wait until the last of them has cleaned up."""
        self.closed = True
        for timeout in self._under_way:
            timeout.reschedule(self._loop.time())
        await self._idle.wait()
