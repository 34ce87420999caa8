"""The executor: carries out the steps of a result, one effect after the other.

Contract:

- What is sent is what `outcome` decides just before sending. What is true already is not sent.
- Every answer goes to the cache at once (read-your-writes) and to the lookup that later effects are decided with.
- `Conflict` leaves by exception: somebody else wrote first, and the whole attempt is to be made again, quietly. So does the
  disappearance of an object that was to be changed.
- A name that is taken (`AlreadyExists`) is read live and decided again: foreign objects outside the cache show here, and so
  does an earlier create whose answer was lost.
- Everything else that a server, a port or the world refuses becomes a failure in the report. Where a write may have happened
  all the same, the object is read live before anything is decided anew (`dynamo_ctrl.program.lost`).
- A write to an object that is outside of what the view selects, and stays there, is not sent: it could never be read back.
- The `event` of an effect is told after a write that changed something; the `failed` one of a patch when the write failed.
- What came of each effect is taken down in the attempt's trace.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import structlog

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.view import Selective, SourceUnavailable, View
from dynamo_ctrl.engine.errors import AlreadyExists, Conflict, EngineError, NotFound, WriteRefused
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import CreateOnce, Effect, EnsureFinalizer, Patch, RemoveFinalizer, Retry, subject
from dynamo_ctrl.program.ledger import Ledger
from dynamo_ctrl.program.lost import LostAnswers
from dynamo_ctrl.program.outcome import Creation, Deletion, Refused, Unchanged, Update, outcome
from dynamo_ctrl.program.ports import Ports
from dynamo_ctrl.program.recorder import Recorder
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Step
from dynamo_ctrl.program.trace import Did, Trace

LOOKS: Final = 3
"""How often one effect is decided anew because its name was taken; then the attempt counts as a conflict."""

AnyObject = Object[Any, Any]

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of the steps, and how many writes the server answered without a change."""

    report: Report
    unmoved: int


class Executor:
    """Carries out steps on one cluster. It keeps nothing between two runs, apart from what `lost` has to."""

    def __init__(
        self,
        *,
        engine: Engine,
        view: View,
        written: Written,
        recorder: Recorder,
        ports: Ports,
        lost: LostAnswers,
    ) -> None:
        self._view = view
        selective = view if isinstance(view, Selective) else None
        self._means = _Means(engine, written, recorder, ports, lost, selective)

    async def run(self, primary: AnyObject, steps: tuple[Step, ...], trace: Trace) -> Execution:
        """Carry out `steps` for `primary`, and take down in `trace` what came of them.

        Raises:
            Conflict: somebody else wrote first; make the whole attempt again.
            ProgramFault: the steps contradict each other, or the effects of one that writes.
        """
        if not steps:
            return Execution(Report(primary=primary), 0)
        ledger = Ledger(primary, self._view)
        run = _Run(self._means, ledger, trace)
        for effect in run.ledger.walk(steps):
            await run.carry_out(effect)
        return Execution(run.ledger.report(), run.unmoved)


@dataclass(frozen=True, slots=True)
class _Means:
    """What every run of one executor works with."""

    engine: Engine
    written: Written
    recorder: Recorder
    ports: Ports
    lost: LostAnswers
    selective: Selective | None


class _Run:
    def __init__(self, means: _Means, ledger: Ledger, trace: Trace) -> None:
        self.ledger = ledger
        self.unmoved = 0
        self._trace = trace
        self._key = ledger.primary.key
        self._sent: AnyObject | None = None  # what is being written, as it was before
        self._means = means
        self._engine = means.engine
        self._written = means.written

    async def carry_out(self, effect: Effect) -> None:
        self._sent = None
        try:
            for _ in range(LOOKS):
                decided = outcome(effect, self.ledger.primary, self.ledger)
                if isinstance(decided, Creation | Update | Deletion):
                    self.ledger.check_sole()
                if isinstance(decided, Creation | Update) and (refused := self._unreadable(decided)) is not None:
                    return self._failed(effect, refused, Retry.NEVER)
                match decided:
                    case Unchanged(live):
                        return self._unchanged(effect, live)
                    case Refused(refusal, retry):
                        if isinstance(refusal, Conflict):
                            raise refusal
                        return self._failed(effect, refusal, retry)
                    case Update():
                        return await self._update(effect, decided)
                    case Deletion():
                        return await self._delete(effect, decided)
                    case Creation():
                        if await self._create(effect, decided):
                            return None
        except Conflict as conflict:
            self._tell_failure(effect, conflict)
            raise
        except (EngineError, SourceUnavailable, InvalidObject) as error:
            if isinstance(error, EngineError) and error.maybe_done:
                await self._unanswered()
            return self._failed(effect, error)
        raise Conflict("an object comes and goes while it is looked at")

    async def _unanswered(self) -> None:
        if self._sent is not None:
            await self._means.lost.lost(self._key, self._sent)

    async def _create(self, effect: Effect, decided: Creation) -> bool:
        """Whether it was created, or failed for good; if not, the ledger knows now what is there."""
        body = decided.body
        if isinstance(effect, CreateOnce):
            try:
                body = await self._filled(effect, body)
            except Exception as error:  # noqa: BLE001  (a port of the program's author: whatever it raises is its failure)
                self._failed(effect, error)
                return True
        self._sent = None if isinstance(effect, CreateOnce) else body
        try:
            answer = body.kind.decode(await self._engine.create(body.kind, body.metadata.namespace, body.raw))
        except AlreadyExists:
            if not body.metadata.name:
                raise
            self.ledger.saw(body.ref, await self._read(body.ref, secret=isinstance(effect, CreateOnce)))
            return False
        self._wrote(effect, Did.CREATED, answer)
        return True

    async def _filled(self, effect: CreateOnce, body: AnyObject) -> AnyObject:
        """`body` with its data: made by a port, or copied."""
        if not isinstance(effect.fill, Key):
            return _with_data(body, await self._means.ports.fill(effect))
        source = (await self._means.ports.source(self._engine, body.kind.ref(effect.fill))).content()
        copied: dict[str, Any] = {name: source[name] for name in ("type", "data") if name in source}
        filled: AnyObject = body.kind.object({**body.content(), **copied})
        return filled

    async def _update(self, effect: Effect, decided: Update) -> None:
        live = decided.live
        if decided.edited:
            _log.info("child was edited by hand and is brought back", child=str(live.ref), paths=list(decided.paths))
        self._sent = live
        try:
            raw = await self._engine.patch(live.kind, live.key, decided.patch, subresource=decided.subresource)
            if decided.subresource:
                raw = await self._engine.get(live.kind, live.key)
        except NotFound as error:
            if not error.details.get("name"):
                raise
            if isinstance(effect, RemoveFinalizer):
                return self._unchanged(effect, None)
            raise Conflict(f"{live.ref} is gone") from error
        answer = live.kind.decode(raw)
        if isinstance(effect, RemoveFinalizer) and _let_go(answer):
            return self._wrote(effect, Did.UPDATED, answer, decided)
        if answer.metadata.resource_version == live.metadata.resource_version:
            self.unmoved += 1
            return self._unchanged(effect, answer)
        self._wrote(effect, Did.UPDATED, answer, decided)
        if isinstance(effect, EnsureFinalizer | RemoveFinalizer) and not _same_content(live, answer):
            raise Conflict(f"{live.ref} changed while its finalizers were written")
        return None

    async def _delete(self, effect: Effect, decided: Deletion) -> None:
        live = self._sent = decided.live
        changed = True
        try:
            raw = await self._engine.delete(
                live.kind,
                live.key,
                preconditions=decided.preconditions,
                propagation=decided.propagation,
                grace_seconds=decided.grace_seconds,
            )
        except NotFound as error:
            if not error.details.get("name"):
                raise
            raw, changed = b"{}", False
        held = _held(live, raw)
        if held is not None:
            return self._wrote(effect, Did.DELETED, held)
        self._written.deleted(live.kind, live.key, live.metadata.uid)
        if not changed:
            return self._unchanged(effect, None)
        self.ledger.deleted(effect, live)
        self._trace.wrote(self.ledger.step.name, effect, Did.DELETED, live.ref)
        return self._tell(effect)

    def _unreadable(self, decided: Creation | Update) -> WriteRefused | None:
        """Why a write is not sent: nobody could read its object back. A change may let an object go, or take one in."""
        written = decided.body if isinstance(decided, Creation) else decided.live
        selective = self._means.selective
        selection = None if selective is None else selective.selection(written.kind)
        if selection is None or selection.everything:
            return None
        if isinstance(decided, Update):
            if selection.matches(written):
                return None
            written = decided.predicted()
        reason = selection.refusal(written)
        return WriteRefused(f"{written.ref} was not written: {reason}") if reason else None

    async def _read(self, ref: Ref, *, secret: bool) -> AnyObject | None:
        try:
            live: AnyObject = ref.kind.decode(await self._engine.get(ref.kind, ref.key))
        except NotFound:
            return None
        return _without_data(live) if secret else live

    def _unchanged(self, effect: Effect, live: AnyObject | None) -> None:
        self.ledger.unchanged(effect, live)
        ref = subject(effect, self.ledger.primary) if live is None else live.ref
        self._trace.unchanged(self.ledger.step.name, effect, ref)

    def _failed(self, effect: Effect, error: Exception, retry: Retry = Retry.BACKOFF) -> None:
        failure = self.ledger.failed(effect, error, retry)
        self._trace.failed(effect, subject(effect, self.ledger.primary), failure)
        self._tell_failure(effect, error)

    def _wrote(self, effect: Effect, did: Did, answer: AnyObject, decided: Update | None = None) -> None:
        differences = () if decided is None else decided.differences
        edited = decided is not None and decided.edited
        self._trace.wrote(self.ledger.step.name, effect, did, answer.ref, differences, edited=edited)
        if isinstance(effect, CreateOnce):
            answer = _without_data(answer)
        elif isinstance(effect, RemoveFinalizer) and _let_go(answer):
            self._written.deleted(answer.kind, answer.key, answer.metadata.uid)
        else:
            self._written.wrote(answer)
        self.ledger.wrote(effect, answer)
        self._tell(effect)

    def _tell(self, effect: Effect) -> None:
        event = getattr(effect, "event", None)
        if event is not None:
            self._means.recorder.event(event.regarding or self.ledger.primary, event)

    def _tell_failure(self, effect: Effect, error: Exception) -> None:
        event = effect.failed if isinstance(effect, Patch) else None
        if event is not None:
            told = replace(event, note=f"{event.note}: {error}")
            self._means.recorder.event(event.regarding or self.ledger.primary, told)


class _Named(msgspec.Struct, gc=False):
    kind: str = ""


_NAMED = msgspec.json.Decoder(_Named)


def _held(live: AnyObject, raw: bytes) -> AnyObject | None:
    """The object that a delete answered with, if something still holds it."""
    if _NAMED.decode(raw).kind != live.kind.kind:
        return None
    answer: AnyObject = live.kind.decode(raw)
    return answer if answer.metadata.deletion_timestamp is not None else None


def _let_go(answer: AnyObject) -> bool:
    """Whether the last finalizer went, and the object with it. Its version does not move then."""
    return answer.metadata.deletion_timestamp is not None and not answer.metadata.finalizers


def _same_content(seen: AnyObject, answer: AnyObject) -> bool:
    """Whether spec and status are those that were seen. The texts may differ: a cache writes them anew."""
    if seen.metadata.generation:
        sections: tuple[str, ...] = ("status",)
        if seen.metadata.generation != answer.metadata.generation:
            return False
    else:
        sections = ("spec", "status")
    return all(_tree(seen, name) == _tree(answer, name) for name in sections)


def _tree(obj: AnyObject, section: str) -> Any:
    return msgspec.json.decode(obj.section(section) or b"null")


def _with_data(body: AnyObject, data: Mapping[str, bytes]) -> AnyObject:
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    filled: AnyObject = body.kind.object({**body.content(), "data": encoded})
    return filled


def _without_data(secret: AnyObject) -> AnyObject:
    content = {name: value for name, value in secret.content().items() if name not in ("data", "stringData")}
    bare: AnyObject = secret.kind.object(content)
    return bare
