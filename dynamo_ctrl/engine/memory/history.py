"""What was, and in which order: revisions, the log of one resource, and the feeds that read it.

Contract:

- A `Revision` is one version of one object, and never changes.
- A `Log` keeps the newest changes of one resource. Who asks for a change that it has dropped gets `Expired`.
- A `Feed` is a position in a log and a filter. It delivers every change after its start once and in order, whatever the
  number of feeds; a feed that falls behind the log's window is closed, as a slow watch is on a real server.
- Bookmarks and time-outs are told by the clock that is given; `due` says when to look again. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.port import WatchEvent
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.metadata import Metadata
from dynamo_ctrl.objects.selector import EVERYTHING, FieldSelector, LabelSelector

BOOKMARK_EVERY: Final = 60.0
"""Seconds between two bookmarks of one watch."""

LAST_BOOKMARK: Final = 2.0
"""Seconds before its time-out at which a watch gets its last bookmark."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PLAIN: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


_EVERY_FIELD: Final = FieldSelector()


class Revision:
    """One version of one object: its JSON text, and the parts of it that the server itself needs."""

    __slots__ = ("key", "metadata", "path", "raw", "version")

    def __init__(self, path: str, version: int, raw: bytes, metadata: Metadata) -> None:
        self.path = path
        self.version = version
        self.raw = raw
        self.metadata = metadata
        self.key = Key(metadata.namespace, metadata.name)

    def tree(self) -> dict[str, Any]:
        """The object as a plain tree that belongs to the caller."""
        return _PLAIN.decode(self.raw)

    def at(self, version: int) -> bytes:
        """Its text under another resourceVersion, as events about its end carry it."""
        top = _OBJECT.decode(self.raw)
        metadata = _OBJECT.decode(top["metadata"])
        metadata["resourceVersion"] = msgspec.Raw(b'"%d"' % version)
        top["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
        return msgspec.json.encode(top)


def spoken(raw: bytes, api_version: str) -> bytes:
    """An object's text under another apiVersion: what conversion `None` makes of it."""
    top = _OBJECT.decode(raw)
    top["apiVersion"] = msgspec.Raw(msgspec.json.encode(api_version))
    return msgspec.json.encode(top)


class Change(NamedTuple):
    """One write: what was there before and after it, and the event that an unfiltered watch sees."""

    version: int
    before: Revision | None
    after: Revision | None
    event: WatchEvent


def change(version: int, before: Revision | None, after: Revision | None) -> Change:
    """The change from `before` to `after`; one of them may be missing."""
    if after is not None:
        event = WatchEvent("ADDED" if before is None else "MODIFIED", after.raw)
    elif before is not None:
        event = WatchEvent("DELETED", before.at(version))
    else:
        raise ValueError("a change needs a before or an after")
    return Change(version, before, after, event)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which objects a list or a watch is about. `namespace` empty for all."""

    namespace: str = ""
    labels: LabelSelector = EVERYTHING
    fields: FieldSelector = _EVERY_FIELD

    @property
    def selects(self) -> bool:
        """Whether a selector is given (a namespace is none)."""
        return bool(self.labels) or bool(self.fields)

    def matches(self, revision: Revision | None) -> bool:
        """Whether the object is there and wanted."""
        if revision is None or (self.namespace and revision.key.namespace != self.namespace):
            return False
        if self.labels and not self.labels.matches(revision.metadata.labels):
            return False
        return not self.fields or self._fields(revision)

    def _fields(self, revision: Revision) -> bool:
        known = {"metadata.name": revision.key.name, "metadata.namespace": revision.key.namespace}
        if all(path in known for path, _, _ in self.fields.terms):
            return all((known[path] == value) is equal for path, equal, value in self.fields.terms)
        return self.fields.matches(revision.tree())

    def event(self, change: Change) -> WatchEvent | None:
        """The change as this filter sees it: an object that leaves the selection is DELETED, one that enters ADDED."""
        before, after = self.matches(change.before), self.matches(change.after)
        if after and change.after is not None:
            if before or change.before is None:
                return change.event
            return WatchEvent("ADDED", change.after.raw)
        if before and change.before is not None:
            return change.event if change.after is None else WatchEvent("DELETED", change.before.at(change.version))
        return None


class Log:
    """The newest changes of one resource.

    Args:
        window: how many changes are kept at least; up to twice as many are.
        floor: the version before the first change that can still be seen.
    """

    def __init__(self, window: int, floor: int) -> None:
        self._window = window
        self._changes: list[Change] = []
        self._dropped = 0
        self._feeds: dict[Feed, None] = {}
        self.floor = floor
        self.ended = False

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self._dropped + len(self._changes)

    def append(self, change: Change) -> None:
        """Add a change and wake the feeds."""
        self._changes.append(change)
        if len(self._changes) > 2 * self._window:
            self._drop(len(self._changes) - self._window)
        for feed in tuple(self._feeds):  # who is woken may close any of them
            feed.wake()

    def compact(self, version: int) -> None:
        """Forget every change up to and including `version`."""
        self._drop(self._index(version))
        self.floor = max(self.floor, version)

    def _drop(self, count: int) -> None:
        if count:
            self.floor = self._changes[count - 1].version
            del self._changes[:count]
            self._dropped += count

    def _index(self, version: int) -> int:
        low, high = 0, len(self._changes)
        while low < high:
            middle = (low + high) // 2
            if self._changes[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return low

    def position(self, version: int) -> int:
        """The position after the changes up to `version`. Raises `Expired` when changes after it are gone."""
        if version < self.floor:
            raise failure.too_old(version, self.floor)
        return self._dropped + self._index(version)

    def read(self, position: int) -> Sequence[Change] | None:
        """The changes from `position` on; `None` when some of them are gone."""
        at = position - self._dropped
        return self._changes[at:] if at >= 0 else None

    def undo(self, version: int) -> Iterator[Change]:
        """The changes after `version`, the newest first. Raises `Expired` as `position` does."""
        at = self.position(version) - self._dropped
        return reversed(self._changes[at:])

    def attach(self, feed: Feed) -> None:
        """Wake `feed` at each change from now on."""
        self._feeds[feed] = None

    def detach(self, feed: Feed) -> None:
        """Wake `feed` no more."""
        self._feeds.pop(feed, None)

    def finish(self) -> None:
        """The resource is no longer served: every feed ends when it has delivered what is there."""
        self.ended = True
        for feed in tuple(self._feeds):  # who is woken may close any of them
            feed.wake()


class Feed:
    """A watch, to be pulled. Made by `Core.watch`.

    Args:
        log: what is watched.
        filter_: which of its changes are wanted.
        position: where in the log to begin.
        after: a version (it may be of the future) up to which changes are left out all the same.
        clock: what time-outs and bookmarks are measured with.
        timeout: seconds until the watch ends; 0 for never.
        bookmark: makes a bookmark; `None` when none are wanted.
        speak: puts an object into the version that the client speaks; `None` for the stored one.
        first: events that come before everything else.
        over: whether nothing comes after `first`.

    Attributes:
        closed: nothing will come any more.
        on_ready: called (without arguments) when `take` may have something; set it to wake a waiting task.
    """

    def __init__(
        self,
        log: Log,
        filter_: Filter,
        position: int,
        *,
        after: int,
        clock: Clock,
        timeout: float,
        bookmark: Callable[[], WatchEvent] | None,
        speak: Callable[[bytes], bytes] | None = None,
        first: Sequence[WatchEvent] = (),
        over: bool = False,
    ) -> None:
        self._log = log
        self._filter = filter_
        self._position = position
        self._after = after
        self._over = over
        self._clock = clock
        self._first = list(first)
        self._bookmark = bookmark
        self._speak = speak
        opened = clock.monotonic()
        self._end = opened + timeout if timeout > 0 else None
        self._next_bookmark = self._bookmark_after(opened) if bookmark else None
        self.closed = False
        self.on_ready: Callable[[], None] | None = None
        log.attach(self)

    def take(self) -> list[WatchEvent]:
        """Everything that has come since the last call; empty when there is nothing."""
        if self.closed:
            return []
        events, self._first = self._first, []
        if self._over:
            self.close()
            return events
        changes = self._log.read(self._position)
        if changes is None:
            self.close()
            return events
        self._position += len(changes)
        for each in changes:
            event = self._filter.event(each) if each.version > self._after else None
            if event is not None:
                events.append(event if self._speak is None else WatchEvent(event.type, self._speak(event.object)))
        now = self._clock.monotonic()
        if self._bookmark is not None and self._next_bookmark is not None and now >= self._next_bookmark:
            events.append(self._bookmark())
            self._next_bookmark = self._bookmark_after(now)
        if self._log.ended or (self._end is not None and now >= self._end):
            self.close()
        return events

    @property
    def due(self) -> float | None:
        """The monotonic time at which `take` will have something even if nothing changes; `None` for never."""
        moments = [moment for moment in (self._end, self._next_bookmark) if moment is not None]
        return min(moments) if moments and not self.closed else None

    def wake(self) -> None:
        """Tell whoever waits that `take` may have something."""
        if self.on_ready is not None:
            self.on_ready()

    def close(self) -> None:
        """End the watch. Idempotent."""
        if not self.closed:
            self.closed = True
            self._log.detach(self)
            self.wake()

    def _bookmark_after(self, moment: float) -> float | None:
        if self._end is None:
            return moment + BOOKMARK_EVERY
        last = self._end - LAST_BOOKMARK
        return min(moment + BOOKMARK_EVERY, last) if moment < last else None
