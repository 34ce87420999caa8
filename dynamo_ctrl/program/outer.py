"""The outer reconciler: one attempt at one primary, from the cache to the answer for the queue.

    gone              -> done
    being deleted     -> finalize, then the finalizer is removed; without a finalizer of ours: nothing at all
    otherwise         -> the steps of `select`, the finalizer step, the program's steps: one report, one status function,
                         one status write, then events and notes

Contract:

- Only here is the status of a primary written: once, after all other writes, and not at all when it is equal.
- `Conflict` anywhere is a quiet `CONFLICT`: no status, no event, no note, no error.
- An exception that a program raises is the attempt's error, marked as a panic so that the controller tells its stack; no status
  is written. `InvalidObject` from the primary's own spec is terminal: the next generation wakes it.
- A status write that fails is the answer's error, before the program's own; the events of the transition are not told then.
- An object that is being deleted gets no status.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from datetime import datetime
from inspect import isawaitable
from typing import Any, Final

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
from dynamo_ctrl.program.ports import Ports
from dynamo_ctrl.program.program import Finalizes, Observes, Selected
from dynamo_ctrl.program.recorder import Recorder
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Note, Result, Step
from dynamo_ctrl.program.trace import Trace, Traces
from dynamo_ctrl.program.unmoved import Unmoved

FINALIZER: Final = "finalizer"
"""The name of the step that keeps (or removes) the finalizer; a status function may ask the report for it."""

AnyObject = Object[Any, Any]

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


class Outer:
    """Reconciles the primaries of one definition. Give `reconcile` to a controller.

    Attributes:
        traces: what the last attempts did.
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
        self._log = (log if log is not None else structlog.get_logger()).bind(controller=definition.name)
        self._definition = definition
        self._view = view
        self._clock = clock
        self._attempts = Attempts(engine=engine, view=view, written=written, recorder=recorder, ports=ports)
        self._unmoved = Unmoved()

    async def reconcile(self, key: Key) -> Answer:
        """One attempt. It raises nothing but cancellation."""
        trace = Trace(self._clock.now())
        answer = await self._reconcile(key, trace)
        self.traces.keep(key, trace, answer)
        return answer

    async def _reconcile(self, key: Key, trace: Trace) -> Answer:
        try:
            primary = self._view.get(self._definition.kind, key)
            if primary is None:
                self._unmoved.forget(key)
                return DONE
            if primary.metadata.deletion_timestamp is not None:
                return await self._finalize(primary, trace)
            return await self._attempt(primary, trace)
        except Conflict as conflict:
            trace.error = str(conflict)
            self._log.debug("conflict", key=str(key), error=str(conflict))
            return CONFLICT
        except InvalidObject as error:
            self._unmoved.forget(key)
            own = error.what == f"{self._definition.kind.kind} {key}" and error.path.startswith("spec")
            return Answer(error=error, terminal=own)
        except (SourceUnavailable, EngineError) as error:
            self._unmoved.forget(key)
            return Answer(error=error)
        except Exception as error:  # noqa: BLE001  (a program is foreign code: what it raises is its attempt's error)
            self._unmoved.forget(key)
            return Answer(error=error, panic=True)

    async def _attempt(self, primary: AnyObject, trace: Trace) -> Answer:
        definition = self._definition
        request = Request(primary, self._view, trace.at)
        steps: tuple[Step, ...] = ()
        if definition.selector is not None:
            selected = definition.selector.select(request, frozenset(definition.providers))
            if isinstance(selected, Result):
                attempted = await self._attempts.make(primary, selected, trace, definition.selector)
                return self._answer(primary.key, selected, attempted)
            if not isinstance(selected, Selected):
                raise ProgramFault(f"{definition.name}: select answered {_type(selected)}, not Selected or Result")
            program = definition.serving(selected.provider)
            steps = selected.steps
        else:
            assert definition.program is not None, "a definition has a program or a selector"  # noqa: S101
            program = definition.program
        result = await _settled(program.reconcile(request), f"{program.name}: reconcile")
        involved: tuple[object, ...] = (definition.selector, program)
        effects = tuple(
            EnsureFinalizer(name=keeper.finalizer) for keeper in definition.finalizers if keeper in involved
        )
        if effects:
            steps = (*steps, Step(name=FINALIZER, effects=effects))
        observer = program if isinstance(program, Observes) else definition.selector
        whole = _preceded(steps, result)
        return self._answer(primary.key, whole, await self._attempts.make(primary, whole, trace, observer))

    async def _finalize(self, primary: AnyObject, trace: Trace) -> Answer:
        for keeper in self._definition.finalizers:
            if keeper.finalizer not in primary.metadata.finalizers:
                continue
            result = await self._finishing(primary, keeper, trace.at)
            attempted = await self._attempts.make(primary, result, trace)
            if not attempted.report.done(FINALIZER):
                return self._answer(primary.key, result, attempted)
            self._tell(primary.key, result.notes)
            primary = attempted.report.primary
        self._unmoved.forget(primary.key)
        return DONE

    async def _finishing(self, primary: AnyObject, keeper: Finalizes[Any], now: datetime) -> Result[Any]:
        """What the finalizer's keeper wants done, and then, unless it asks for another run, the removal."""
        request = Request(primary, self._view, now)
        wanted = await _settled(keeper.finalize(request), f"{self._definition.name}: finalize")
        removal = Step(
            name=FINALIZER,
            effects=(RemoveFinalizer(name=keeper.finalizer),),
            when=lambda report: requeue_after(wanted, report) is None,
        )
        return Result(steps=(*wanted.steps, removal), requeue_after=wanted.requeue_after, notes=wanted.notes)

    def _answer(self, key: Key, result: Result[Any], attempted: Attempted) -> Answer:
        self._tell(key, result.notes)
        if attempted.error is not None:
            self._unmoved.forget(key)
            return Answer(error=attempted.error, terminal=attempted.terminal)
        again = self._unmoved.after(key, unmoved=attempted.unmoved)
        delays = [delay.total_seconds() for delay in (attempted.requeue_after, again) if delay is not None]
        return Answer(requeue_after=max(min(delays), 0.0)) if delays else DONE

    def _tell(self, key: Key, notes: tuple[Note, ...]) -> None:
        for note in notes:
            self._log.log(_LEVELS[note.level], note.message, key=str(key))


def _preceded(steps: tuple[Step, ...], result: Result[Any]) -> Result[Any]:
    return Result(
        steps=(*steps, *result.steps),
        status=result.status,
        requeue_after=result.requeue_after,
        notes=result.notes,
    )


async def _settled(answer: Result[Any] | Awaitable[Result[Any]], who: str) -> Result[Any]:
    result: object = await answer if isawaitable(answer) else answer
    if not isinstance(result, Result):
        raise ProgramFault(f"{who} answered {_type(result)}, not Result")
    return result


def _type(value: object) -> str:
    return type(value).__name__
