"""The vocabulary of a run: ways to do the same work, experiments that take them in turn, and the lines that compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.benchmarks.process import Answer, take
from tests.benchmarks.programs import Library, Programs
from tests.benchmarks.scenes import Scene

ROUNDS: Final = 3


@dataclass(frozen=True)
class Way:
    """One library doing the work of an experiment, with one setting.

    Attributes:
        name: unique in its experiment.
        library: whose program.
        arguments: of that program.
        environment: settings that are no arguments.
    """

    name: str
    library: Library
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Place:
    """Where a measurement is taken.

    Attributes:
        programs: what is installed.
        environment: leads a program to the server.
        core: the core that is left to the measured process where one core is asked for.
    """

    programs: Programs
    environment: Mapping[str, str]
    core: int = 0

    def command(self, way: Way) -> tuple[str, ...]:
        """What runs that way."""
        return (*self.programs.commands[way.library], *way.arguments)

    def surroundings(self, way: Way) -> dict[str, str]:
        """The environment that it runs in."""
        return {**self.environment, **way.environment}


Take = Callable[[Place, Way, float], Answer]
"""Takes one measurement within so many seconds. Raises `MeasurementFailed`."""


def alone(place: Place, way: Way, timeout: float) -> Answer:
    """The program runs by itself."""
    return take(place.command(way), place.surroundings(way), timeout)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Some ways to do the same work, taken round robin so that drift of the machine hits all alike.

    Attributes:
        name: unique.
        scene: what is on the server.
        ways: ours first.
        take: how one measurement is taken.
        timeout: seconds for one.
        rounds: how often each way is taken.
        warm_up: a first measurement is thrown away: it warms the server.
    """

    name: str
    scene: Scene
    ways: tuple[Way, ...]
    take: Take = alone
    timeout: float = 90.0
    rounds: int = ROUNDS
    warm_up: bool = False


Read = Callable[[Answer], float]
"""Takes a figure out of an answer."""


def at(path: str, scale: float = 1.0) -> Read:
    """The number at a dotted path."""

    def read(answer: Answer) -> float:
        value: Any = answer
        for part in path.split("."):
            value = value[part]
        return float(value) * scale

    return read


@dataclass(frozen=True, kw_only=True)
class Against:
    """With whom ours is compared.

    Attributes:
        peer: the name in the table.
        ways: their ways; the one with the best median stands for them.
        goal: what the ratio ours / theirs has to be, as `<= 0.6`; `None` where the figure is only reported.
        read: where their figure is; the line's own place when `None`.
        experiment: where they were measured; the line's own when `None`.
    """

    peer: str
    ways: tuple[str, ...]
    goal: str | None = None
    read: Read | None = None
    experiment: str | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """One figure of ours beside those of the peers.

    Attributes:
        row: the row of the table that it belongs to.
        figure: what is measured.
        unit: of ours and theirs.
        experiment: its name.
        way: ours.
        read: where the figure is in an answer.
        against: the peers; empty where ours is only reported.
        higher: more is better.
        server_bound: most of it is the server's time.
    """

    row: str
    figure: str
    unit: str
    experiment: str
    read: Read
    against: Sequence[Against] = ()
    way: str = "ours"
    higher: bool = False
    server_bound: bool = False
