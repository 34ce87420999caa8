"""`Fifo`: the plain order, first come, first served (R 3.6). Priorities are kept, and change nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from dynamo_ctrl.queue.entry import Entry, State

K = TypeVar("K")


class Fifo(Generic[K]):
    """An `Order` with one class. A key that is wanted while it runs is queued at the tail when it is done."""

    def __init__(self) -> None:
        self._places: deque[Entry[K]] = deque()

    def push(self, entry: Entry[K]) -> None:
        """At the tail."""
        self._places.append(entry)

    def pop(self, now: float) -> Entry[K] | None:
        """From the head."""
        del now
        return self._places.popleft() if self._places else None

    def reserve(self, entry: Entry[K]) -> None:
        """No place before the key is done."""

    def release(self, entry: Entry[K]) -> None:
        """At the tail."""
        entry.state = State.QUEUED
        self._places.append(entry)

    def withdraw(self, entry: Entry[K]) -> Entry[K]:
        """It has no place yet."""
        return entry

    def promote(self, entry: Entry[K], priority: int) -> Entry[K]:
        """Only written down."""
        entry.priority = priority
        return entry

    def more(self) -> bool:
        """Whether something is ready."""
        return bool(self._places)

    def depths(self) -> Iterable[tuple[str, int]]:
        """One class without a label, as client-go's classic queue has it."""
        return (("", len(self._places)),)

    def __len__(self) -> int:
        return len(self._places)
