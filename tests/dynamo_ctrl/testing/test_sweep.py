"""Sweeps try what they are asked to, go on after failures, and tell how to try one number alone."""

from __future__ import annotations

import pytest

from dynamo_ctrl.testing.sweep import Sweep


def swept(numbers: range, *, only: int | None = None, every: int = 1) -> tuple[list[int], list[str]]:
    tried: list[int] = []
    lines: list[str] = []
    sweep = Sweep("test_x.py::test", only=only, seeds=None, every=every, report=lines.append)
    sweep("steps", numbers, tried.append)
    return tried, lines


def test_every_number_is_tried_and_their_number_is_reported() -> None:
    tried, (line,) = swept(range(1, 5))
    assert tried == [1, 2, 3, 4]
    assert line.startswith("test_x.py::test: 4 steps in ")


def test_one_number_can_be_tried_alone_and_only_some_of_them() -> None:
    assert swept(range(1, 5), only=7)[0] == [7]
    assert swept(range(1, 8), every=3)[0] == [1, 4, 7]


def test_seeds_are_as_many_as_the_test_thinks_right_unless_somebody_asks() -> None:
    def seeds(asked: int | None) -> range:
        return Sweep("t", only=None, seeds=asked, every=1, report=print).seeds(12)

    assert seeds(None) == range(1, 13)
    assert seeds(3) == range(1, 4)


def test_failures_do_not_end_a_sweep_and_each_is_told_with_its_number() -> None:
    tried: list[int] = []
    lines: list[str] = []

    def run(number: int) -> None:
        tried.append(number)
        assert number not in (2, 4), f"lost key {number}"

    with pytest.raises(AssertionError, match="2 of 5 steps failed: 2, 4") as caught:
        Sweep("t.py::test", only=None, seeds=None, every=1, report=lines.append)("steps", range(1, 6), run)
    assert tried == [1, 2, 3, 4, 5]
    assert "steps 2: AssertionError: lost key 2" in str(caught.value)
    assert lines[0].endswith(", 2 failed")
    assert lines[1:] == [
        "  to try it alone: python -m pytest 't.py::test' --only 2",
        "  to try it alone: python -m pytest 't.py::test' --only 4",
    ]
