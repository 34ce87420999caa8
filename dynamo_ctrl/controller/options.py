"""The options of one controller."""

from __future__ import annotations

from dataclasses import dataclass

from dynamo_ctrl.queue.backoff import CONFLICT_BACKOFF, FAILURE_BACKOFF, MAX_PROGRESS, Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """How a controller works through its queue.

    Attributes:
        workers: how many keys may be reconciled at the same time; one key never runs twice at once.
        failures: the back-off of a key after an error.
        conflicts: the back-off of a key after a conflict.
        max_progress: how often in a row a key may ask to run again at once.
        slice: seconds of the loop's time that a worker takes before it lets others run.
    """

    workers: int = 1
    failures: Backoff = FAILURE_BACKOFF
    conflicts: Backoff = CONFLICT_BACKOFF
    max_progress: int = MAX_PROGRESS
    slice: float = 0.002

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        if self.workers < 1:
            raise ValueError(f"workers: must be at least 1, got {self.workers}")
        if self.max_progress < 0:
            raise ValueError(f"max_progress: must not be negative, got {self.max_progress}")
        if not self.slice > 0:
            raise ValueError(f"slice: must be positive, got {self.slice}")
