"""`RequestNumbers`: counts the requests of an engine as plain numbers; on demand, its histograms too.

Labels are bounded: a combination of labels beyond the first `MAX_SERIES` is counted under the host `other`.
"""

from __future__ import annotations

from collections import defaultdict

from dynamo_ctrl.queue.numbers import Histogram

MAX_SERIES = 500
"""How many combinations of labels are told apart."""

SECONDS: tuple[float, ...] = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""Bucket bounds of every duration of the rest client."""

BYTES: tuple[float, ...] = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
"""Bucket bounds of the sizes of bodies."""

OTHER = "other"
"""The host of what is not told apart."""


class RequestNumbers:
    """The requests of one engine; `count` is given to it as `EngineConfig.on_request`.

    Args:
        histograms: whether to keep them; `histograms` is then given to the engine as `EngineConfig.observer`.
    """

    def __init__(self, *, histograms: bool = False) -> None:
        self.counts: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        self.histograms = RequestHistograms() if histograms else None

    def count(self, method: str, host: str, code: int, seconds: float) -> None:
        """One request was answered, or (code 0) was not."""
        del seconds
        series = (code_label(code), method, host)
        if series not in self.counts and len(self.counts) >= MAX_SERIES:
            series = (series[0], method, OTHER)
        self.counts[series] += 1


class RequestHistograms:
    """What an engine tells about its requests in detail (a `RequestObserver`).

    Attributes:
        duration, turn, sent, received: by verb and host: seconds of an attempt and of the wait before it, bytes of both bodies.
        resolution: by host: seconds of a name look-up.
        retries: by code, verb and host.
    """

    def __init__(self) -> None:
        self.duration: dict[tuple[str, ...], Histogram] = {}
        self.turn: dict[tuple[str, ...], Histogram] = {}
        self.sent: dict[tuple[str, ...], Histogram] = {}
        self.received: dict[tuple[str, ...], Histogram] = {}
        self.resolution: dict[tuple[str, ...], Histogram] = {}
        self.retries: defaultdict[tuple[str, str, str], int] = defaultdict(int)

    def answered(self, verb: str, host: str, seconds: float, sent: int, received: int) -> None:
        """See `RequestObserver`."""
        _observe(self.duration, (verb, host), SECONDS, seconds)
        _observe(self.sent, (verb, host), BYTES, sent)
        _observe(self.received, (verb, host), BYTES, received)

    def retried(self, verb: str, host: str, code: int) -> None:
        """See `RequestObserver`."""
        series = (code_label(code), verb, host)
        if series not in self.retries and len(self.retries) >= MAX_SERIES:
            series = (series[0], verb, OTHER)
        self.retries[series] += 1

    def waited(self, verb: str, host: str, seconds: float) -> None:
        """See `RequestObserver`."""
        _observe(self.turn, (verb, host), SECONDS, seconds)

    def resolved(self, host: str, seconds: float) -> None:
        """See `RequestObserver`."""
        _observe(self.resolution, (host,), SECONDS, seconds)


def code_label(code: int) -> str:
    """The label of a status; `<error>` where there was no answer."""
    return str(code) if code else "<error>"


def _observe(
    series: dict[tuple[str, ...], Histogram], labels: tuple[str, ...], bounds: tuple[float, ...], value: float
) -> None:
    if labels not in series and len(series) >= MAX_SERIES:
        labels = (*labels[:-1], OTHER)
    histogram = series.get(labels)
    if histogram is None:
        histogram = series[labels] = Histogram(bounds)
    histogram.observe(value)
