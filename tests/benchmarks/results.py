"""From answers to figures: medians, ratios, and whether a goal is met."""

from __future__ import annotations

import operator
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks.plan import Against, Line, Read
from tests.benchmarks.process import Answer

Answers = Mapping[tuple[str, str], Sequence[Answer]]
"""The answers by experiment and way."""

_GOAL: Final = re.compile(r"(?P<rule><=|>=) (?P<number>\d+(\.\d+)?)")
_RULES: Final[Mapping[str, Callable[[float, float], bool]]] = {"<=": operator.le, ">=": operator.ge}


def meets(ratio: float, goal: str) -> bool:
    """Whether `ratio` is as `goal` says, e.g. `<= 0.6`. Raises `ValueError` for a goal that cannot be read."""
    found = _GOAL.fullmatch(goal)
    if found is None:
        raise ValueError(f"{goal!r} is no goal; one reads like '<= 0.6'")
    return _RULES[found["rule"]](ratio, float(found["number"]))


@dataclass(frozen=True)
class Spread:
    """One figure over the rounds."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The one that counts."""
        return statistics.median(self.values)

    @property
    def least(self) -> float:
        """The smallest."""
        return min(self.values)

    @property
    def most(self) -> float:
        """The largest."""
        return max(self.values)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One line of the table.

    Attributes:
        line: which figure.
        against: with whom; `None` where ours stands alone.
        ours, theirs: `None` where nothing could be measured.
        setting: their way that was best.
    """

    line: Line
    against: Against | None
    ours: Spread | None
    theirs: Spread | None = None
    setting: str | None = None

    @property
    def goal(self) -> str | None:
        """What the ratio has to be."""
        return self.against.goal if self.against is not None else None

    @property
    def ratio(self) -> float | None:
        """Of the medians, ours / theirs; `None` where theirs is not positive: an event may overtake the answer of its write."""
        if self.ours is None or self.theirs is None or self.theirs.median <= 0:
            return None
        return self.ours.median / self.theirs.median

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; `None` without a goal or without a figure. Without a ratio, ours must not be worse."""
        if self.goal is None or self.ours is None or self.theirs is None:
            return None
        if self.ratio is None:
            return self.ours.median <= self.theirs.median
        return meets(self.ratio, self.goal)

    def row(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "id": self.line.row,
            "figure": self.line.figure,
            "peer": self.against.peer if self.against is not None else None,
            "setting": self.setting,
            "ours": _rounded(self.ours.median if self.ours else None),
            "theirs": _rounded(self.theirs.median if self.theirs else None),
            "unit": self.line.unit,
            "ratio": _rounded(self.ratio),
            "goal": self.goal,
            "met": self.met,
            "rounds": len(self.ours.values) if self.ours else 0,
            "ours_range": [_rounded(self.ours.least), _rounded(self.ours.most)] if self.ours else None,
            "theirs_range": [_rounded(self.theirs.least), _rounded(self.theirs.most)] if self.theirs else None,
            "server_bound": self.line.server_bound,
        }


def compare(lines: Iterable[Line], answers: Answers) -> list[Compared]:
    """Every figure beside every peer."""
    compared: list[Compared] = []
    for line in lines:
        ours = _spread(answers.get((line.experiment, line.way), ()), line.read)
        compared += [_beside(line, against, ours, answers) for against in line.against] or [
            Compared(line=line, against=None, ours=ours)
        ]
    return compared


def _beside(line: Line, against: Against, ours: Spread | None, answers: Answers) -> Compared:
    experiment = against.experiment or line.experiment
    read = against.read or line.read
    found = {way: _spread(answers.get((experiment, way), ()), read) for way in against.ways}
    spreads = {way: spread for way, spread in found.items() if spread is not None}
    if not spreads:
        return Compared(line=line, against=against, ours=ours)
    choose = max if line.higher else min
    best = choose(spreads, key=lambda way: spreads[way].median)
    return Compared(line=line, against=against, ours=ours, theirs=spreads[best], setting=best)


def _spread(answers: Sequence[Answer], read: Read) -> Spread | None:
    return Spread(tuple(read(answer) for answer in answers)) if answers else None


def _rounded(value: float | None) -> float | None:
    """Four digits that count."""
    return None if value is None else float(f"{value:.4g}")
