"""`Settler`: turns the answer of a reconcile into the one thing that happens to its key, a count, and perhaps a log line.

error, not terminal        back-off; one line with the key, and the rule to add where a right is missing
error, terminal            only an event brings the key back; one line
a source cannot be read    wait for that source; no line (the source's own line says what is wrong)
conflict                   back soon; a line only when conflicts do not end
requeue_after = 0          again at once, ten times in a row at most; then back-off, and one line
requeue_after > 0          back then
nothing of these           done
"""

from __future__ import annotations

from collections.abc import Callable

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.context import reconcile_id
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.rights import missing_rule
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue

MANY_CONFLICTS = 10
"""Every so many conflicts in a row of one key are worth a line: somebody else writes the object all the time."""


class Settler:
    """Ends the runs of one controller.

    Args:
        name: the controller's.
        queue: where the keys go.
        numbers: what is counted.
        log: bound to the controller.
        waits: whether that error means a source of the controller that will tell when it can be read again.
    """

    def __init__(
        self,
        name: str,
        queue: WorkQueue[Key],
        numbers: ControllerNumbers,
        log: FilteringBoundLogger,
        waits: Callable[[SourceUnavailable], bool],
    ) -> None:
        self._name = name
        self._queue = queue
        self._numbers = numbers
        self._log = log
        self._waits = waits
        self._parked: set[Key] = set()

    def settle(self, entry: Entry[Key], answer: Answer, now: float) -> None:
        """End the run as `answer` says."""
        numbers = self._numbers
        numbers.time.observe(now - entry.started_at)
        if answer is DONE:
            numbers.success += 1
            self._queue.done(entry, now)
        elif answer.error is not None:
            self._error(entry, answer.error, now, terminal=answer.terminal, panic=answer.panic)
        elif answer.conflict:
            numbers.requeue += 1
            conflicts = self._queue.conflicted(entry, now)
            if conflicts % MANY_CONFLICTS == 0:
                self._log.warning("conflicts do not end", **self._where(entry), conflicts=conflicts)
        elif answer.requeue_after is None:
            numbers.success += 1
            self._queue.done(entry, now)
        elif answer.requeue_after > 0:
            numbers.requeue_after += 1
            self._queue.done(entry, now, after=answer.requeue_after)
        else:
            numbers.requeue += 1
            if not self._queue.progressed(entry, now):
                self._log.warning("no end of progress, backing off", **self._where(entry))

    def panicked(self, entry: Entry[Key], error: Exception, now: float) -> None:
        """End a run that raised instead of answering."""
        self._numbers.time.observe(now - entry.started_at)
        self._error(entry, error, now, terminal=False, panic=True)

    def unpark(self) -> set[Key]:
        """The keys that wait for a source; they do so no longer."""
        parked, self._parked = self._parked, set()
        return parked

    def _error(self, entry: Entry[Key], error: Exception, now: float, *, terminal: bool, panic: bool) -> None:
        if isinstance(error, SourceUnavailable) and self._waits(error):
            self._numbers.requeue += 1
            self._parked.add(entry.key)
            self._queue.released(entry, now)
            return
        self._numbers.error += 1
        told: dict[str, object] = {"error": str(error), "type": type(error).__name__}
        if isinstance(error, Forbidden) and (rule := missing_rule(error)) is not None:
            told["add_to_role"] = rule
        if panic:
            self._numbers.panics += 1
            told["exc_info"] = error
        if terminal:
            self._numbers.terminal += 1
            self._queue.released(entry, now)
            self._log.error("reconcile failed for good", **self._where(entry), **told)
            return
        delay = self._queue.failed(entry, now)
        failures = self._queue.failures(entry.key)
        self._log.error("reconcile failed", **self._where(entry), **told, failures=failures, retry_in=round(delay, 3))

    def _where(self, entry: Entry[Key]) -> dict[str, str]:
        return {"key": str(entry.key), "reconcile_id": reconcile_id(self._name, entry)}
