"""Writes without a change bring their key back a bounded number of times."""

from __future__ import annotations

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.unmoved import UNMOVED_LIMIT, Unmoved

KEY = Key("ns", "w")


def delays(unmoved: Unmoved, runs: int) -> list[float | None]:
    found = [unmoved.after(KEY, unmoved=True) for _ in range(runs)]
    return [None if delay is None else delay.total_seconds() for delay in found]


def test_the_delay_doubles_and_ends() -> None:
    assert delays(Unmoved(), UNMOVED_LIMIT + 2) == [1.0, 2.0, 4.0, 8.0, 16.0, None, None]


def test_a_run_that_moved_something_ends_the_row() -> None:
    unmoved = Unmoved()
    delays(unmoved, 3)
    assert unmoved.after(KEY, unmoved=False) is None
    assert delays(unmoved, 1) == [1.0]


def test_a_failure_ends_the_row() -> None:
    unmoved = Unmoved()
    delays(unmoved, UNMOVED_LIMIT + 1)
    unmoved.forget(KEY)
    assert delays(unmoved, 1) == [1.0]


def test_each_key_has_a_row_of_its_own() -> None:
    unmoved = Unmoved()
    delays(unmoved, 3)
    later = unmoved.after(Key("ns", "v"), unmoved=True)
    assert later is not None
    assert later.total_seconds() == 1.0
