"""`Priorities`: the order of controller-runtime's queue (R 3.6), with an end to starving (R 4, 29).

- The highest priority goes first; within one priority, who became ready first.
- A raised entry stands at the end of its new class. An entry whose key runs keeps its place.
- What has waited longer than `Ageing.patience` is no longer at the mercy of its priority: one hand-out in `Ageing.share` goes to
  the class whose head has waited longest. So an entry with k entries before it (those of its class, and older ones of others)
  is handed out after at most (k + 1) * share hand-outs from then on, whatever else is added meanwhile.
- Adding and taking cost O(log c), c being the number of different priorities that are ready.
- At most 25 priorities are told apart in metrics; the others share one label (R 4, 28).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from dynamo_ctrl.queue.entry import NORMAL, Entry, State
from dynamo_ctrl.queue.lane import Lane

K = TypeVar("K")

_QUEUED = State.QUEUED

MAX_LABELS = 25
OVERFLOW = "exceeded_cardinality_limit"
"""The label of every further priority (controller-runtime's word)."""

_CROWD = 64
"""How many lanes there may be before empty ones are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing:
    """When a low priority stops counting.

    Attributes:
        patience: seconds that an entry may be overtaken by higher priorities.
        share: of so many hand-outs one goes to who has waited longest, once patience is over.
    """

    patience: float = 30.0
    share: int = 4

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        if not self.patience >= 0:
            raise ValueError(f"patience: must not be negative, got {self.patience}")
        if self.share < 1:
            raise ValueError(f"share: must be at least 1, got {self.share}")


AGEING = Ageing()


class Priorities(Generic[K]):
    """An `Order` with classes."""

    def __init__(self, ageing: Ageing = AGEING) -> None:
        self._patience = ageing.patience
        self._share = ageing.share
        self._turn = 0
        self._lanes: dict[int, Lane[K]] = {}
        self._crowd = _CROWD
        self._labels: dict[int, str] = {}
        self._ranks: list[
            tuple[int, Lane[K]]
        ] = []  # a heap: listed lanes by negated priority; empty ones are found out lazily
        self._dates: list[tuple[float, int]] = []  # a heap: for each dated lane, no later than its head became ready
        self._open(NORMAL)  # so that its depth is told from the start

    # -- places

    def push(self, entry: Entry[K]) -> None:
        """At the end of its class."""
        lane = self._lanes.get(entry.priority)
        if lane is None:
            lane = self._open(entry.priority)
        lane.places.append(entry)
        if not lane.listed:
            self._list(lane, entry)

    def pop(self, now: float) -> Entry[K] | None:
        """The head of the highest class, or of the one that has waited too long."""
        ranks = self._ranks
        if len(ranks) > 1:
            self._turn += 1
            if self._turn >= self._share:
                self._turn = 0
                aged = self._aged(now - self._patience)
                if aged is not None:
                    return aged.take()
        while ranks:
            lane = ranks[0][1]
            if not lane.front and lane.places:
                first = lane.places.popleft()
                if first.state is _QUEUED:
                    return first
                lane.skip(first)
            entry = lane.take()
            if entry is not None:
                return entry
            self._unlist(lane)
        return None

    def reserve(self, entry: Entry[K]) -> None:
        """It has its place from now on."""
        lane = self._lane(entry.priority)
        lane.reserve(entry)
        if not lane.listed:
            self._list(lane, entry)

    def release(self, entry: Entry[K]) -> None:
        """At the place that it has."""
        lane = self._lane(entry.priority)
        lane.release(entry)
        if not lane.listed:
            self._list(lane, entry)

    def withdraw(self, entry: Entry[K]) -> Entry[K]:
        """Its place is passed over from now on."""
        return self._lane(entry.priority).leave(entry, entry.priority)

    def promote(self, entry: Entry[K], priority: int) -> Entry[K]:
        """At the end of the new class."""
        instead = self._lane(entry.priority).leave(entry, priority)
        if instead.state is _QUEUED:
            self.push(instead)
        else:
            self.reserve(instead)
        return instead

    # -- classes

    def _lane(self, priority: int) -> Lane[K]:
        lane = self._lanes.get(priority)
        return lane if lane is not None else self._open(priority)

    def _open(self, priority: int) -> Lane[K]:
        if len(self._lanes) >= self._crowd:
            self._sweep()
        label = self._labels.get(priority)
        if label is None:
            label = OVERFLOW
            if len(self._labels) < MAX_LABELS:
                label = self._labels[priority] = str(priority)
        lane = self._lanes[priority] = Lane(priority, label)
        return lane

    def _list(self, lane: Lane[K], first: Entry[K]) -> None:
        lane.listed = True
        heapq.heappush(self._ranks, (-lane.priority, lane))
        if not lane.dated:
            lane.dated = True
            heapq.heappush(self._dates, (first.queued_at, lane.priority))

    def _unlist(self, lane: Lane[K]) -> None:
        """The first lane is empty."""
        heapq.heappop(self._ranks)
        lane.listed = False

    def _sweep(self) -> None:
        """Forget the lanes that nobody stands in, but for those with a label of their own."""
        kept = {p: lane for p, lane in self._lanes.items() if lane.places or lane.front or p in self._labels}
        self._lanes = kept
        self._ranks = [rank for rank in self._ranks if rank[1].priority in kept]
        self._dates = [date for date in self._dates if date[1] in kept]
        heapq.heapify(self._ranks)
        heapq.heapify(self._dates)
        self._crowd = 2 * len(kept) + _CROWD

    def _aged(self, limit: float) -> Lane[K] | None:
        """The lane whose head has been ready longest, if that is since before `limit`."""
        dates = self._dates
        while dates and dates[0][0] <= limit:
            known, priority = dates[0]
            lane = self._lanes[priority]
            head = lane.head()
            if head is None:
                heapq.heappop(dates)
                lane.dated = False
            elif head.queued_at <= known:
                return lane
            else:
                heapq.heapreplace(dates, (head.queued_at, priority))
        return None

    # -- what is in it

    def more(self) -> bool:
        """Whether something may be ready."""
        ranks = self._ranks
        return bool(ranks) and (len(ranks) > 1 or bool(ranks[0][1].places or ranks[0][1].front))

    def depths(self) -> Iterable[tuple[str, int]]:
        """By priority; those without a label of their own are added up."""
        depths = dict.fromkeys(self._labels.values(), 0)
        for lane in self._lanes.values():
            depths[lane.label] = depths.get(lane.label, 0) + len(lane)
        return depths.items()

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())
