"""One open watch: an iterator over events that is bounded in memory and in time.

Contract: events come in the order of the server, decoded as the bytes arrive. More than `MAX_QUEUED` bytes that nobody has
taken stop the reading. The end that the server makes ends the iteration; silence longer than `idle`, or a server that does
not keep its own time-out, raises `Unanswered`; so does a connection that breaks. ERROR events are events.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from dynamo_ctrl.engine.errors import Unanswered
from dynamo_ctrl.engine.kubernetes.client import Answer
from dynamo_ctrl.engine.kubernetes.decode import event
from dynamo_ctrl.engine.kubernetes.lines import LineSplitter
from dynamo_ctrl.engine.port import WatchEvent

MAX_QUEUED: Final = 4 << 20
"""Bytes of events that wait to be taken before no more is read."""

GRACE: Final = 30.0
"""Seconds that a server may exceed the time-out that it was given."""


class Watching:
    """The events of one watch. Made from an open answer; iterated by one task."""

    def __init__(self, answer: Answer, *, idle: float, timeout: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer = answer
        self._idle = idle
        self._end = self._loop.time() + timeout + GRACE
        self._events: deque[WatchEvent] = deque()
        self._queued = 0
        self._splitter = LineSplitter(self._line)
        answer.take(self._splitter.feed)

    def __aiter__(self) -> Watching:
        return self

    async def __anext__(self) -> WatchEvent:
        if not self._events:
            await self._wait()
            if not self._events:
                raise StopAsyncIteration
        taken = self._events.popleft()
        over = self._queued > MAX_QUEUED
        self._queued -= len(taken.object)
        if over and self._queued <= MAX_QUEUED:
            self._answer.resume()
        return taken

    async def _wait(self) -> None:
        """Until there is an event, or no more will come."""
        now = self._loop.time()
        limit = min(self._end, now + self._idle) if self._idle else self._end
        try:
            async with asyncio.timeout_at(limit):
                while not self._events:
                    if not await self._answer.more():
                        self._splitter.end()
                        return
        except TimeoutError as error:
            silent = self._loop.time() - now
            raise Unanswered(f"the watch was silent for {silent:.0f} s; the connection is given up") from error

    def _line(self, line: bytes) -> None:
        arrived = event(line)
        self._events.append(arrived)
        self._queued += len(arrived.object)
        if self._queued > MAX_QUEUED:
            self._answer.pause()
