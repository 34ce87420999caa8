"""`Answer`: what one reconcile tells the controller about the key's future."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from dynamo_ctrl.objects.key import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of one reconcile.

    Precedence: an error beats `requeue_after`; a conflict is quiet (no error is counted or logged as one).

    Attributes:
        error: the attempt failed; the key comes back with back-off unless `terminal`.
        terminal: trying again cannot help; only an event brings the key back.
        conflict: somebody else wrote first; the key comes back soon and nothing is reported.
        requeue_after: seconds until the next run without an event; 0 means progress, run again at once.
        priority: what the key comes back with; `None` keeps the priority of the run.
        panic: the error is an exception that nobody planned for; it is told with its stack and counted as a panic too.
    """

    error: Exception | None = None
    terminal: bool = False
    conflict: bool = False
    requeue_after: float | None = None
    priority: int | None = None
    panic: bool = False


DONE = Answer()
"""Success; nothing more to do until an event comes."""

CONFLICT = Answer(conflict=True)
"""Somebody else wrote first."""


class ReconcileTimeout(TimeoutError):
    """A reconcile did not answer within the controller's own deadline."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"no answer within {seconds:g} s")


class ReconcileCancelled(RuntimeError):
    """A reconcile ended by `CancelledError` though nobody had cancelled it: it awaits, e.g., a task that was cancelled."""

    def __init__(self) -> None:
        super().__init__("the reconcile ended by CancelledError, though nobody had cancelled it")


class WorkerCancelled(RuntimeError):
    """A worker was cancelled, and not because its controller stops."""


Reconcile: TypeAlias = Callable[[Key], Answer | Awaitable[Answer]]
"""What a controller drives. A plain function runs inline; a coroutine function is awaited. It raises only by mistake."""
