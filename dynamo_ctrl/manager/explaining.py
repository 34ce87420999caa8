"""`explain`: why a key last ran, what came of it, what keeps it, and what keeps its object from being ready. As JSON data.

Everything is read from what controllers keep anyway; asking changes nothing. No value of a Secret is among it
(`dynamo_ctrl.program.trace`, and objects are told by their readiness only).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.history import LastRun
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.readiness import readiness
from dynamo_ctrl.program.trace import Line, Told, Trace, Traces
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import Entry, State

DEPTH: Final = 6
CHILDREN: Final = 500
"""How deep the tree of owned objects is told, and how many of them."""

_STATES: Final = {
    State.WAITING: "waiting", State.QUEUED: "queued", State.LOCKED: "queued", State.RUNNING: "running",
}  # fmt: skip

AnyObject = Object[Any, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """A controller and the traces of its attempts."""

    controller: Controller
    traces: Traces


def matches(kind: Kind[Any], text: str) -> bool:
    """Whether people may call the kind that: its name, plural, resource with group, or a short name, in any case."""
    return text.lower() in {kind.kind.lower(), kind.plural, str(kind), *kind.short}


class Explainer:
    """Explains keys of some controllers.

    Args:
        controllers: all of them: an object may be owned, and seen, through another one.
        clock: the time.
    """

    def __init__(self, controllers: Sequence[Known], clock: Clock) -> None:
        self._controllers = controllers
        self._clock = clock

    def explain(self, kind: Kind[Any], key: Key) -> dict[str, Any]:
        """Everything about that key."""
        mine = [known for known in self._controllers if known.controller.watches.primary.kind == kind]
        try:
            obj = next((found for known in mine if (found := known.controller.view.get(kind, key)) is not None), None)
            unreadable = ""
        except SourceUnavailable as error:
            obj, unreadable = None, error.reason
        left = CHILDREN
        children: list[dict[str, Any]] = []
        if obj is not None:
            tree = _Tree([known.controller for known in self._controllers], left)
            children = tree.below(obj, DEPTH)
        return {
            "kind": kind.kind,
            "key": str(key),
            "object": None if obj is None else _object(obj, partly=False),
            "unreadable": unreadable,
            "controllers": [self._controller(known, key) for known in mine],
            "children": children,
        }

    def _controller(self, known: Known, key: Key) -> dict[str, Any]:
        controller, history = known.controller, known.traces.of(key)
        last = controller.last_run(key)
        return {
            "name": controller.name,
            "not_ready": controller.reasons,
            "sources": {
                kind: {"state": str(state.phase), "reason": state.reason} for kind, state in controller.sources.items()
            },
            "last_run": None if last is None else self._run(last),
            "next_run": self._next(controller, key),
            "last_attempt": None if history is None else self._attempt(history.last),
            "notable_attempts": [] if history is None else [self._attempt(trace) for trace in history.notable],
        }

    def _run(self, run: LastRun) -> dict[str, Any]:
        return {
            "id": run.id,
            "at": run.at.isoformat(),
            "ago": (self._clock.now() - run.at).total_seconds(),
            "waited": run.waited.total_seconds(),
            "took": run.took.total_seconds(),
            "priority": run.priority,
            "outcome": run.outcome,
            "error": run.error,
            "causes": [
                {**_cause(cause), "paths": None if paths is None else list(paths)} for cause, paths in run.causes
            ],
        }

    def _next(self, controller: Controller, key: Key) -> dict[str, Any]:
        queue, now = controller.queue, self._clock.monotonic()
        entry = queue.wanted(key)
        wait = queue.not_before(key) - now
        told: dict[str, Any] = {
            "state": "absent" if entry is None else _STATES.get(entry.state, "absent"),
            "failures": queue.failures(key),
            "back_off": wait if 0 < wait < math.inf else None,
        }
        if entry is not None and entry.state is State.RUNNING:
            told["running_for"] = now - entry.started_at
            told["then"] = None if entry.successor is None else _causes(entry.successor)
        elif entry is not None:
            told["in"] = max(0.0, entry.due - now) if entry.state is State.WAITING and entry.due < math.inf else 0.0
            told["causes"] = _causes(entry)
        return told

    def _attempt(self, trace: Trace) -> dict[str, Any]:
        return {
            "at": trace.at.isoformat(),
            "ago": (self._clock.now() - trace.at).total_seconds(),
            "effects": [_line(line) for line in trace.lines],
            "status": [_told(told) for told in trace.status],
            "error": trace.error,
            "conflict": trace.answer.conflict,
            "terminal": trace.answer.terminal,
            "requeue_after": trace.answer.requeue_after,
        }


class _Tree:
    """What an object owns, through the eyes of all controllers, and how ready it is."""

    def __init__(self, controllers: Sequence[Controller], left: int) -> None:
        self._controllers = controllers
        self._left = left
        self._seen: set[Ref] = set()

    def below(self, owner: AnyObject, depth: int) -> list[dict[str, Any]]:
        found = []
        for obj, partly in self._owned(owner):
            if obj.ref in self._seen or self._left <= 0:
                continue
            self._seen.add(obj.ref)
            self._left -= 1
            children = self.below(obj, depth - 1) if depth > 1 else []
            found.append({**_object(obj, partly=partly), "children": children})
        return found

    def _owned(self, owner: AnyObject) -> Iterator[tuple[AnyObject, bool]]:
        """What it owns; those first that somebody sees whole. With each: whether only a part of it is cached."""
        for whole in (True, False):
            for controller in self._controllers:
                for watch in controller.watches.all:
                    if (watch.project is None) is not whole:
                        continue
                    try:
                        owned: Iterable[AnyObject] = controller.view.owned(watch.kind, owner)
                    except SourceUnavailable:
                        continue
                    yield from ((obj, not whole) for obj in owned)


def _object(obj: AnyObject, *, partly: bool) -> dict[str, Any]:
    """An object as it is told: who it is, and how ready. Of a part of it nothing can be told."""
    ready: bool | None = None
    text = "only a part of it is cached"
    if not partly:
        try:
            state = readiness(obj)
            ready, text = state.ready, state.text
        except InvalidObject as error:
            ready, text = False, str(error)
    return {
        "kind": obj.kind.kind,
        "key": str(obj.key),
        "uid": obj.metadata.uid,
        "generation": obj.metadata.generation,
        "deleting": obj.metadata.deletion_timestamp is not None,
        "ready": ready,
        "text": text,
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "source": cause.source,
        "event": cause.event,
        "object": None if cause.object is None else str(cause.object),
        "old": cause.old,
        "new": cause.new,
        "text": str(cause),
    }


def _causes(entry: Entry[Key]) -> list[dict[str, Any]]:
    return [_cause(cause) for cause in entry.causes]


def _line(line: Line) -> dict[str, Any]:
    return {
        "step": line.step,
        "effect": line.effect,
        "did": str(line.did),
        "object": None if line.object is None else str(line.object),
        "differences": [_told(told) for told in line.differences],
        "more": line.more,
        "edited": line.edited,
        "reason": line.reason,
        "message": line.message,
        "fatal": line.fatal,
    }


def _told(told: Told) -> dict[str, Any]:
    return {"path": told.path, "old": told.old, "new": told.new}
