"""The back-off between two attempts of a watcher (R 3.1 item 1): grows with failures, forgets after a quiet time."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffOptions:
    """How long to wait after a failure. All times are seconds.

    Attributes:
        base: the first delay.
        factor: what each further failure multiplies it with.
        jitter: the sleep is drawn uniformly from [d, (1 + jitter) d).
        cap: the greatest d.
        reset: after so long without a failure the next one begins at `base` again.
    """

    base: float = 0.8
    factor: float = 2.0
    jitter: float = 1.0
    cap: float = 30.0
    reset: float = 120.0


class Backoff:
    """The delays of one watcher. Pure but for the injected randomness."""

    def __init__(self, options: BackoffOptions, random: Random) -> None:
        self._options = options
        self._random = random
        self._delay = options.base
        self._last: float | None = None

    def next(self, now: float, *, cap: float | None = None) -> float:
        """The seconds to sleep after a failure at `now`; never more than `cap` (before jitter) if that is given."""
        options = self._options
        if self._last is None or now - self._last > options.reset:
            self._delay = options.base
        self._last = now
        delay = min(self._delay, options.cap if cap is None else min(cap, options.cap))
        self._delay = min(self._delay * options.factor, options.cap)
        return delay * (1.0 + options.jitter * self._random.random())
