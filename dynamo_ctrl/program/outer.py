"""The outer reconciler: one attempt at one primary, from the cache to the answer for the queue.

    gone              -> done
    being deleted     -> finalize, then the finalizer is removed; without a finalizer of ours: nothing at all
    otherwise         -> the steps of `select`, the finalizer step, the program's steps: one report, one status function,
                         one status write, then events and notes

Contract:

- Only here is the status of a primary written: once, after all other writes, and not at all when it is equal.
- `Conflict` anywhere is a quiet `CONFLICT`: no status, no event, no note, no error.
- An exception that a program raises is the attempt's error, marked as a panic so that the controller tells its stack; no status
  is written. Where a value of a wrong type in a result led to it, the error is a `ProgramFault` that names the field.
  `InvalidObject` from the primary's own spec is terminal: the next generation wakes it.
- A status write that fails is the answer's error, before the program's own; the events of the transition are not told then.
- An object that is being deleted gets no status.
- An attempt of plain functions that asks for nothing takes no coroutine: most attempts of a converged world are such.
- Of programs that `Settles`, one is not even asked while all that it read is as it was when nothing had to be done.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from inspect import isawaitable
from typing import Any, Final

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.engine.errors import Conflict, EngineError
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.attempt import Attempted, Attempts, requeue_after
from dynamo_ctrl.program.definition import Definition
from dynamo_ctrl.program.effect import EnsureFinalizer, RemoveFinalizer
from dynamo_ctrl.program.errors import ProgramFault
from dynamo_ctrl.program.fault import explain
from dynamo_ctrl.program.ports import Ports
from dynamo_ctrl.program.program import Finalizes, Observes, Selected, Settles
from dynamo_ctrl.program.recorder import Recorder
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Note, Result, Step
from dynamo_ctrl.program.settled import Reads, Settled
from dynamo_ctrl.program.trace import Trace, Traces
from dynamo_ctrl.program.unmoved import Unmoved

FINALIZER: Final = "finalizer"
"""The name of the step that keeps (or removes) the finalizer; a status function may ask the report for it."""

TICK: Final = 0.001
"""Seconds that the time of an attempt may be old."""

AnyObject = Object[Any, Any]

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


_SETTLED: Final = Answer()
"""Nobody had to be asked."""

_Begun = Callable[[Trace], Awaitable[Answer]]
"""What is still to be carried out."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A program of the definition, with what has to be found out only once.

    Attributes:
        program: it, or the selecting program.
        observer: who is asked for the events of a status transition.
        finalizer: the step that keeps the finalizers of everybody who takes part.
        settles: whether everybody who takes part `Settles`.
    """

    program: Any
    observer: Observes[Any] | None
    finalizer: tuple[Step, ...]
    settles: bool


class Outer:
    """Reconciles the primaries of one definition. Give `reconcile` to a controller.

    Attributes:
        traces: what the last attempts did.
        owns_status: whether some attempt has answered with a status: from then on it is the programs' own.
    """

    def __init__(
        self,
        definition: Definition,
        *,
        engine: Engine,
        view: View,
        written: Written,
        recorder: Recorder,
        clock: Clock,
        ports: Ports | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.traces = Traces()
        self.owns_status = False
        self._log = (log if log is not None else structlog.get_logger()).bind(controller=definition.name)
        self._definition = definition
        self._kind = definition.kind
        self._view = view
        self._clock = clock
        self._monotonic = clock.monotonic
        self._attempts = Attempts(engine=engine, view=view, written=written, recorder=recorder, ports=ports)
        self._lost = self._attempts.lost
        self._pending = self._lost.pending
        self._unmoved = Unmoved()
        self._settled = Settled()
        self._tick = -math.inf
        self._calm = Trace(datetime.min.replace(tzinfo=UTC))  # of every attempt of a tick that does nothing
        self._keepers = definition.finalizers
        self._selector = None if definition.selector is None else self._part(definition.selector)
        self._plain = None if definition.program is None else self._part(definition.program)
        self._providers = {name: self._part(program) for name, program in definition.providers.items()}
        asked = self._selector or self._plain
        self._settles = asked is not None and asked.settles  # else nothing is ever kept in `_settled`

    def _part(self, program: Any) -> _Part:
        selector = self._definition.selector
        observer = next((one for one in (program, selector) if isinstance(one, Observes)), None)
        ensured = tuple(
            EnsureFinalizer(name=keeper.finalizer) for keeper in self._keepers if keeper in (program, selector)
        )
        settles = all(isinstance(one, Settles) for one in (program, selector) if one is not None)
        return _Part(program, observer, (Step(name=FINALIZER, effects=ensured),) if ensured else (), settles)

    def reconcile(self, key: Key) -> Answer | Awaitable[Answer]:
        """One attempt. It raises nothing but cancellation. One that has nothing to wait for is over when this returns."""
        tick = self._monotonic()
        if tick - self._tick >= TICK:
            self._tick, self._calm = tick, Trace(self._clock.now())
        calm = self._calm
        try:
            begun = self._begin(key, calm.at)
            if begun is DONE:
                self.traces.calm(key, calm)
                return DONE
            if begun is _SETTLED:
                self.traces.again(key, calm)
                return DONE
            trace = Trace(calm.at)
            if not isinstance(begun, Answer):
                return self._finish(key, begun, trace)
        except Exception as error:  # noqa: BLE001  (a program is foreign code: what it raises is its attempt's error)
            trace = Trace(calm.at)
            begun = self._failed(key, error, trace)
        self.traces.keep(key, trace, begun)
        return begun

    async def attempt(self, key: Key) -> Answer:
        """The same, waited for."""
        answer = self.reconcile(key)
        return answer if isinstance(answer, Answer) else await answer

    async def _finish(self, key: Key, begun: _Begun, trace: Trace) -> Answer:
        try:
            answer = await begun(trace)
        except Exception as error:  # noqa: BLE001  (as in `reconcile`)
            answer = self._failed(key, error, trace)
        self.traces.keep(key, trace, answer)
        return answer

    def _failed(self, key: Key, error: Exception, trace: Trace) -> Answer:
        if isinstance(error, Conflict):
            trace.error = str(error)
            self._log.debug("conflict", key=str(key), error=str(error))
            return CONFLICT
        self._forget(key)
        if isinstance(error, InvalidObject):
            own = error.what == f"{self._kind.kind} {key}" and error.path.startswith("spec")
            return Answer(error=error, terminal=own)
        return Answer(error=error, panic=not isinstance(error, SourceUnavailable | EngineError))

    def _begin(self, key: Key, at: datetime) -> Answer | _Begun:
        """Ask the programs. What comes back is the answer, or what still has to be carried out."""
        if self._pending and key in self._pending:
            return partial(self._after_lost_answers, key)
        primary = self._view.get(self._kind, key)
        if primary is None:
            self._forget(key)
            return DONE
        if primary.metadata.deletion_timestamp is not None:
            return partial(self._finalize, primary)
        reads = None
        if self._settles:
            if self._settled.holds(key, primary):
                return _SETTLED
            reads = Reads(primary, self._view)
        part = self._plain
        request = Request(primary, self._view if reads is None else reads, at)
        steps: tuple[Step, ...] = ()
        if self._selector is not None:
            chosen = self._choose(self._selector, request)
            if isinstance(chosen, Result):
                return partial(self._carry_out, primary, self._selector, (), chosen, None)
            part, steps = chosen
        assert part is not None, "a definition has a program or a selector"  # noqa: S101
        result = part.program.reconcile(request)
        if (
            isinstance(result, Result)
            and not (steps or part.finalizer or result.steps or result.events)
            and result.status is None
        ):
            after = result.requeue_after
            if after is None and not result.notes and not self._unmoved.runs:
                return DONE
            if not callable(after):
                try:
                    return self._answer(key, result, after)  # nothing to carry out, nobody to ask
                except Exception as error:
                    explain(error, part.program.name, result)
                    raise
        return partial(self._carry_out, primary, part, steps, result, reads if part.settles else None)

    async def _after_lost_answers(self, key: Key, trace: Trace) -> Answer:
        """Nothing is decided before it is known which writes of the last attempt happened."""
        await self._lost.settle(key)
        begun = self._begin(key, trace.at)
        return begun if isinstance(begun, Answer) else await begun(trace)

    def _choose(self, selector: _Part, request: Request[Any]) -> Result[Any] | tuple[_Part, tuple[Step, ...]]:
        """Who serves the primary, and what must be written before; or the refusal."""
        selected = selector.program.select(request, frozenset(self._providers))
        if isinstance(selected, Result):
            return selected
        if not isinstance(selected, Selected):
            raise ProgramFault(f"{self._definition.name}: select answered {_type(selected)}, not Selected or Result")
        part = self._providers.get(selected.provider)
        if part is None:
            part = self._part(self._definition.serving(selected.provider))
        return part, selected.steps

    async def _carry_out(
        self,
        primary: AnyObject,
        part: _Part,
        steps: tuple[Step, ...],
        answered: object,
        reads: Reads | None,
        trace: Trace,
    ) -> Answer:
        key = primary.key
        self._settled.forget(key)
        result = await _answered(answered, f"{part.program.name}: reconcile")
        if result.status is not None:
            self.owns_status = True
        try:
            if part is not self._selector:
                result = _preceded((*steps, *part.finalizer), result)
            attempted = await self._attempts.make(primary, result, trace, part.observer)
            answer = self._made(key, result, attempted)
        except Exception as error:
            explain(error, part.program.name, result)
            raise
        if answer is DONE and reads is not None and not (trace.notable or result.notes or result.events):
            self._settled.keep(reads, result.steps, attempted.report)
        return answer

    async def _finalize(self, primary: AnyObject, trace: Trace) -> Answer:
        for keeper in self._keepers:
            if keeper.finalizer not in primary.metadata.finalizers:
                continue
            result = await self._finishing(primary, keeper, trace.at)
            attempted = await self._attempts.make(primary, result, trace)
            if not attempted.report.done(FINALIZER):
                return self._made(primary.key, result, attempted)
            self._tell(primary.key, result.notes)
            primary = attempted.report.primary
        self._forget(primary.key)
        return DONE

    async def _finishing(self, primary: AnyObject, keeper: Finalizes[Any], now: datetime) -> Result[Any]:
        """What the finalizer's keeper wants done, and then, unless it asks for another run, the removal."""
        request = Request(primary, self._view, now)
        wanted = await _answered(keeper.finalize(request), f"{self._definition.name}: finalize")
        removal = Step(
            name=FINALIZER,
            effects=(RemoveFinalizer(name=keeper.finalizer),),
            when=lambda report: requeue_after(wanted, report) is None,
        )
        steps = (*wanted.steps, removal)
        return Result(steps=steps, requeue_after=wanted.requeue_after, notes=wanted.notes, events=wanted.events)

    def _made(self, key: Key, result: Result[Any], attempted: Attempted) -> Answer:
        if attempted.error is not None:
            self._tell(key, result.notes)
            self._forget(key)
            return Answer(error=attempted.error, terminal=attempted.terminal)
        return self._answer(key, result, attempted.requeue_after, unmoved=attempted.unmoved)

    def _answer(self, key: Key, result: Result[Any], after: timedelta | None, *, unmoved: bool = False) -> Answer:
        if result.notes:
            self._tell(key, result.notes)
        again = self._unmoved.after(key, unmoved=unmoved)
        if after is None and again is None:
            return DONE
        delays = [delay.total_seconds() for delay in (after, again) if delay is not None]
        return Answer(requeue_after=max(min(delays), 0.0))

    def _forget(self, key: Key) -> None:
        self._unmoved.forget(key)
        self._settled.forget(key)

    def _tell(self, key: Key, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self._log.log(_LEVELS[note.level], note.message, key=str(key))


def _preceded(steps: tuple[Step, ...], result: Result[Any]) -> Result[Any]:
    return msgspec.structs.replace(result, steps=(*steps, *result.steps))


async def _answered(answer: object, who: str) -> Result[Any]:
    result: object = await answer if isawaitable(answer) else answer
    if not isinstance(result, Result):
        raise ProgramFault(f"{who} answered {_type(result)}, not Result")
    return result


def _type(value: object) -> str:
    return type(value).__name__
