"""`SeriesBook`: which events are repeats of one another, and when the server is told of the repeats. Pure; times are arguments.

Contract (R 3.11, the events.k8s.io/v1 API):

- Events are the same when type, action, reason and the whole reference to what they are about are the same, resourceVersion
  included: about an object that has changed there is something new to say. The note does not take part. The first is to be
  created; the second starts a series, which is told at once, with a count of 2.
- Later repeats are only counted; a series is told again every 30 minutes, and once more when it ends: after 6 silent minutes.
- The book is bounded: when it is full the series that was silent for longest ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event

HEARTBEAT = 1800.0
"""Seconds between two tellings of a series that goes on."""

SILENCE = 360.0
"""Seconds without a repeat after which a series ends."""

MAX_SERIES = 4096
"""Series that are remembered."""


class SeriesKey(NamedTuple):
    """What two events have in common that are the same."""

    type: str
    action: str
    reason: str
    group: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str

    @classmethod
    def of(cls, about: Object[Any, Any], event: Event) -> SeriesKey:
        """The key of an event about that object."""
        metadata, kind = about.metadata, about.kind
        return cls(
            event.type, event.action, event.reason, kind.group, kind.kind,
            metadata.namespace, metadata.name, metadata.uid, metadata.resource_version,
        )  # fmt: skip


class Series:
    """One event object and its repeats.

    Attributes:
        key: what its events have in common.
        body: of the event object, as it was first.
        count: events so far.
        observed: when the last of them happened.
        told: the count that the server was told last.
    """

    __slots__ = ("body", "count", "key", "observed", "seen_at", "told", "told_at")

    def __init__(self, key: SeriesKey, body: Mapping[str, Any], observed: datetime, now: float) -> None:
        self.key = key
        self.body = body
        self.count = 1
        self.observed = observed
        self.told = 1
        self.told_at = self.seen_at = now


class SeriesBook:
    """The series of one recorder."""

    def __init__(self, capacity: int = MAX_SERIES) -> None:
        self._capacity = capacity
        self._series: OrderedDict[SeriesKey, Series] = OrderedDict()  # the one that was silent for longest is first

    def __len__(self) -> int:
        """How many series are remembered."""
        return len(self._series)

    def begin(self, series: Series) -> Series | None:
        """Remember a new series. Returns one that ended for it and has to be told."""
        ended = self._series.pop(series.key, None)
        if ended is None and len(self._series) >= self._capacity:
            _, ended = self._series.popitem(last=False)
        self._series[series.key] = series
        return self._tell(ended, ended.seen_at) if ended is not None and ended.count > ended.told else None

    def repeat(self, key: SeriesKey, observed: datetime, now: float) -> tuple[Series | None, bool]:
        """One more event of that key: its series, or `None` if there is none, and whether the series is to be told now."""
        series = self._series.get(key)
        if series is None or now - series.seen_at >= SILENCE:
            return None, False
        self._series.move_to_end(key)
        series.count += 1
        series.observed, series.seen_at = observed, now
        if series.count > 2:
            return series, False
        self._tell(series, now)
        return series, True

    def forget(self, series: Series) -> None:
        """The server did not take it: the next event is a first one."""
        if self._series.get(series.key) is series:
            del self._series[series.key]

    def due(self, now: float) -> Iterator[Series]:
        """Series that are to be told now; those that have been silent for too long end."""
        while self._series:
            first = next(iter(self._series.values()))
            if now - first.seen_at < SILENCE:
                break
            del self._series[first.key]
            if first.count > first.told:
                yield self._tell(first, now)
        for series in self._series.values():
            if series.count > series.told and now - series.told_at >= HEARTBEAT:
                yield self._tell(series, now)

    def rest(self, now: float) -> Iterator[Series]:
        """Every series that counted something that was not told yet; for the end."""
        for series in self._series.values():
            if series.count > series.told:
                yield self._tell(series, now)

    @staticmethod
    def _tell(series: Series, now: float) -> Series:
        series.told, series.told_at = series.count, now
        return series
