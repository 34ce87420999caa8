"""What a controller counts, as plain numbers; names and buckets on the wire are controller-runtime's (R 3.14)."""

from __future__ import annotations

from dynamo_ctrl.queue.numbers import Histogram

RECONCILE_BOUNDS: tuple[float, ...] = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0,
    2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip


class ControllerNumbers:
    """The counters of one controller; all of them exist, as 0, from the start.

    Attributes:
        success, error, requeue, requeue_after: reconciles by result. Conflict, progress and the wait for a source are `requeue`.
        terminal: errors that are not tried again; they count as `error` too.
        panics: exceptions that a reconcile raised instead of answering; they count as `error` too.
        timeouts: reconciles that the controller's own deadline ended; they count as `error` too.
        echoes: writes of ours that another write undid, or that only our own writes caused, again and again.
        lost: predicates and mappers that raised; each was tried again.
        time: duration of a reconcile in seconds.
    """

    __slots__ = (
        "echoes", "error", "lost", "panics", "requeue", "requeue_after", "success", "terminal", "time", "timeouts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.success = self.error = self.requeue = self.requeue_after = 0
        self.terminal = self.panics = self.timeouts = self.echoes = self.lost = 0
        self.time = Histogram(RECONCILE_BOUNDS)
