"""`Settler`: turns the answer of a reconcile into the one thing that happens to its key, a count, and perhaps a log line.

error, not terminal        back-off; one line with the key, and the rule to add where a right is missing
its namespace is going     back-off; no line: nothing can be created there, and the primary goes with it
error, terminal            only an event brings the key back; one line
a source cannot be read    wait for that source; no line (the source's own line says what is wrong)
conflict                   back soon; a line only when conflicts do not end
requeue_after < 1 ms       again at once, ten times in a row at most; then back-off, and one line
requeue_after              back then
nothing of these           done

A success whose writes come back again and again (`OwnWrites`) holds its key back. What comes back by itself keeps the priority of
the run, unless the answer names another.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.context import reconcile_id
from dynamo_ctrl.controller.echo import Echo
from dynamo_ctrl.controller.numbers import RECONCILE_BOUNDS, ControllerNumbers
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.rights import missing_rule
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue

MAX_ERROR = 500
"""Characters that are kept of an error's text."""

SOONEST = 0.001
"""Seconds: who wants to run again sooner makes progress, as with 0; anything else would be a loop without an end."""

MANY_CONFLICTS = 10
"""Every so many conflicts in a row of one key are worth a line: somebody else writes the object all the time."""

_BRIEF = RECONCILE_BOUNDS[0]
"""Most reconciles take no longer: theirs is the first bucket, which need not be searched for."""


class Settler:
    """Ends the runs of one controller.

    Args:
        name: the controller's.
        queue: where the keys go.
        numbers: what is counted.
        log: bound to the controller.
        waits: whether that error means a source of the controller that will tell when it can be read again.
        echoes: what was found out about the writes of the runs that have not ended; their keys are held back.
        recover: whether a panic costs its key a back-off, and nobody else anything.
    """

    def __init__(
        self,
        name: str,
        queue: WorkQueue[Key],
        numbers: ControllerNumbers,
        log: FilteringBoundLogger,
        waits: Callable[[SourceUnavailable], bool],
        *,
        echoes: dict[int, Echo] | None = None,
        recover: bool = True,
    ) -> None:
        self._name = name
        self._queue = queue
        self._numbers = numbers
        self._log = log
        self._waits = waits
        self._echoes = echoes if echoes is not None else {}
        self._recover = recover
        self._parked: dict[Key, int] = {}

    def settle(self, entry: Entry[Key], answer: Answer, now: float) -> None:
        """End the run as `answer` says. Raises the error of a panic if panics are not to be recovered from."""
        numbers = self._numbers
        time = numbers.time
        seconds = now - entry.started_at
        time.counts[0 if seconds <= _BRIEF else bisect_left(RECONCILE_BOUNDS, seconds)] += 1
        time.sum += seconds
        if answer is DONE and not self._echoes:
            numbers.success += 1
            self._queue.done(entry, now)
            return
        echo = self._echoes.pop(entry.run, None)
        after, priority = answer.requeue_after, answer.priority
        if answer.error is not None:
            self._error(entry, answer, now)
        elif answer.conflict:
            self._conflict(entry, answer, now)
        elif after is not None and after < SOONEST:
            self._progress(entry, answer, now)
        else:
            if after is None:
                numbers.success += 1
            else:
                entry.outcome = "requeue_after"
                numbers.requeue_after += 1
            if echo is None:
                self._queue.done(entry, now, after=after, priority=priority)
            else:
                entry.outcome = "held back"
                self._queue.slowed(entry, now, echo.hold, after=after, priority=priority)

    def unpark(self) -> dict[Key, int]:
        """The keys that wait for a source, with their priorities; they wait no longer."""
        parked, self._parked = self._parked, {}
        return parked

    def _conflict(self, entry: Entry[Key], answer: Answer, now: float) -> None:
        self._numbers.requeue += 1
        entry.outcome = "conflict"
        conflicts = self._queue.conflicted(entry, now, priority=answer.priority)
        if conflicts % MANY_CONFLICTS == 0:
            self._log.warning("conflicts do not end", **self._where(entry), conflicts=conflicts)

    def _progress(self, entry: Entry[Key], answer: Answer, now: float) -> None:
        self._numbers.requeue += 1
        entry.outcome = "progress"
        if not self._queue.progressed(entry, now, priority=answer.priority):
            self._log.warning("no end of progress, backing off", **self._where(entry))

    def _error(self, entry: Entry[Key], answer: Answer, now: float) -> None:
        numbers, error = self._numbers, answer.error
        assert error is not None, "asked for an error"  # noqa: S101
        entry.error = f"{type(error).__name__}: {error}"[:MAX_ERROR]
        if isinstance(error, SourceUnavailable) and self._waits(error):
            numbers.requeue += 1
            entry.outcome = "waits for a source"
            self._parked[entry.key] = entry.priority if answer.priority is None else answer.priority
            self._queue.released(entry, now)
            return
        if isinstance(error, Forbidden) and error.namespace_terminating:
            numbers.requeue += 1
            entry.outcome = "its namespace is going"
            self._queue.failed(entry, now, priority=answer.priority)
            return
        numbers.error += 1
        told: dict[str, object] = {"error": str(error), "type": type(error).__name__}
        if isinstance(error, Forbidden) and (rule := missing_rule(error)) is not None:
            told["add_to_role"] = rule
        if answer.panic:
            numbers.panics += 1
            told["exc_info"] = error
        if answer.terminal:
            numbers.terminal += 1
            entry.outcome = "terminal error"
            self._queue.released(entry, now)
            self._log.error("reconcile failed for good", **self._where(entry), **told)
        else:
            entry.outcome = "error"
            delay = self._queue.failed(entry, now, priority=answer.priority)
            failures = self._queue.failures(entry.key)
            told.update(failures=failures, retry_in=round(delay, 3))
            self._log.error("reconcile failed", **self._where(entry), **told)
        if answer.panic and not self._recover:
            raise error

    def _where(self, entry: Entry[Key]) -> dict[str, str]:
        return {"key": str(entry.key), "reconcile_id": reconcile_id(self._name, entry)}
