"""`Delays`: the entries that become ready later, earliest first.

An entry that is moved to another time leaves its old record in the heap; the record is recognised as stale when it comes up, and
the heap is rebuilt when most of it is stale, so that its size stays within twice the number of waiting entries.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Generic, TypeVar

from dynamo_ctrl.queue.entry import Entry, State

K = TypeVar("K")

MAX_DELAY = 365 * 24 * 3600.0
"""The longest delay in seconds; longer ones are cut to it (R 4, 36)."""

_SLACK = 64


def clamp(delay: float) -> float:
    """`delay` within 0 and `MAX_DELAY`. Raises `ValueError` for something that is not a number."""
    if math.isnan(delay):
        raise ValueError("a delay must be a number of seconds, got NaN")
    return min(max(delay, 0.0), MAX_DELAY)


class Delays(Generic[K]):
    """A heap of waiting entries, ordered by `Entry.due`, then by the order of arrival.

    Attributes:
        earliest: no entry is due before; infinite when none waits.
    """

    __slots__ = ("_heap", "_sequence", "_waiting", "earliest")

    def __init__(self) -> None:
        self.earliest = math.inf
        self._heap: list[tuple[float, int, Entry[K]]] = []
        self._sequence = 0
        self._waiting = 0

    def __len__(self) -> int:
        """How many entries wait."""
        return self._waiting

    def put(self, entry: Entry[K], due: float) -> None:
        """Let `entry` wait until `due`. It may wait already: then it is moved."""
        if entry.state is not State.WAITING:
            self._waiting += 1
            entry.state = State.WAITING
        entry.due = due
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, entry))
        if len(self._heap) > 2 * self._waiting + _SLACK:
            self._heap = [item for item in self._heap if self._current(item)]
            heapq.heapify(self._heap)
        self.earliest = self._heap[0][0]

    def left(self) -> None:
        """A waiting entry was made ready by its owner; its record is stale from now on."""
        self._waiting -= 1

    def due(self, now: float) -> Iterator[Entry[K]]:
        """Take out the entries whose time has come, in order. The caller changes the state of each before the next."""
        while self._heap and self._heap[0][0] <= now:
            item = heapq.heappop(self._heap)
            if self._current(item):
                self._waiting -= 1
                yield item[2]
        self.earliest = self._heap[0][0] if self._heap else math.inf

    def next(self) -> float:
        """When the next entry is due; infinite if none waits."""
        while self._heap and not self._current(self._heap[0]):
            heapq.heappop(self._heap)
        self.earliest = self._heap[0][0] if self._heap else math.inf
        return self.earliest

    def clear(self) -> list[Entry[K]]:
        """Forget everything; the entries that waited."""
        waiting = [item[2] for item in self._heap if self._current(item)]
        self._heap, self._waiting, self.earliest = [], 0, math.inf
        return waiting

    @staticmethod
    def _current(item: tuple[float, int, Entry[K]]) -> bool:
        due, _, entry = item
        return entry.state is State.WAITING and entry.due == due
