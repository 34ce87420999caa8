"""`Lane`: the ready entries of one priority, in the order in which they came.

Entries whose key runs keep their place: when the head of the lane is locked it is passed over, and stands in front of everybody
else as soon as its key is done. An entry that was moved to another lane leaves a mark, which is thrown away when it comes up, or
when more than half of the lane are marks.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Generic, TypeVar

from dynamo_ctrl.queue.entry import Entry, State

K = TypeVar("K")

SLACK = 64
"""How many marks a lane may hold before it looks whether they are too many."""

_QUEUED, _LOCKED = State.QUEUED, State.LOCKED


class Lane(Generic[K]):
    """One class of priority.

    Attributes:
        priority: of all its entries.
        label: what its depth is told as.
        listed: whether its owner knows that it may hold something.
        dated: whether its owner keeps a date of its head.
        places: the entries in order. Its owner may append a queued one, and take the first if `front` is empty and it is queued.
        front: entries that were passed over once and are free again; they go before all others.
    """

    __slots__ = ("_locked", "_marks", "_passed", "dated", "front", "label", "listed", "places", "priority")

    def __init__(self, priority: int, label: str) -> None:
        self.priority = priority
        self.label = label
        self.listed = False
        self.dated = False
        self.places: deque[Entry[K]] = deque()
        self.front: list[tuple[int, Entry[K]]] = []
        self._passed = 0
        self._marks = 0
        self._locked = 0  # those that still stand in `places`

    def __len__(self) -> int:
        """How many entries can be handed out now."""
        return len(self.places) + len(self.front) - self._marks - self._locked

    def reserve(self, entry: Entry[K]) -> None:
        """A locked entry gets the last place."""
        self.places.append(entry)
        self._locked += 1

    def take(self) -> Entry[K] | None:
        """The first entry that is not locked."""
        places = self.places
        while not self.front:
            if not places:
                return None
            entry = places.popleft()
            if entry.state is _QUEUED:
                return entry
            self.skip(entry)
        while self.front:
            entry = heapq.heappop(self.front)[1]
            if entry.state is _QUEUED:
                return entry
            self._marks -= 1
        return self.take()

    def head(self) -> Entry[K] | None:
        """What `take` would take."""
        while self.front:
            entry = self.front[0][1]
            if entry.state is _QUEUED:
                return entry
            heapq.heappop(self.front)
            self._marks -= 1
        while self.places:
            entry = self.places[0]
            if entry.state is _QUEUED:
                return entry
            self.skip(self.places.popleft())
        return None

    def skip(self, entry: Entry[K]) -> None:
        """An entry that is not queued was taken out of `places`."""
        if entry.state is _LOCKED:
            self._locked -= 1
            self._passed += 1
            entry.place = self._passed
        else:
            self._marks -= 1

    def release(self, entry: Entry[K]) -> None:
        """A locked entry of this lane is free."""
        entry.state = _QUEUED
        if entry.place:
            heapq.heappush(self.front, (entry.place, entry))
        else:
            self._locked -= 1

    def leave(self, entry: Entry[K], priority: int) -> Entry[K]:
        """A queued or locked entry of this lane gets another priority, and no place. Returns the one that stands for it."""
        if entry.state is _QUEUED:
            self._marks += 1
        elif not entry.place:
            self._locked -= 1
            self._marks += 1
        instead = entry.moved(priority)
        if self._marks > SLACK and self._marks > len(self):
            self.places = deque(place for place in self.places if place.state is not State.MOVED)
            self.front = [place for place in self.front if place[1].state is not State.MOVED]
            heapq.heapify(self.front)
            self._marks = 0
        return instead
