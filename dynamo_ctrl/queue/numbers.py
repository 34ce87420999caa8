"""What a queue counts, as plain numbers. A collector reads them when somebody scrapes; counting costs an addition.

The names on the wire are client-go's (R 3.14); they are given where the numbers are collected.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

DURATION_BOUNDS: tuple[float, ...] = tuple(10.0**exponent for exponent in range(-8, 4))
"""Bucket bounds of the queue's and the work's duration, in seconds: twelve powers of ten."""


class Histogram:
    """Counts of observations by upper bound, as Prometheus means them: a value equal to a bound is inside it.

    Attributes:
        bounds: ascending upper bounds; a last bucket without bound follows.
        counts: observations by bucket, not cumulative.
        sum: of all observed values.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """How many values were observed."""
        return sum(self.counts)

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """Pairs of bound and number of observations at or below it; the last bound is infinite."""
        return zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True)


class QueueNumbers:
    """The counters of one queue.

    Attributes:
        adds: keys that became ready, or dirty while they ran.
        gets: runs that were handed out.
        retries: delayed adds, for whatever reason.
        waited: from becoming ready to being handed out, in seconds.
        worked: from being handed out to being done, in seconds.
    """

    __slots__ = ("adds", "gets", "retries", "waited", "worked")

    def __init__(self) -> None:
        self.adds = 0
        self.gets = 0
        self.retries = 0
        self.waited = Histogram(DURATION_BOUNDS)
        self.worked = Histogram(DURATION_BOUNDS)
