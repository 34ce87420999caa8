"""`EchoDetector`: finds writes of ours that come back again and again (R 7.11; R 4, 39). A state machine without I/O.

Two kinds of loops cost a cluster its sleep and never end by themselves:

    reverted   another writer undoes what we wrote, and we write it again: a controller with another opinion, or a server that
               drops or rewrites a field
    repeated   nothing but our own write caused the run that writes the same object again: a time stamp, an unstable order

It is told every write, with the object before and after it and the causes of the run. A write continues a row when the row's
last write was by the same key to the same object not too long ago, and

- the run has no other cause than events that own writes to the object made, or
- somebody wrote the object in between, and this write makes a change that the last one had made already.

From `EchoOptions.threshold` writes in a row on, it answers with an `Echo`: which fields, who else writes the object, and how long
the key should stay away. Every other write ends the row, though one that was an echo is one again with its next write. Memory
is bounded by a number of objects and by their size; what is given up begins its row anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from dynamo_ctrl.controller.history import BOOKKEEPING
from dynamo_ctrl.objects.difference import Difference, differences
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.causes import MAX_CAUSES, Cause

AnyObject = Object[Any, Any]

OBJECTS = 512
OBJECTS_BYTES = 8 * 1024 * 1024
VERSIONS = 8
"""How many of the last own versions of an object are known."""

ECHO_BACKOFF = Backoff(base=1.0, cap=300.0)

WHOLE = "(the whole object)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EchoOptions:
    """When a row of writes is an echo. Times are seconds.

    Attributes:
        threshold: how many writes in a row.
        window: how far apart they may be (a key that is held back gets more).
        backoff: how long the key stays away after the first echo, the second, and so on.
    """

    threshold: int = 5
    window: float = 60.0
    backoff: Backoff = ECHO_BACKOFF

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        if self.threshold < 2:
            raise ValueError(f"threshold: must be at least 2, got {self.threshold}")
        if not self.window > 0:
            raise ValueError(f"window: must be positive, got {self.window}")


class Loop(StrEnum):
    """What keeps a row going."""

    REPEATED = "repeated"
    REVERTED = "reverted"


class Echo(NamedTuple):
    """A row of writes that should not go on like this.

    Attributes:
        object: what is written.
        loop: what keeps it going.
        times: how many writes in a row.
        paths: the fields that are written again.
        manager: the other field manager that wrote last, "" where that is not known.
        hold: how long the key should stay away, in seconds.
    """

    object: Ref
    loop: Loop
    times: int
    paths: tuple[str, ...]
    manager: str
    hold: float


_At = tuple[str, Key]
"""Kind and key, as a `Cause` names them."""


class _Row:
    __slots__ = ("after", "at", "before", "by", "patience", "stamp", "times", "versions")

    def __init__(self, by: Key) -> None:
        self.by = by
        self.at = 0.0
        self.times = 0
        self.patience = 0.0
        self.stamp = ""  # the server's time of the last write of a row
        self.versions: tuple[str, ...] = ()
        self.before: AnyObject | None = None
        self.after: AnyObject | None = None

    @property
    def bytes(self) -> int:
        return sum(len(obj.raw) for obj in (self.before, self.after) if obj is not None)


class EchoDetector:
    """See the module.

    Args:
        options: see `EchoOptions`.
        objects: how many objects are remembered.
        size: how long their texts may be together, in bytes.
    """

    def __init__(
        self, options: EchoOptions | None = None, *, objects: int = OBJECTS, size: int = OBJECTS_BYTES
    ) -> None:
        self._options = options if options is not None else EchoOptions()
        self._objects = objects
        self._size = size
        self._bytes = 0
        self._manager = ""  # who we are to the server
        self._rows: dict[_At, _Row] = {}

    def __len__(self) -> int:
        """How many objects are remembered."""
        return len(self._rows)

    def own(self, source: str, key: Key, version: str) -> bool:
        """Whether that version of an object of that kind (`deployments.apps`) is known to come from a write of ours."""
        row = self._rows.get((source, key))
        return row is not None and version in row.versions

    def wrote(
        self,
        by: Key,
        ref: Ref,
        before: AnyObject | None,
        after: AnyObject | None,
        causes: tuple[Cause, ...],
        now: float,
        *,
        answer: AnyObject | None = None,
    ) -> Echo | None:
        """A run of the key `by`, with those causes, wrote the object. `None` stands for: it was not there, it is gone.

        `answer` is the server's answer, which may still know the field managers that `before` and `after` have lost.
        """
        options = self._options
        at = (str(ref.kind), ref.key)
        row = self._rows.get(at) or _Row(by)
        loop: Loop | None = None
        again: tuple[Difference, ...] = ()
        suspect = bool(row.times) and row.by == by and now - row.at <= options.window + row.patience
        if suspect:
            if self._only_own(causes):
                loop = Loop.REPEATED
            elif _touched(row, before):
                again = _made_again(row, before, after)
                loop = Loop.REVERTED if again else None
        if loop is not None:
            row.times += 1
        else:  # a row that was an echo needs but one more write to be one again
            row.times = options.threshold - 1 if suspect and row.times >= options.threshold else 1
        rival = self._rival(row, answer) if loop is not None or not self._manager else ""
        beyond = row.times - options.threshold + 1
        echo: Echo | None = None
        if loop is not None and beyond > 0:
            hold = options.backoff.delay(beyond)
            row.patience = 2 * hold
            if loop is Loop.REPEATED:
                again = tuple(_changes(before, after))
            paths = tuple(dict.fromkeys(difference.path or WHOLE for difference in again))
            echo = Echo(ref, loop, row.times, paths, rival, hold)
        else:
            row.patience = 0.0
        self._keep(at, row, by, before, after, now)
        return echo

    def _only_own(self, causes: tuple[Cause, ...]) -> bool:
        if not causes or len(causes) >= MAX_CAUSES:  # further causes may not have been kept
            return False
        return all(cause.object is not None and self.own(cause.source, cause.object, cause.new) for cause in causes)

    def _keep(self, at: _At, row: _Row, by: Key, before: AnyObject | None, after: AnyObject | None, now: float) -> None:
        self._bytes -= row.bytes
        row.by, row.at, row.before, row.after = by, now, before, after
        if after is not None:
            row.versions = (*row.versions[1 - VERSIONS :], after.metadata.resource_version)
        self._bytes += row.bytes
        self._rows.pop(at, None)
        self._rows[at] = row
        while len(self._rows) > self._objects or (self._bytes > self._size and len(self._rows) > 1):
            self._bytes -= self._rows.pop(next(iter(self._rows))).bytes

    def _rival(self, row: _Row, answer: AnyObject | None) -> str:
        """Who else wrote the object since the row's last write, and last; "" where that cannot be told.

        A manager that lost to us everything that it had set is not in the answer any more.
        """
        managed = None if answer is None else answer.metadata.managed_fields
        entries = _MANAGERS.decode(managed) if isinstance(managed, msgspec.Raw) else []
        if not entries:
            return ""
        entries.sort(key=lambda entry: entry.time)
        since, row.stamp = row.stamp, entries[-1].time
        newest = {entry.manager for entry in entries if entry.time == row.stamp}
        if len(newest) == 1:  # times are whole seconds: of two of them nobody knows which one we are
            (self._manager,) = newest
        if not self._manager or not since:
            return ""
        others = [entry.manager for entry in entries if entry.manager != self._manager and entry.time >= since]
        return others[-1] if others else ""


def _touched(row: _Row, before: AnyObject | None) -> bool:
    """Whether somebody wrote the object since our last write."""
    if row.after is None or before is None:
        return (row.after is None) is not (before is None)
    return before.metadata.resource_version not in row.versions


def _made_again(row: _Row, before: AnyObject | None, after: AnyObject | None) -> tuple[Difference, ...]:
    """What this write changes that the last one had changed in the same way."""
    known = {(change.path, repr(change.old), repr(change.new)) for change in _changes(row.before, row.after)}
    now = _changes(before, after)
    return tuple(change for change in now if (change.path, repr(change.old), repr(change.new)) in known)


def _changes(before: AnyObject | None, after: AnyObject | None) -> list[Difference]:
    if before is None or after is None:
        return [Difference("", before is not None, after is not None)]
    found = differences(before.content(), after.content())
    return [change for change in found if not change.path.startswith(BOOKKEEPING)]


class _FieldsOf(msgspec.Struct, gc=False):
    manager: str = ""
    time: str = ""


_MANAGERS = msgspec.json.Decoder(list[_FieldsOf])
