"""The rate limiters of client-go (R 3.7), as small values: how long a key waits after its n-th failure in a row.

A limiter keeps nothing about keys: the queue counts each key's failures and forgets them (client-go's `NumRequeues` and
`Forget`), and tells the count. Only a token bucket has a state, which all keys share.

| client-go | here |
| --- | --- |
| exponential failure | `Backoff(base=0.005, cap=1000.0)` |
| bucket | `TokenBucket(rate=10, burst=100)` |
| max of | `MaxOf(one, other)` |
| fast/slow | `FastSlow(fast=0.005, slow=10, tries=3)` |
| with max wait | `MaxWait(limiter, 60)` |
| default controller limiter | `MaxOf(Backoff(), TokenBucket(rate=10, burst=100))` |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


class Limiter(Protocol):
    """Says how long a key has to wait."""

    def delay(self, failures: int, now: float) -> float:
        """Seconds that a key waits after that many failures in a row (from 1), at the time `now`. It may advance a state."""


class TokenBucket:
    """`rate` tokens a second, `burst` of them at once; a token that is not there yet is reserved, and waited for.

    Raises:
        ValueError: a rate or a burst that is not positive.
    """

    def __init__(self, *, rate: float = 10.0, burst: int = 100) -> None:
        if not 0 < rate < math.inf:
            raise ValueError(f"rate: must be positive, got {rate}")
        if burst < 1:
            raise ValueError(f"burst: must be at least 1, got {burst}")
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = -math.inf

    def delay(self, failures: int, now: float) -> float:
        """The time until the next free token, which is taken. Failures do not matter."""
        del failures
        if now > self._at:
            if self._at > -math.inf:
                self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
            self._at = now
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)


class MaxOf:
    """The longest of the delays of its members. All of them are asked, so all of them advance."""

    def __init__(self, *limiters: Limiter) -> None:
        self._limiters = limiters

    def delay(self, failures: int, now: float) -> float:
        """The longest; 0 without members."""
        return max([limiter.delay(failures, now) for limiter in self._limiters], default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FastSlow:
    """`fast` for the first `tries` failures, `slow` from then on; in seconds."""

    fast: float
    slow: float
    tries: int

    def delay(self, failures: int, now: float = 0.0) -> float:
        """`fast` or `slow`. The time does not matter."""
        del now
        return self.fast if failures <= self.tries else self.slow


class MaxWait:
    """Another limiter, with delays cut to `cap` seconds."""

    def __init__(self, limiter: Limiter, cap: float) -> None:
        self._limiter = limiter
        self._cap = cap

    def delay(self, failures: int, now: float) -> float:
        """The other's delay, or `cap` if that is less."""
        return min(self._limiter.delay(failures, now), self._cap)
