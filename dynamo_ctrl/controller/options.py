"""The options of one controller."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dynamo_ctrl.controller.echo import EchoOptions
from dynamo_ctrl.queue.backoff import CONFLICT_BACKOFF, FAILURE_BACKOFF, MAX_PROGRESS, Backoff
from dynamo_ctrl.queue.priority import AGEING, Ageing


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """How a controller works through its queue. Times are seconds.

    Attributes:
        workers: how many keys may be reconciled at the same time; one key never runs twice at once.
        failures: the back-off of a key after an error.
        conflicts: the back-off of a key after a conflict.
        max_progress: how often in a row a key may ask to run again at once.
        priorities: whether the queue has priorities; without, keys go in the order in which they come.
        ageing: how long low priorities may be overtaken by higher ones.
        debounce: how long an event waits for others of its key, so that all of them are one run; 0 for not at all.
        timeout: the deadline of a reconcile that awaits something; 0 for none. A plain function cannot be interrupted.
        recover_panic: whether an exception that nobody planned for costs its key a back-off; otherwise it ends the controller.
        warm_up: whether a replica that does not lead watches already, so that it can work as soon as it does.
        slice: of the loop's time that a worker takes before it lets others run.
        echo: when writes that come back again and again are told, and slowed down.
    """

    workers: int = 1
    failures: Backoff = FAILURE_BACKOFF
    conflicts: Backoff = CONFLICT_BACKOFF
    max_progress: int = MAX_PROGRESS
    priorities: bool = True
    ageing: Ageing = AGEING
    debounce: float = 0.0
    timeout: float = 0.0
    recover_panic: bool = True
    warm_up: bool = True
    slice: float = 0.002
    echo: EchoOptions = field(default_factory=EchoOptions)

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        if self.workers < 1:
            raise ValueError(f"workers: must be at least 1, got {self.workers}")
        if self.max_progress < 0:
            raise ValueError(f"max_progress: must not be negative, got {self.max_progress}")
        if not self.slice > 0:
            raise ValueError(f"slice: must be positive, got {self.slice}")
        for name in ("debounce", "timeout"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: must be a number of seconds, not negative, got {getattr(self, name)}")
