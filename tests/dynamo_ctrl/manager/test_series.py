"""Which events are repeats of one another, and when that is told (R 3.11)."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.manager.series import HEARTBEAT, SILENCE, Series, SeriesBook, SeriesKey
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.effect import Event

WALL = datetime(2026, 1, 1, tzinfo=UTC)
BASE: dict[str, Any] = {"type": "Normal", "action": "Act", "reason": "R", "note": "n"}


def key(
    kind: Kind[Any] = CONFIG_MAP,
    name: str = "a",
    namespace: str = "ns",
    uid: str = "u",
    version: str = "1",
    **event: Any,
) -> SeriesKey:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version}
    return SeriesKey.of(kind.object({"metadata": metadata}), Event(**{**BASE, **event}))


@pytest.mark.parametrize(
    "difference",
    [
        {"type": "Warning"}, {"action": "Other"}, {"reason": "Other"}, {"kind": SECRET}, {"name": "b"},
        {"namespace": "other"}, {"uid": "u2"}, {"version": "2"},
    ],
)  # fmt: skip
def test_events_that_differ_in_this_are_different(difference: dict[str, Any]) -> None:
    assert key(**difference) != key()


def test_events_that_differ_only_in_the_note_are_repeats() -> None:
    assert key(note="other") == key()


class Teller:
    """Records into a book, and adds up what is told."""

    def __init__(self, capacity: int = 100) -> None:
        self.book = SeriesBook(capacity)
        self.told: dict[int, int] = {}
        self._bodies = 0

    def event(self, name: str, now: float) -> bool:
        """Returns whether something is to be sent at once."""
        series, telling = self.book.repeat(key(name=name), WALL, now)
        if series is None:
            self._bodies += 1
            series = Series(key(name=name), {"id": self._bodies}, WALL, now)
            self.tell(series)
            ended = self.book.begin(series)
            if ended is not None:
                self.tell(ended)
            return True
        if telling:
            self.tell(series)
        return telling

    def tell(self, series: Series) -> None:
        identity = int(series.body["id"])
        self.told[identity] = series.told
        assert series.told == series.count

    def sweep(self, now: float) -> int:
        due = list(self.book.due(now))
        for series in due:
            self.tell(series)
        return len(due)

    def end(self, now: float) -> None:
        for series in self.book.rest(now):
            self.tell(series)


def test_the_first_and_the_second_are_told_at_once_and_later_ones_with_the_heartbeat() -> None:
    teller = Teller()
    assert [teller.event("a", now) for now in (0, 1, 2, 3)] == [True, True, False, False]
    for now in range(300, 1800, 300):
        teller.event("a", now)
        assert teller.sweep(now) == 0
    teller.event("a", HEARTBEAT)
    assert teller.sweep(HEARTBEAT + 1) == 1
    assert teller.told == {1: 10}
    assert teller.sweep(HEARTBEAT + 2) == 0


def test_a_silent_series_ends_and_is_told_only_if_something_was_not() -> None:
    teller = Teller()
    teller.event("alone", 0)
    for now in range(3):
        teller.event("often", now)
    assert teller.sweep(SILENCE - 1) == 0
    assert teller.sweep(2 + SILENCE) == 1
    assert len(teller.book) == 0
    assert teller.told == {1: 1, 2: 3}


def test_an_event_after_the_silence_begins_a_new_series_also_before_anybody_swept() -> None:
    teller = Teller()
    for now in range(3):
        teller.event("a", now)
    assert teller.event("a", 3 + SILENCE)
    assert teller.told == {1: 3, 2: 1}


def test_r4_37_the_book_is_bounded_and_who_has_to_go_is_told() -> None:
    teller = Teller(capacity=3)
    for _ in range(3):
        teller.event("first", 0)
    for number in range(10):
        teller.event(str(number), 1)
        assert len(teller.book) <= 3
    assert teller.told[1] == 3


def test_what_the_server_did_not_take_is_forgotten() -> None:
    book = SeriesBook()
    series = Series(key(), {}, WALL, 0)
    book.begin(series)
    book.forget(series)
    assert book.repeat(key(), WALL, 1) == (None, False)
    book.forget(series)


@given(
    steps=st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0, 500)), max_size=60),
    capacity=st.integers(1, 4),
)
def test_no_event_is_lost_and_none_is_told_twice(steps: list[tuple[str, float]], capacity: int) -> None:
    teller, now, events = Teller(capacity), 0.0, Counter[str]()
    for name, pause in steps:
        now += pause
        if pause > 250:
            teller.sweep(now)
        teller.event(name, now)
        events[name] += 1
        assert len(teller.book) <= capacity
    teller.end(now)
    assert sum(teller.told.values()) == events.total()
