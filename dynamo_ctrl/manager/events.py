"""`EventRecorder`: tells Kubernetes events (events.k8s.io/v1), repeats as series.

Contract (R 3.11):

- `event` never blocks and never raises. What is to be sent waits in a bounded buffer; when it is full the newest is dropped and
  counted. Repeats take no room in it (see `dynamo_ctrl.manager.series`).
- Requests are sent one after the other. One that fails for a passing reason is tried again, a bounded number of times; then, and
  on any other failure, it is counted and forgotten: events are best effort.
- `end` takes no more, sends what is there and the last counts of all series, each once, and bounds how long that may take.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, Literal, TypeAlias

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import (
    AlreadyExists,
    EngineError,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unreachable,
    WriteRefused,
)
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.series import Series, SeriesBook, SeriesKey
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Event

CAPACITY = 1000
"""Requests that may wait to be sent."""

MAX_NOTE, MAX_WORD, MAX_NAME = 1024, 128, 253
"""What the API takes: bytes of a note; characters of reason, action and instance; characters of a name."""

TRIES = 12
"""How often one request is sent, at most."""

PAUSE = 10.0
"""Seconds between two tries; the first pause is a random part of it."""

SWEEP = 60.0
"""Seconds between two looks for series that are to be told."""

GRACE = 0.1
"""Seconds that the last request gets to be cancelled."""

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_RULE = '{apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"]}'


Verb: TypeAlias = Literal["create", "patch", "recreate"]
"""`recreate`: the event of a series is gone from the server, and is created again with its count."""


@dataclass(slots=True)
class _Request:
    verb: Verb
    series: Series


class EventRecorder:
    """The recorder of one manager.

    Args:
        engine: where events are written.
        clock: gives the time of an event.
        controller: `reportingController`, e.g. `dynamo-manager`.
        instance: `reportingInstance`, unique for the process.
        capacity: how many requests may wait.
        random: spreads the first retry.

    Attributes:
        sent: events that the server took, each as an object.
        repeated: events that were counted in a series.
        dropped: events for which there was no room, no time at the end, or no right to write.
        failed: requests that the server did not take.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        controller: str,
        instance: str,
        capacity: int = CAPACITY,
        random: Random | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.sent = self.repeated = self.dropped = self.failed = 0
        self._engine = engine
        self._clock = clock
        self._reporting = {
            "reportingController": controller,
            "reportingInstance": f"{controller}-{instance}"[:MAX_WORD],
        }
        self._capacity = capacity
        self._random = random if random is not None else Random()  # noqa: S311  (spreads retries)
        self._log: FilteringBoundLogger = log if log is not None else structlog.get_logger()
        self._book = SeriesBook()
        self._queue: deque[_Request] = deque()
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stamp = 0
        self._swept_at = clock.monotonic()
        self._overflowing = False
        self._refused = False

    def event(self, regarding: Object[Any, Any], event: Event) -> None:
        """Record `event` about `regarding` (or about the object that the event itself names)."""
        about, at, now = event.regarding or regarding, self._clock.now(), self._clock.monotonic()
        if self._closing.is_set():
            self._drop()
            return
        key = SeriesKey.of(about, event)
        series, telling = self._book.repeat(key, at, now)
        if series is None:
            if len(self._queue) >= self._capacity:
                self._drop()
                return
            series = Series(key, self._body(at, about, event), at, now)
            ended = self._book.begin(series)
            self._put("create", series)
            if ended is not None:
                self._put("patch", ended)
            return
        self.repeated += 1
        if telling:
            self._put("patch", series)

    def start(self, failed: Callable[[Exception], None]) -> None:
        """Begin to send. `failed` is told what cannot be helped."""
        self._task = asyncio.create_task(self._run(failed), name="manager: events")

    async def end(self, timeout: float) -> None:  # noqa: ASYNC109  (when it passes, the rest counts as dropped)
        """Take no more, and send what is there within `timeout` seconds."""
        self._closing.set()
        for series in self._book.rest(self._clock.monotonic()):
            self._put("patch", series)
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout)
            self._task.cancel()
            await asyncio.wait([self._task], timeout=GRACE)

    # -- sending

    async def _run(self, failed: Callable[[Exception], None]) -> None:
        try:
            while True:
                while self._queue:
                    await self._deliver(self._queue[0])
                    self._queue.popleft()
                self._overflowing = False
                if self._closing.is_set():
                    return
                self._wake.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(SWEEP if len(self._book) else None):
                        await self._wake.wait()
                self._sweep(self._clock.monotonic())
        except Exception as error:  # noqa: BLE001  (handed on like the error of any runnable)
            failed(error)
        finally:
            self.dropped += sum(request.verb == "create" for request in self._queue)
            self._queue.clear()

    def _sweep(self, now: float) -> None:
        if now - self._swept_at >= SWEEP:
            self._swept_at = now
            for series in self._book.due(now):
                self._put("patch", series)

    async def _deliver(self, request: _Request) -> None:
        doubtful = False
        for number in range(TRIES):
            try:
                await self._send(request)
            except AlreadyExists:
                if doubtful:  # the try before had been carried out, and its answer was lost
                    self.sent += 1
                    return
                self._rename(request.series)  # another process with the same clock; the next name is free
            except NotFound:
                if request.verb != "patch":
                    self._fail(request, "its namespace is gone")
                    return
                request.verb = "recreate"
            except WriteRefused:
                self.dropped += request.verb == "create"
                self._book.forget(request.series)
                return
            except (Unreachable, TooManyRequests) as error:
                if number + 1 == TRIES or self._closing.is_set():
                    self._fail(request, str(error))
                    return
                await self._pause(number)
            except EngineError as error:
                if not error.maybe_done or number + 1 == TRIES or self._closing.is_set():
                    refused = isinstance(error, Forbidden) and not error.namespace_terminating
                    self._fail(request, str(error), forbidden=refused)
                    return
                doubtful = True
                await self._pause(number)
            else:
                self.sent += request.verb == "create"
                return
        self._fail(request, "no end of conflicts")

    async def _send(self, request: _Request) -> None:
        series = request.series
        namespace, name = series.body["metadata"]["namespace"], series.body["metadata"]["name"]
        repeats = {"series": {"count": series.count, "lastObservedTime": _micro(series.observed)}}
        if request.verb == "patch":
            await self._engine.patch(EVENT, Key(namespace, name), Patch.merge(repeats))
        else:
            body = series.body if request.verb == "create" else {**series.body, **repeats}
            await self._engine.create(EVENT, namespace, msgspec.json.encode(body))

    async def _pause(self, number: int) -> None:
        """Wait before the next try; the end of everything ends it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE if number else PAUSE * self._random.random()):
                await self._closing.wait()

    def _fail(self, request: _Request, error: str, *, forbidden: bool = False) -> None:
        self.failed += 1
        self._book.forget(request.series)
        if not forbidden:
            self._log.debug("an event was not taken", error=error, reason=request.series.key.reason)
        elif not self._refused:
            self._refused = True
            self._log.warning("events cannot be written", error=error, rule=_RULE)

    # -- what waits

    def _put(self, verb: Verb, series: Series) -> None:
        if len(self._queue) < self._capacity or verb == "create":
            self._queue.append(_Request(verb, series))
            self._wake.set()

    def _drop(self) -> None:
        self.dropped += 1
        if not self._overflowing:
            self._overflowing = True
            self._log.warning("events are dropped", capacity=self._capacity, closed=self._closing.is_set())

    def _body(self, at: datetime, about: Object[Any, Any], event: Event) -> dict[str, Any]:
        metadata, kind = about.metadata, about.kind
        reference = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        }
        return {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {
                "name": self._name(metadata.name, kind.kind, at),
                "namespace": metadata.namespace or "default",
            },
            "eventTime": _micro(at),
            "regarding": {name: value for name, value in reference.items() if value},
            "type": event.type,
            "reason": event.reason[:MAX_WORD],
            "action": event.action[:MAX_WORD],
            "note": _cut(event.note),
            **self._reporting,
        }

    def _name(self, of: str, kind: str, at: datetime) -> str:
        """A new name after the object, or after its kind where no event may be called so (`system:node`, a Role)."""
        self._stamp = max(self._stamp + 1, int(at.timestamp() * 1e6) * 1000)
        suffix = f".{self._stamp:x}"
        stem = of[: MAX_NAME - len(suffix)].rstrip("-.")
        return (stem if _SUBDOMAIN.fullmatch(stem) else kind.lower()) + suffix

    def _rename(self, series: Series) -> None:
        name = self._name(series.key.name, series.key.kind, series.observed)
        series.body = {**series.body, "metadata": {**series.body["metadata"], "name": name}}


def _micro(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(note: str) -> str:
    """The note within the limit, which counts bytes and must not split a character."""
    raw = note.encode()
    return note if len(raw) <= MAX_NOTE else raw[: MAX_NOTE - 3].decode(errors="ignore") + "..."
