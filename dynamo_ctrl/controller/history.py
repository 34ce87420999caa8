"""What a controller remembers for people who ask why: the last run of each key, and the last changes of its sources.

Both are bounded, and nothing is decided with them. Paths are found out when somebody asks, not before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.context import reconcile_id
from dynamo_ctrl.objects.difference import changed_paths
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import Entry

KEYS = 10_000
"""Of how many keys the last run is kept at least, and of twice as many at most; those that ran last."""

CHANGES = 1_024
CHANGES_BYTES = 8 * 1024 * 1024
"""How many changes are kept, and how long the texts of both sides may be together."""


class History:
    """The last run of each key.

    Args:
        keys: see `KEYS`.
    """

    def __init__(self, keys: int = KEYS) -> None:
        self._limit = keys
        self._young: dict[Key, Entry[Key]] = {}
        self._old: dict[Key, Entry[Key]] = {}

    def keep(self, entry: Entry[Key]) -> None:
        """The run is over."""
        young = self._young
        young[entry.key] = entry
        if len(young) >= self._limit:
            self._old, self._young = young, {}

    def last(self, key: Key) -> Entry[Key] | None:
        """The last run of that key; `None` if it never ran, or too long ago."""
        return self._young.get(key) or self._old.get(key)

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class Changes:
    """The last changes that sources told, so that a `Cause` can say which fields changed.

    Args:
        limit: how many.
        size: bytes of JSON text that both sides of all of them may have together.
    """

    def __init__(self, limit: int = CHANGES, size: int = CHANGES_BYTES) -> None:
        self._limit = limit
        self._size = size
        self._kept: deque[tuple[str, Change[Any]]] = deque()
        self._bytes = 0

    def keep(self, source: str, change: Change[Any]) -> None:
        """A source told an update."""
        old = change.old
        if old is None or change.new is None:
            return
        self._kept.append((source, change))
        self._bytes += _bytes(change)
        while len(self._kept) > self._limit or self._bytes > self._size:
            self._bytes -= _bytes(self._kept.popleft()[1])

    def paths(self, cause: Cause) -> tuple[str, ...] | None:
        """The paths that differ between the two versions that the cause names; `None` if they are not known any more.

        The resourceVersion and the field managers, which always differ, are left out.
        """
        for source, change in reversed(self._kept):
            old, new = change.old, change.new
            if source != cause.source or old is None or new is None or new.key != cause.object:
                continue
            if (old.metadata.resource_version, new.metadata.resource_version) == (cause.old, cause.new):
                return content_paths(old.content(), new.content())
        return None

    def __len__(self) -> int:
        return len(self._kept)


def _bytes(change: Change[Any]) -> int:
    return sum(len(side.raw) for side in change.sides)


BOOKKEEPING = ("metadata.resourceVersion", "metadata.managedFields", "metadata.generation")
"""What the server changes by itself with a write."""


def content_paths(old: Any, new: Any) -> tuple[str, ...]:
    """The paths that differ between two objects' contents, but for the server's own bookkeeping."""
    return tuple(path for path in changed_paths(old, new) if not path.startswith(BOOKKEEPING))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """Why a key last ran, and what came of it.

    Attributes:
        id: the reconcile id, as in the log.
        at: when it began.
        waited: how long the key had been ready by then.
        took: how long it ran.
        priority: the key's.
        outcome: a word: `success`, `requeue_after`, `progress`, `conflict`, `error`, ...
        error: type and text of the error, "" without.
        causes: why it ran, each with the paths that changed, where that is still known.
    """

    id: str
    at: datetime
    waited: timedelta
    took: timedelta
    priority: int
    outcome: str
    error: str
    causes: tuple[tuple[Cause, tuple[str, ...] | None], ...]


def last_run(entry: Entry[Key], controller: str, changes: Changes, clock: Clock) -> LastRun:
    """The run of an entry, in words."""
    ago = clock.monotonic() - entry.started_at
    return LastRun(
        id=reconcile_id(controller, entry),
        at=clock.now() - timedelta(seconds=ago),
        waited=timedelta(seconds=max(0.0, entry.started_at - entry.queued_at)),
        took=timedelta(seconds=entry.ended_at - entry.started_at),
        priority=entry.priority,
        outcome=entry.outcome,
        error=entry.error,
        causes=tuple((cause, changes.paths(cause)) for cause in entry.causes),
    )
