"""Scaling in the middle of a rollout."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_plane.bounds import Bounds
from data_plane.proportional import Share, spread

START = datetime(2026, 1, 1, tzinfo=UTC)


def share(name: str, size: int, most: int, age: int = 0) -> Share:
    return Share(name, size, most, START - timedelta(seconds=age))


@pytest.mark.parametrize(
    ("limits", "shares", "expected"),
    [
        (Bounds(20, 3), [share("old", 8, 13, 1), share("new", 5, 13)], {"old": 14, "new": 9}),
        (Bounds(5, 3), [share("old", 8, 13, 1), share("new", 5, 13)], {"old": 5, "new": 3}),
        (Bounds(0, 0), [share("old", 8, 13, 1), share("new", 5, 13)], {"old": 0, "new": 0}),
        (Bounds(10, 3), [share("old", 8, 13, 1), share("new", 5, 13)], {"old": 8, "new": 5}),
        (Bounds(11, 0), [share("old", 5, 10, 1), share("new", 5, 10)], {"old": 5, "new": 6}),
        (Bounds(9, 0), [share("old", 5, 10, 1), share("new", 5, 10)], {"old": 4, "new": 5}),
        (Bounds(20, 0), [share("old", 6, 0, 1), share("new", 4, 0)], {"old": 12, "new": 8}),
    ],
    ids=["up", "down", "to zero", "no change", "up: the newer first", "down: the older first", "books are missing"],
)
def test_each_gets_its_share(limits: Bounds, shares: list[Share], expected: dict[str, int]) -> None:
    assert spread(limits, shares, actual=10) == expected


@given(
    replicas=st.integers(0, 60),
    surge=st.integers(0, 10),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=4),
    room=st.integers(0, 10),
)
def test_together_they_make_what_is_allowed(replicas: int, surge: int, sizes: list[int], room: int) -> None:
    most = sum(sizes) + room
    shares = [share(f"rs-{number}", size, most, number) for number, size in enumerate(sizes)]
    spread_sizes = spread(Bounds(replicas, surge), shares, actual=sum(sizes))
    assert all(size >= 0 for size in spread_sizes.values())
    allowed = replicas + surge if replicas else 0
    after, before = sum(spread_sizes.values()), sum(sizes)
    assert after == allowed if allowed >= before else allowed <= after <= before
