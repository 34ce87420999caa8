"""`Entry`: one wish of a key to run, from the first add to the end of its run."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Generic, TypeVar

from msgspec import Struct

from dynamo_ctrl.queue.causes import MAX_CAUSES, Cause

K = TypeVar("K")

NORMAL = 0
"""The priority of an add that does not say otherwise."""

LOW = -100
"""The priority of initial objects, and of everything else that nothing happened to just now."""


class State(IntEnum):
    """Where an entry stands. A key without an entry is absent."""

    WAITING = 0
    """Absent for the workers; it becomes ready at `Entry.due`."""
    QUEUED = 1
    """Ready to be handed out."""
    LOCKED = 2
    """Ready, but its key runs: it can be handed out when that run has ended."""
    RUNNING = 3
    """Handed out."""
    ENDED = 4
    """Its run is over."""
    MOVED = 5
    """Given up for another entry of the same key, which stands elsewhere; its old place is passed over."""


class Entry(Struct, Generic[K], gc=False, eq=False):
    """A key in the queue. Handed out by `get`, given back by exactly one of the queue's ends of a run.

    Attributes:
        key: the key.
        queued_at: when it became ready (while it waits: when it was added).
        cause: why this run happens; `None` when nobody said.
        others: further causes in order.
        priority: the highest that was asked for.
        state: written by the queue only.
        due: when a waiting entry becomes ready.
        started_at: when it was handed out.
        ended_at: when its run ended.
        run: the number of the run in its queue, from 1; 0 before the first.
        fresh: a new spec, a deletion or a new API is behind it: such an entry may go before the back-off is over, once.
        place: orders the entries that were passed over because their key ran.
        successor: what is wanted of the key while this entry runs.
        outcome: a word for what came of the run, and `error` its text; for people, written by who ends the run.
    """

    key: K
    queued_at: float
    cause: Cause | None = None
    priority: int = NORMAL
    state: State = State.QUEUED
    due: float = math.inf
    started_at: float = 0.0
    ended_at: float = 0.0
    run: int = 0
    fresh: bool = False
    place: int = 0
    others: tuple[Cause, ...] = ()
    successor: Entry[K] | None = None
    outcome: str = "success"
    error: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All causes, the first ones in order (see `MAX_CAUSES`)."""
        return () if self.cause is None else (self.cause, *self.others)

    def because(self, cause: Cause | None) -> None:
        """One more cause, unless it is known or there are enough."""
        if self.cause is None:
            self.cause = cause
        elif (
            cause is not None and cause != self.cause and cause not in self.others and len(self.others) < MAX_CAUSES - 1
        ):
            self.others = (*self.others, cause)

    def moved(self, priority: int) -> Entry[K]:
        """The same wish with another priority; this entry is given up."""
        state, self.state = self.state, State.MOVED
        return Entry(
            self.key, self.queued_at, self.cause, priority, state, self.due, fresh=self.fresh, others=self.others
        )

    def __repr__(self) -> str:
        return f"<Entry {self.key} {self.state.name.lower()}>"
