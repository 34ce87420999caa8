"""The quick part: the in-process rows of ours alone, small, to see that they run. No server, no peers, no goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tests.benchmarks import takes
from tests.benchmarks.experiments import WORKERS
from tests.benchmarks.plan import Place, Read, Take, Way, alone, at
from tests.benchmarks.process import MeasurementFailed
from tests.benchmarks.programs import Library, find_programs
from tests.benchmarks.ways import ours

PODS: Final = 500
TIMEOUT: Final = 45.0
"""Seconds for one measurement; all of them together stay under five minutes."""

_SMALL: Final = ("--engine", "memory", "--n", PODS)
_PLAYED: Final = (PODS, 5_000)

Figures = Mapping[str, tuple[str, Read]]
"""What is told of an answer: the figure's name, its unit, and where it is."""

_LOOKUPS: Final[Figures] = {
    "get": ("ns", at("get_spread.ns")),
    "index": ("ns", at("index_spread.ns")),
    "label": ("ns", at("label.ns")),
}
_QUEUE: Final[Figures] = {
    "queue, one at a time": ("ns", at("pingpong.ns")),
    "queue, 10,000 at a time": ("ns", at("batch10k.ns")),
}
_EVENTS: Final[Figures] = {"events": ("us of CPU per event", at("cpu_us"))}


def _reconcile(workers: int) -> Figures:
    return {f"reconcile, workers: {workers}": ("us of CPU per reconcile", at("cpu_us"))}


MEASUREMENTS: Final[tuple[tuple[Way, Take, Figures], ...]] = (
    (ours("queue", "--seconds", 0.2), alone, _QUEUE),
    (ours("lookup", *_SMALL, "--seconds", 0.2), alone, _LOOKUPS),
    *(
        (ours("steady", *_SMALL, "--total", 20_000, "--window", 100, "--workers", workers), alone, _reconcile(workers))
        for workers in WORKERS
    ),
    (ours("events", "--n", _PLAYED[0], "--events", _PLAYED[1]), takes.played(*_PLAYED), _EVENTS),
)


def main(progress: Callable[[str], None]) -> int:
    """Returns 0 when everything could be measured, else 1."""
    place = Place(find_programs({Library.OURS}, progress), {})
    code = 0
    for way, take, figures in MEASUREMENTS:
        try:
            answer = take(place, way, TIMEOUT)
        except MeasurementFailed as failure:
            print(f"{', '.join(figures)}: FAILED: {failure}")
            code = 1
            continue
        for name, (unit, read) in figures.items():
            print(f"{name}: {read(answer):,.3g} {unit}")
    return code
