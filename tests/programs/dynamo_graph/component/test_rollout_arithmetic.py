"""G 3.6.3-3.6.5: budgets, the next sizes of new and old generations, and how old ones share what is left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_graph.component.rollout_arithmetic import (
    DEFAULT_SHARE,
    Budget,
    Counts,
    OldSize,
    Targets,
    budget,
    distributed,
    recreate_targets,
    rolling_targets,
)

Numbers = tuple[int, int, int, int]
LATE = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 1, (1, 0), id="T-ROLL-01"),
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 2, (1, 0), id="T-ROLL-02"),
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 3, (1, 0), id="T-ROLL-03"),
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 4, (1, 1), id="T-ROLL-04"),
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 10, (3, 2), id="T-ROLL-05"),
        pytest.param("2", DEFAULT_SHARE, 4, (2, 1), id="T-ROLL-06"),
        pytest.param(DEFAULT_SHARE, "0", 4, (1, 0), id="T-ROLL-07"),
        pytest.param("50%", DEFAULT_SHARE, 4, (2, 1), id="T-ROLL-08"),
        pytest.param(DEFAULT_SHARE, "50%", 4, (1, 2), id="T-ROLL-09"),
        pytest.param("0", "0", 4, (1, 0), id="T-ROLL-10"),
        pytest.param("0", "1", 4, (0, 1), id="T-ROLL-11"),
        pytest.param("34%", DEFAULT_SHARE, 3, (2, 0), id="T-ROLL-12"),
        pytest.param(DEFAULT_SHARE, "34%", 3, (1, 1), id="T-ROLL-13"),
        pytest.param("abc", "xyz", 4, (1, 0), id="T-ROLL-14"),
        pytest.param(DEFAULT_SHARE, DEFAULT_SHARE, 0, (1, 0), id="T-ROLL-15"),
        pytest.param("-1", "-25%", 4, (1, 0), id="negative is nothing"),
        pytest.param("+2", "+25%", 4, (2, 1), id="a sign"),
        pytest.param("9" * 5000, "25 %", 4, (1, 0), id="absurd is nothing"),
        pytest.param("٣", "2.5%", 4, (1, 0), id="no number of ours"),
        pytest.param("100%", "100%", 3, (3, 3), id="everything"),
    ],
)
def test_the_budget(surge: str, unavailable: str, desired: int, expected: tuple[int, int]) -> None:
    assert budget(desired, surge, unavailable) == Budget(*expected)


def step(size: tuple[int, int, int], numbers: Numbers) -> tuple[int, int]:
    desired, surge, unavailable = size
    o, oa, n, na = numbers
    counts = Counts(old=o, old_available=oa, new=n, new_available=na)
    found = rolling_targets(desired, Budget(surge, unavailable), counts)
    return found.old, found.new


@pytest.mark.parametrize(
    ("size", "numbers", "expected"),
    [
        pytest.param((4, 1, 1), (4, 4, 0, 0), (3, 1), id="T-ROLL-16"),
        pytest.param((4, 1, 1), (3, 3, 1, 0), (3, 2), id="T-ROLL-17"),
        pytest.param((4, 1, 1), (3, 3, 1, 1), (2, 2), id="T-ROLL-18"),
        pytest.param((4, 1, 1), (4, 2, 0, 0), (3, 1), id="T-ROLL-19"),
        pytest.param((4, 1, 1), (4, 0, 0, 0), (3, 1), id="T-ROLL-20"),
        pytest.param((1, 1, 0), (1, 1, 0, 0), (1, 1), id="T-ROLL-21"),
        pytest.param((1, 1, 0), (1, 1, 1, 0), (1, 1), id="T-ROLL-22"),
        pytest.param((1, 1, 0), (1, 1, 1, 1), (0, 1), id="T-ROLL-23"),
        pytest.param((2, 1, 0), (2, 2, 1, 0), (2, 1), id="T-ROLL-24"),
        pytest.param((2, 1, 0), (2, 2, 1, 1), (1, 1), id="T-ROLL-25"),
        pytest.param((2, 0, 1), (2, 2, 0, 0), (1, 0), id="T-ROLL-26"),
        pytest.param((3, 1, 0), (5, 3, 0, 0), (3, 0), id="T-ROLL-27"),
        pytest.param((15, 4, 3), (25, 15, 0, 0), (12, 0), id="T-ROLL-28"),
        pytest.param((0, 1, 0), (2, 2, 0, 0), (0, 0), id="T-ROLL-29"),
        pytest.param((2, 1, 0), (2, 2, 4, 4), (0, 2), id="T-ROLL-30"),
    ],
)
def test_the_next_sizes(size: tuple[int, int, int], numbers: Numbers, expected: tuple[int, int]) -> None:
    assert step(size, numbers) == expected


@dataclass(frozen=True, slots=True)
class Run:
    """A whole rollout: the size, its bounds, and what each pass observes."""

    size: tuple[int, int, int]
    seen: str


RUNS = [
    pytest.param(Run((4, 1, 1), "4400 4410 3311 2221 2232 1133 0043 0044"), id="T-ROLL-31"),
    pytest.param(Run((2, 1, 0), "2200 2210 2211 1111 1121 1122 0022"), id="T-ROLL-32"),
    pytest.param(Run((3, 0, 1), "3300 3300 2200 2210 2211 1111 1121 1122 0022 0032 0033"), id="T-ROLL-33"),
    pytest.param(Run((2, 2, 0), "2200 2220 2222 0022"), id="T-ROLL-34"),
]


@pytest.mark.parametrize("run", RUNS)
def test_a_rollout_from_its_first_pass_to_its_last(run: Run) -> None:
    """The first pass only makes the target. New replicas are available one pass later, old ones leave at once."""
    desired, surge, unavailable = run.size
    numbers: Numbers = (desired, desired, 0, 0)
    seen = [numbers]
    pending = True
    while numbers != (0, 0, desired, desired):
        o, _, n, _ = numbers
        old, new = step(run.size, numbers)
        old = o if pending else old
        numbers = (old, old, new, n)
        pending = False
        seen.append(numbers)
        assert len(seen) < 20
    assert " ".join("".join(map(str, each)) for each in seen) == run.seen
    assert all(oa + na >= desired - unavailable for _, oa, _, na in seen)
    assert all(o + n <= desired + surge for o, _, n, _ in seen)


SMALL = st.integers(0, 20)


@pytest.mark.parametrize("checked", [pytest.param(True, id="T-ROLL-35")])
@given(data=st.data())
def test_neither_bound_is_ever_left(checked: bool, data: st.DataObject) -> None:
    assert checked
    desired = data.draw(SMALL)
    size = (desired, data.draw(SMALL), data.draw(SMALL))
    o = data.draw(st.integers(0, desired))
    n = data.draw(SMALL)
    oa, na = data.draw(st.integers(0, o)), data.draw(st.integers(0, n))
    old, new = step(size, (o, oa, n, na))
    if old < oa:
        assert old + na >= desired - size[2], "an old side that gives available replicas leaves enough"
    if new > n:
        assert o + new <= desired + size[1], "a new side that grows stays within the surge"
    assert 0 <= old <= o
    assert 0 <= new <= desired


@pytest.mark.parametrize(
    ("new", "drained", "expected"),
    [
        pytest.param(0, False, (0, 0), id="nothing new before the old has ended"),
        pytest.param(0, True, (0, 3), id="everything new then"),
        pytest.param(3, False, (0, 3), id="what runs is not stopped for an old one that turns up"),
        pytest.param(5, False, (0, 3), id="but never more than desired"),
    ],
)
def test_recreate(new: int, drained: bool, expected: tuple[int, int]) -> None:
    assert recreate_targets(3, new, drained=drained) == Targets(*expected)


def old(name: str, age: int, replicas: int, available: int) -> OldSize:
    return OldSize(name=name, created=LATE - timedelta(hours=age), replicas=replicas, available=available)


@pytest.mark.parametrize(
    ("target", "olds", "expected"),
    [
        pytest.param(15, (old("a", 2, 15, 15), old("b", 1, 10, 0)), {"a": 15, "b": 0}, id="T-ROLL-36"),
        pytest.param(3, (old("a", 2, 3, 3), old("b", 1, 1, 1)), {"a": 2, "b": 1}, id="T-ROLL-37"),
        pytest.param(15, (old("a", 2, 15, 12), old("b", 1, 10, 0)), {"a": 12, "b": 3}, id="T-ROLL-38"),
        pytest.param(0, (old("a", 2, 3, 3), old("b", 1, 2, 1)), {"a": 0, "b": 0}, id="T-ROLL-39"),
        pytest.param(2, (old("a", 1, 2, 2), old("b", 1, 2, 2)), {"a": 0, "b": 2}, id="T-ROLL-40"),
        pytest.param(9, (old("a", 2, 3, 1), old("b", 1, 2, 0)), {"a": 3, "b": 2}, id="never more than was asked for"),
        pytest.param(3, (old("a", 1, 2, 0), old("b", 1, 2, 0)), {"a": 2, "b": 1}, id="of the same age by name"),
        pytest.param(1, (old("a", 1, 1, 5),), {"a": 1}, id="more available than asked for"),
        pytest.param(0, (), {}, id="nothing to share"),
    ],
)
def test_how_old_generations_share(target: int, olds: tuple[OldSize, ...], expected: dict[str, int]) -> None:
    assert distributed(target, olds) == expected
    assert distributed(target, reversed(olds)) == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8), st.integers(0, 8)), max_size=5), st.integers(0, 40))
def test_shares_add_up_and_keep_what_is_available_first(sizes: list[tuple[int, int, int]], target: int) -> None:
    olds = [
        old(f"o{number}", age, replicas, min(available, replicas))
        for number, (age, replicas, available) in enumerate(sizes)
    ]
    found = distributed(target, olds)
    assert sum(found.values()) == min(target, sum(each.replicas for each in olds))
    for each in olds:
        assert 0 <= found[each.name] <= each.replicas
    if sum(each.available for each in olds) <= target:
        assert all(found[each.name] >= each.available for each in olds)
