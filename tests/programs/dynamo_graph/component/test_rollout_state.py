"""G 3.6.1, 3.6.8, 2.8: the phases of a rollout, its times, and what is told of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from dynamo_graph.api.graph_status import RollingUpdateStatus
from dynamo_graph.component.rollout_state import Situation, advanced, is_active, rollout_events

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
THEN = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = NOW.replace(microsecond=0)


def seen(
    *,
    old: bool = False,
    pending: bool = False,
    ready: bool = True,
    updated: tuple[str, ...] = (),
    workers: Any = ("w",),
) -> Situation:
    return Situation(old=old, pending=pending, ready=ready, updated=updated, workers=workers)


def status(phase: Any = "InProgress", **more: Any) -> RollingUpdateStatus:
    return RollingUpdateStatus(phase=phase, start_time=THEN, **more)


DONE = status("Completed", end_time=THEN, updated_components=("w",))


@pytest.mark.parametrize(
    "situation", [seen(pending=True, ready=False), seen(ready=False), seen()], ids=["nothing", "starting", "ready"]
)
@pytest.mark.parametrize("last", [None, DONE], ids=["a new graph", "long after a rollout"])
def test_without_an_old_generation_nothing_rolls(last: RollingUpdateStatus | None, situation: Situation) -> None:
    assert advanced(last, situation, NOW) == last


@pytest.mark.parametrize(
    ("last", "situation", "expected"),
    [
        pytest.param(
            None,
            seen(old=True, pending=True),
            RollingUpdateStatus(phase="Pending", start_time=SECOND),
            id="T-ROLL-64 begins",
        ),
        pytest.param(
            DONE,
            seen(old=True, pending=True),
            RollingUpdateStatus(phase="Pending", start_time=SECOND),
            id="begins after another one",
        ),
        pytest.param(
            None,
            seen(old=True, ready=False),
            RollingUpdateStatus(phase="InProgress", start_time=SECOND),
            id="was found begun",
        ),
        pytest.param(status("Pending"), seen(old=True, ready=False), status(), id="T-ROLL-65 goes on"),
        pytest.param(
            status(updated_components=("w",)), seen(old=True, pending=True), status("Pending"), id="T-ROLL-75 anew"
        ),
        pytest.param(
            status(),
            seen(old=True, updated=("b", "a"), workers=("a", "b", "c")),
            status(updated_components=("a", "b")),
            id="in part",
        ),
        pytest.param(status(), seen(old=True), status(), id="the old ones are still there"),
        pytest.param(status(), seen(ready=False), status(), id="the old ones are gone, the new ones not ready"),
        pytest.param(
            status(updated_components=("w",)),
            seen(workers=("x", "w")),
            status("Completed", end_time=SECOND, updated_components=("w", "x")),
            id="over",
        ),
        pytest.param(
            status(), seen(workers=()), status("Completed", end_time=SECOND), id="T-ROLL-71 over without workers"
        ),
        pytest.param(
            RollingUpdateStatus(phase="InProgress"),
            seen(old=True),
            RollingUpdateStatus(phase="InProgress", start_time=SECOND),
            id="a start that nobody wrote down",
        ),
    ],
)
def test_the_phase_follows_from_what_exists(
    last: RollingUpdateStatus | None, situation: Situation, expected: RollingUpdateStatus
) -> None:
    assert advanced(last, situation, NOW) == expected


def test_a_status_that_stands_is_not_written_again() -> None:
    last = status(updated_components=("w",))
    assert advanced(last, seen(old=True, updated=("w",)), NOW + timedelta(hours=1)) == last


@pytest.mark.parametrize(
    ("phase", "active"), [("", False), ("Pending", True), ("InProgress", True), ("Completed", False)]
)
def test_active(phase: Any, active: bool) -> None:
    assert is_active(status(phase)) is active
    assert not is_active(None)


def told(old: RollingUpdateStatus | None, new: RollingUpdateStatus | None) -> list[tuple[str, str, str]]:
    events = rollout_events(old, new, suffix="bbbbbbbb", recorded="cccccccc")
    return [(event.type, event.reason, event.note) for event in events]


STARTED = ("Normal", "RollingUpdateStarted", "Starting rolling update to worker hash bbbbbbbb")
COMPLETED = ("Normal", "RollingUpdateCompleted", "Rolling update completed, worker hash cccccccc")


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        pytest.param(("", "Pending", "InProgress", "Completed"), [STARTED, COMPLETED], id="T-ROLL-74"),
        pytest.param(("", "Pending", "Pending", "InProgress", "InProgress"), [STARTED], id="T-ROLL-74 repeated"),
        pytest.param(
            ("Completed", "Pending", "InProgress", "Pending", "InProgress", "Completed", "Completed"),
            [STARTED, STARTED, COMPLETED],
            id="T-ROLL-75",
        ),
        pytest.param((None, "InProgress", "Completed"), [STARTED, COMPLETED], id="T-E2E-05 the first phase was lost"),
        pytest.param((None, None), [], id="nothing"),
    ],
)
def test_each_rollout_is_told_once(phases: tuple[Any, ...], expected: list[tuple[str, str, str]]) -> None:
    statuses = [None if phase is None else status(phase) for phase in phases]
    assert [event for pair in pairwise(statuses) for event in told(*pair)] == expected
