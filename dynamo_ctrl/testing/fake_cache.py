"""`FakeCache`: a cluster in a variable. Programs run against it without a loop, without a server, without a clock of their own.

    cache = FakeCache([widget])
    cache.converge(WidgetProgram(), "ns/w")
    assert cache.get(DEPLOYMENT, "ns/w").spec.replicas == 3

Contract:

- It is a `View` over the synchronous core of the memory engine: uids, generations, versions, finalizers, owner garbage
  collection and preconditions are a server's. Reads see every write at once.
- Everything that a real attempt does happens here, by the same code: `Outer`, executor, status write.
- Time stands still but for `advance` and the waiting of `converge`.
- Every kind is served, except those named `absent`; a namespace exists as soon as something is put into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.objects.selector import LabelSelector
from dynamo_ctrl.plan.follower import Followers
from dynamo_ctrl.plan.passes import Passes, drive
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.program.attempt import Attempts
from dynamo_ctrl.program.definition import Definition, definitions
from dynamo_ctrl.program.effect import Event
from dynamo_ctrl.program.program import Observes
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.program.trace import History, Trace
from dynamo_ctrl.testing.faults import FaultyEngine
from dynamo_ctrl.testing.recording import RecordingEngine, Write

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

ROUNDS: Final = 50
"""Passes that `converge` makes at most."""


class NotConverged(AssertionError):
    """Programs that still wrote in the last of many passes; the text lists what."""


class FakeCache:
    """A small cluster for tests of programs.

    Args:
        objects: what is there from the start. A server makes uid, generation, version and creation time anew.
        now: the time at the start.
        absent: kinds that this cluster does not serve.
        seed: of uids and generated names.

    Attributes:
        core: the API server beneath.
        clock: the only clock.
        faults: what goes wrong between the programs and the core; nothing, until a test says so.
        passes: how many passes the last `converge` made.
        events: what programs told, with the object that it is about.
    """

    def __init__(
        self,
        objects: Iterable[Object[Any, Any]] = (),
        *,
        now: datetime | None = None,
        absent: Iterable[Kind[Any]] = (),
        seed: int = 0,
    ) -> None:
        self._scratch = Scratch(now=now, seed=seed)
        self.clock = self._scratch.clock
        self.core = self._scratch.core
        self.passes = 0
        self.events: list[tuple[Object[Any, Any], Event]] = []
        self.faults = FaultyEngine(self._scratch.engine)
        self._engine = RecordingEngine(self.faults)
        self._told = _Told(self.events)
        self._absent = frozenset(absent)
        self._followers = Followers(self.core)
        self._attempts = Passes(
            engine=self._engine, view=self._all, clock=self.clock, written=self._told, recorder=self._told
        )
        for obj in objects:
            self.add(obj)

    # --- the view

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`."""
        content = self._content(kind)
        return None if content is None else content.get(Key.of(key))

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects that match, in the order of their keys."""
        content = self._content(kind)
        return () if content is None else content.select(LabelSelector.of(selector), namespace)

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`."""
        return [obj for obj in self.list(index.kind) if value in index.values(obj)]

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` that `owner` controls."""
        content = self._content(kind)
        return () if content is None else content.owned(owner.metadata.uid)

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the kind is not one of the absent ones."""
        return kind not in self._absent

    # --- the world

    def add(self, obj: O) -> O:
        """Create an object, with its status; returns it as the server has it."""
        if not self._known(obj.kind):
            raise ValueError(f"{obj.kind} is absent from this cluster")
        return self._scratch.add(obj)

    def edit(self, kind: Kind[O], key: Key | str, patch: JsonMap | Patch) -> O:
        """Somebody else patches an object (a merge patch, unless it is a `Patch`)."""
        self._known(kind)
        wanted = patch if isinstance(patch, Patch) else Patch.merge(patch)
        return kind.decode(self.core.patch(kind, Key.of(key), wanted))

    def set_status(self, kind: Kind[O], key: Key | str, status: Any) -> O:
        """Somebody else replaces fields of an object's status: a merge patch, or a value of the status type."""
        self._known(kind)
        tree = status if isinstance(status, Mapping) else kind.status_codec.encode(status)
        subresource = "status" if kind.status_subresource else ""
        return kind.decode(self.core.patch(kind, Key.of(key), Patch.merge({"status": tree}), subresource=subresource))

    def delete(self, kind: Kind[Any], key: Key | str, *, propagation: Propagation = "Background") -> None:
        """Somebody else deletes an object."""
        self._known(kind)
        self.core.delete(kind, Key.of(key), propagation=propagation)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    @property
    def now(self) -> datetime:
        """The time."""
        return self.clock.now()

    @property
    def writes(self) -> tuple[Write, ...]:
        """Every write that programs sent so far, refused ones included; what the test itself did is not among them."""
        return tuple(self._engine.writes)

    # --- programs

    def request(self, kind: Kind[O], key: Key | str) -> Request[O]:
        """What a program would be asked about that object now. Raises `LookupError` when it is not there."""
        obj = self.get(kind, key)
        if obj is None:
            raise LookupError(f"there is no {kind.ref(key)}")
        return Request(obj, self, self.clock.now())

    def apply(self, result: Result[Any], primary: Object[Any, Any], *, observer: object = None) -> Report:
        """Carry out a result as an attempt would: steps, status, events.

        Raises:
            Conflict: something that was read is not so any more.
            EngineError: the status could not be written.
        """
        attempts = Attempts(engine=self._engine, view=self, written=self._told, recorder=self._told)
        observes = observer if isinstance(observer, Observes) else None
        attempted = drive(attempts.make(primary, result, Trace(self.now), observes))
        if attempted.error is not None and attempted.report.failure is None:
            raise attempted.error
        return attempted.report

    def reconcile(self, programs: object, key: Key | str) -> Answer:
        """One attempt of one program (or of the programs of one primary kind together) at one key."""
        (definition,) = definitions(_several(programs))
        return drive(self._attempts.run(definition, Key.of(key))).answer

    def traces(self, programs: object, key: Key | str) -> History:
        """What `explain` knows of a program's attempts at that key. Raises `LookupError` if there were none."""
        (definition,) = definitions(_several(programs))
        history = self._attempts.history(definition, Key.of(key))
        if history is None:
            raise LookupError(f"{definition.name} never ran at {key}")
        return history

    def converge(self, programs: object, key: Key | str | None = None, *, rounds: int = ROUNDS) -> int:
        """Run programs until a pass writes nothing; returns the number of passes.

        With a key the first controller runs for that key only; every other controller runs for all its primaries. Where
        a program asked to be run later, time passes until then, and one more pass must write nothing.

        Raises:
            NotConverged: the last of `rounds` passes still wrote.
            Exception: the error of an attempt, when two passes in a row failed and wrote nothing.
        """
        parts = definitions(_several(programs))
        before, waited, failed = 0, False, False
        for number in range(1, rounds + 1):
            self.passes = number
            before = len(self._engine.writes)
            answers = [
                drive(self._attempts.run(part, each)).answer
                for at, part in enumerate(parts)
                for each in ([Key.of(key)] if key is not None and at == 0 else self._attempts.keys(part))
            ]
            quiet = all(write.error is not None for write in self._engine.writes[before:])
            error = next((answer.error for answer in answers if answer.error is not None), None)
            delays = [answer.requeue_after for answer in answers if answer.requeue_after is not None]
            if quiet and error is not None and failed:
                raise error
            if quiet and error is None and (waited or not delays) and not any(answer.conflict for answer in answers):
                return number
            failed = quiet and error is not None
            waited = quiet and bool(delays)
            if waited:
                self.clock.advance(min(delays))
        last = "\n".join(f"  {write}" for write in self._engine.writes[before:])
        raise NotConverged(f"pass {rounds} still wrote:\n{last}" if last else f"no end after {rounds} passes")

    def _all(self, definition: Definition) -> FakeCache:
        """Every definition reads everything."""
        for watch in definition.watches.all:
            self._known(watch.kind)
        return self

    def _content(self, kind: Kind[O]) -> Content[O] | None:
        return self._followers.of(kind).content if self._known(kind) else None

    def _known(self, kind: Kind[Any]) -> bool:
        if kind in self._absent:
            return False
        self.core.register(kind)
        return True


class _Told:
    """Takes events; reads of the fake see every write at once, so there is nothing to lay over."""

    def __init__(self, events: list[tuple[Object[Any, Any], Event]]) -> None:
        self._events = events

    def wrote(self, obj: Object[Any, Any]) -> None:
        pass

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        pass

    def event(self, regarding: Object[Any, Any], event: Event) -> None:
        self._events.append((regarding, event))


def _several(programs: object) -> Iterable[object]:
    return programs if isinstance(programs, list | tuple) else (programs,)
