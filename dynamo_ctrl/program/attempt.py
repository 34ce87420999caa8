"""One attempt: carrying out one `Result` for one primary, from its steps to the events.

Steps, then the status (a pure function of what came of them), then the events of the transition that was really written. A
failed attempt never replaces the last good status with a partial one: a plain status is written only when every effect
succeeded; a function is asked in any case and decides with the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.engine.errors import Conflict, EngineError
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.difference import differences
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event, Retry
from dynamo_ctrl.program.executor import Executor
from dynamo_ctrl.program.lost import LostAnswers
from dynamo_ctrl.program.ports import OwnPorts, Ports
from dynamo_ctrl.program.program import Observes
from dynamo_ctrl.program.recorder import Recorder
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.program.status import status_tree, write_status
from dynamo_ctrl.program.trace import Trace

AnyObject = Object[Any, Any]
Transitions = Callable[[Any, Any], tuple[Event, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """What came of an attempt.

    Attributes:
        report: what came of its steps.
        error: why it failed: the status write's error before the first fatal one of the steps.
        terminal: trying again cannot help.
        requeue_after: when the program wants to run again; `None` where it failed.
        unmoved: the server answered a write without a change.
    """

    report: Report
    error: Exception | None = None
    terminal: bool = False
    requeue_after: timedelta | None = None
    unmoved: bool = False


class Attempts:
    """Carries out results on one cluster. It keeps nothing between two attempts, apart from what `lost` has to.

    Attributes:
        lost: writes of which nobody knows whether they happened.
    """

    def __init__(
        self, *, engine: Engine, view: View, written: Written, recorder: Recorder, ports: Ports | None = None
    ) -> None:
        self.lost = LostAnswers(engine, written)
        self._engine = engine
        self._written = written
        self._recorder = recorder
        self._executor = Executor(
            engine=engine,
            view=view,
            written=written,
            recorder=recorder,
            ports=ports if ports is not None else OwnPorts(),
            lost=self.lost,
        )

    async def make(
        self, primary: AnyObject, result: Result[Any], trace: Trace, observer: Observes[Any] | None = None
    ) -> Attempted:
        """Carry out `result` for `primary`, and take down in `trace` what came of it.

        `observer` is asked for the events of a status transition.

        Raises:
            Conflict: somebody else wrote first; make the whole attempt again, quietly.
            ProgramFault: the result contradicts itself.
        """
        execution = await self._executor.run(primary, result.steps, trace)
        report = execution.report
        try:
            await self._publish(report, _status(result, report), _observers(result, observer), trace)
        except Conflict:
            raise
        except EngineError as error:
            if error.maybe_done:
                await self.lost.lost(primary.key, report.primary)
            return Attempted(report=report, error=error)
        failure = report.failure
        if failure is not None:
            return Attempted(report=report, error=failure.error, terminal=failure.retry is Retry.NEVER)
        for event in result.events:
            self._recorder.event(event.regarding or report.primary, event)
        return Attempted(report=report, requeue_after=requeue_after(result, report), unmoved=execution.unmoved > 0)

    async def _publish(self, report: Report, status: Any, observers: Sequence[Transitions], trace: Trace) -> None:
        if status is None:
            return
        seen = report.primary
        answer = await write_status(self._engine, self._written, seen, status)
        if answer is None:
            return
        before = status_tree(seen)
        trace.status_written(seen.kind, tuple(differences(before, status_tree(answer), "status")))
        for transitions in observers:
            for event in transitions(_old_status(seen) if before else None, status):
                self._recorder.event(event.regarding or answer, event)


def requeue_after(result: Result[Any], report: Report) -> timedelta | None:
    """When `result` asks to run again, given what came of it."""
    return result.requeue_after(report) if callable(result.requeue_after) else result.requeue_after


def _observers(result: Result[Any], observer: Observes[Any] | None) -> Sequence[Transitions]:
    """Who is asked for the events of a status write: the program, then this very attempt."""
    own = () if observer is None else (observer.transitions,)
    return own if result.transitions is None else (*own, result.transitions)


def _status(result: Result[Any], report: Report) -> Any:
    if callable(result.status):
        return result.status(report)
    return None if report.failures else result.status


def _old_status(seen: AnyObject) -> Any:
    """The status before, `None` where it does not fit the model any more."""
    try:
        return seen.status
    except InvalidObject:
        return None
