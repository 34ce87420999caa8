"""`EventRecorder`: tells Kubernetes events (events.k8s.io/v1), one create for each.

Contract (R 3.11):

- `event` never blocks and never raises. Events wait in a bounded buffer; when it is full the newest is dropped and counted.
- Events are sent one after the other by `run`. One that cannot be sent is counted and forgotten: events are best effort.
- After `close` no more are taken; `run` sends what is there and returns. The owner bounds how long that may take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import AlreadyExists, EngineError, Forbidden
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event

CAPACITY = 1000
"""Events that may wait to be sent."""

MAX_NOTE, MAX_WORD, MAX_NAME = 1024, 128, 253
"""What the API takes: bytes of a note; characters of reason, action and instance; characters of a name."""

_TRIES = 5
_RULE = '{apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"]}'


class EventRecorder:
    """The recorder of one manager.

    Args:
        engine: where events are created.
        clock: gives the time of an event.
        controller: `reportingController`, e.g. `dynamo-manager`.
        instance: `reportingInstance`, unique for the process.
        capacity: how many events may wait.

    Attributes:
        sent: events that the server took.
        dropped: events for which there was no room, or no time at the end.
        failed: events that the server did not take.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        controller: str,
        instance: str,
        capacity: int = CAPACITY,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.sent = self.dropped = self.failed = 0
        self._engine = engine
        self._clock = clock
        self._reporting = {
            "reportingController": controller,
            "reportingInstance": f"{controller}-{instance}"[:MAX_WORD],
        }
        self._capacity = capacity
        self._log: FilteringBoundLogger = log if log is not None else structlog.get_logger()
        self._queue: deque[tuple[datetime, Object[Any, Any], Event]] = deque()
        self._wake = asyncio.Event()
        self._closed = False
        self._stamp = 0
        self._overflowing = False
        self._refused = False

    def event(self, regarding: Object[Any, Any], event: Event) -> None:
        """Record `event` about `regarding` (or about the object that the event itself names)."""
        if self._closed or len(self._queue) >= self._capacity:
            self.dropped += 1
            if not self._overflowing:
                self._overflowing = True
                self._log.warning("events are dropped", capacity=self._capacity, closed=self._closed)
            return
        self._queue.append((self._clock.now(), event.regarding or regarding, event))
        self._wake.set()

    def close(self) -> None:
        """Take no more events; let `run` end when the buffer is empty."""
        self._closed = True
        self._wake.set()

    async def run(self) -> None:
        """Send events until `close`. What is not sent when this is cancelled counts as dropped."""
        try:
            while True:
                while self._queue:
                    await self._send(*self._queue[0])
                    self._queue.popleft()
                self._overflowing = False
                if self._closed:
                    return
                self._wake.clear()
                await self._wake.wait()
        finally:
            self.dropped += len(self._queue)
            self._queue.clear()

    async def _send(self, at: datetime, regarding: Object[Any, Any], event: Event) -> None:
        namespace = regarding.metadata.namespace or "default"
        for _ in range(_TRIES):
            body = self._body(at, namespace, regarding, event)
            try:
                await self._engine.create(EVENT, namespace, msgspec.json.encode(body))
            except AlreadyExists:  # another process with the same clock; the next name is free
                continue
            except Forbidden as error:
                self.failed += 1
                if not self._refused:
                    self._refused = True
                    self._log.warning("events cannot be created", error=str(error), rule=_RULE)
                return
            except EngineError as error:
                self.failed += 1
                self._log.debug("an event was not taken", error=str(error), reason=event.reason)
                return
            self.sent += 1
            return
        self.failed += 1

    def _body(self, at: datetime, namespace: str, regarding: Object[Any, Any], event: Event) -> dict[str, Any]:
        self._stamp = max(self._stamp + 1, int(at.timestamp() * 1e6) * 1000)
        suffix = f".{self._stamp:x}"
        metadata, kind = regarding.metadata, regarding.kind
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
            "metadata": {"name": metadata.name[: MAX_NAME - len(suffix)] + suffix, "namespace": namespace},
            "eventTime": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "regarding": {name: value for name, value in reference.items() if value},
            "type": event.type,
            "reason": event.reason[:MAX_WORD],
            "action": event.action[:MAX_WORD],
            "note": _cut(event.note),
            **self._reporting,
        }


def _cut(note: str) -> str:
    """The note within the limit, which counts bytes and must not split a character."""
    raw = note.encode()
    return note if len(raw) <= MAX_NOTE else raw[: MAX_NOTE - 3].decode(errors="ignore") + "..."
