"""Measurements that are more than one process: a control, a writer, a player."""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Final

from tests.benchmarks.plan import Place, Take, Way
from tests.benchmarks.process import TIMED, Answer, Child, MeasurementFailed, on_core, scratch, take
from tests.benchmarks.programs import Library

WRITING: Final = 10
"""Seconds that the writer of a latency writes."""

IDLE: Final = 2
"""Seconds without an event after which its reader has seen them all."""

ANSWERING: Final = 30.0
"""Seconds for the small programs beside a measurement."""


def timed(place: Place, way: Way, timeout: float) -> Answer:
    """The program is told when it was started."""
    return take((*TIMED, *place.command(way)), place.surroundings(way), timeout)


def controlled(place: Place, way: Way, timeout: float) -> Answer:
    """The same ticker runs in an idle process meanwhile."""
    with scratch() as directory:
        end = directory / "end"
        ticker = (*place.programs.commands[Library.OURS], "tests.benchmarks.ours.ticker", str(end))
        with Child(ticker, place.environment) as control:
            try:
                answer = take(place.command(way), place.surroundings(way), timeout)
            finally:
                end.touch()
            answer["control"] = control.answer(ANSWERING)["ticker"]
    return answer


def written(rate: int) -> Take:
    """A process of its own writes at that rate; what the reader saw is joined with what it wrote."""
    return functools.partial(_written, rate)


def _written(rate: int, place: Place, way: Way, timeout: float) -> Answer:
    peerbench = place.programs.commands[Library.CONTROLLER_RUNTIME]
    dashes = "-" if way.library is Library.CONTROLLER_RUNTIME else "--"
    with scratch() as directory:
        seen, rows, ready = (directory / name for name in ("seen.csv", "written.csv", "ready"))
        files = (f"{dashes}out", str(seen), f"{dashes}ready", str(ready))
        reading = (*place.command(way), *files, f"{dashes}idle", str(IDLE))
        with Child(reading, place.surroundings(way)) as reader:
            _await(ready, reader, timeout)
            writing = ("writer", "-rate", str(rate), "-seconds", str(WRITING), "-out", str(rows))
            writer = take((*peerbench, *writing), place.environment, WRITING + ANSWERING)
            cost = reader.answer(ANSWERING)
        joined = take((*peerbench, "analyze", "-written", str(rows), "-seen", str(seen)), place.environment, ANSWERING)
    return {**joined, "rate": rate, "achieved": writer["achieved"], "cpu_s": cost["cpu_s"]}


def played(pods: int, events: int) -> Take:
    """That many changes of that many Pods are played to it from the other core."""
    return functools.partial(_played, (str(pods), str(events)))


def _played(stream: tuple[str, str], place: Place, way: Way, timeout: float) -> Answer:
    with scratch() as directory:
        config = directory / "kubeconfig"
        player = (*place.programs.commands[Library.OURS], "tests.benchmarks.ours.player", *stream, str(directory))
        with Child((*on_core(0), *player), {}) as playing:
            _await(config, playing, ANSWERING)
            surroundings = {**place.surroundings(way), "KUBECONFIG": str(config)}
            return take((*on_core(place.core), *place.command(way)), surroundings, timeout)


def _await(path: Path, child: Child, timeout: float) -> None:
    """Returns when the file is there."""
    deadline = time.monotonic() + timeout
    while not path.exists():
        if not child.alive:
            child.answer(0)
            raise MeasurementFailed("it ended too soon")
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"not ready within {timeout:.0f} s")
        time.sleep(0.05)
