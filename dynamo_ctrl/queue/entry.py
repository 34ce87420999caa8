"""`Entry`: one key that is known to a queue, with the state that it is in."""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, TypeVar

from dynamo_ctrl.queue.causes import Cause

K = TypeVar("K")


class State(IntEnum):
    """Where a key stands. A key without an entry is absent."""

    WAITING = 0
    """Absent for the workers; it becomes queued at `Entry.due`."""
    QUEUED = 1
    PROCESSING = 2
    DIRTY = 3
    """Processing, and something happened since: it is queued again when it is done."""


class Entry(Generic[K]):
    """A key in the queue. Handed out by `get`, given back by exactly one of the queue's ends of a run.

    Attributes:
        key: the key.
        causes: why this run happens, the first ones in order (see `MAX_CAUSES`).
        state: written by the queue only.
        due: when a waiting key becomes ready, or when a processing key is wanted again; infinite for never.
        queued_at: when it became ready.
        started_at: when it was handed out.
        run: the number of the run in its queue, from 1; 0 before the first.
    """

    __slots__ = ("causes", "due", "key", "later", "queued_at", "run", "started_at", "state")

    def __init__(self, key: K, state: State, at: float, causes: tuple[Cause, ...]) -> None:
        self.key = key
        self.state = state
        self.due = at
        self.queued_at = at
        self.causes = causes
        self.later: tuple[Cause, ...] = ()
        self.started_at = 0.0
        self.run = 0

    def __repr__(self) -> str:
        return f"<Entry {self.key} {self.state.name.lower()}>"
