"""How long a key waits after a run that did not succeed.

The back-off belongs to the key, not to what wakes it: an event that arrives while a key waits neither shortens the wait nor
makes the next one longer (R 4, 33b). Only a run counts, and only a success forgets. One exception: the first event that brings
a new spec (or the deletion) of the key's own object lets the key run at once, once in each wait, so that a correction does not
sit out the penalty of the mistake (R 7.12); if that run fails too, it was part of the same wait.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential delays: `base`, then twice as long each time, never above `cap`; in seconds (R 3.7).

    It is a `Limiter` (`dynamo_ctrl.queue.limiters`): client-go's exponential failure limiter.
    """

    base: float = 0.005
    cap: float = 1000.0

    def __post_init__(self) -> None:
        """Raises `ValueError` for delays that are not positive, or a cap below the base."""
        if not 0 < self.base <= self.cap < math.inf:
            raise ValueError(f"back-off needs 0 < base <= cap, got base={self.base} cap={self.cap}")

    def delay(self, failures: int, now: float = 0.0) -> float:
        """The delay after that many failures in a row; 0 for none. The time does not matter."""
        del now
        if failures <= 0:
            return 0.0
        # the exponent is bounded before the power is taken: 2.0**1024 is an OverflowError
        return min(self.cap, self.base * 2.0 ** min(failures - 1, 64))


FAILURE_BACKOFF = Backoff()
"""After an error: 5 ms, 10 ms, ... 1000 s."""

CONFLICT_BACKOFF = Backoff(base=0.01, cap=1.0)
"""After a conflict: the watch usually brings the other's write within milliseconds, so the wait stays short."""

MAX_PROGRESS = 10
"""How often in a row a key may ask to run again at once; then it backs off like a failure."""


class Standing:
    """What a key has behind it since its last success.

    Attributes:
        failures: failed runs; those that ended inside the wait for an earlier one are not counted again.
        conflicts: runs in a row that ended in a conflict.
        progress: runs in a row that asked to be run again at once.
        not_before: the end of the wait. No run starts earlier, but for one that a new spec, a deletion, a new API or a
            mended cause (`Watch.mends`) brings.
        spent: whether that one run was had in this wait.
    """

    __slots__ = ("conflicts", "failures", "not_before", "progress", "spent")

    def __init__(self) -> None:
        self.failures = 0
        self.conflicts = 0
        self.progress = 0
        self.not_before = -math.inf
        self.spent = False

    def wait(self, until: float) -> None:
        """A new wait begins."""
        self.not_before = until
        self.spent = False
