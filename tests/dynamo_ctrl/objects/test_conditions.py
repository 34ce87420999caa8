"""Conditions: the transition time moves with the status, and with nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from dynamo_ctrl.objects.conditions import Condition, find, is_true, rfc3339, with_condition

OLD = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
NOW = datetime(2026, 1, 2, 12, 0, 0, 999_999, tzinfo=UTC)
WHOLE = NOW.replace(microsecond=0)
READY = Condition(type="Ready", status="True", reason="Up", message="fine", last_transition_time=OLD)


def test_a_new_condition_goes_to_the_end_with_the_present_whole_second() -> None:
    found = with_condition([READY], Condition(type="Other", status="False"), NOW)
    assert [condition.type for condition in found] == ["Ready", "Other"]
    assert found[0] is READY
    assert found[1].last_transition_time == WHOLE


def test_a_changed_status_moves_the_time_in_place() -> None:
    other = Condition(type="Other", status="False", last_transition_time=OLD)
    found = with_condition([READY, other], Condition(type="Ready", status="False"), NOW)
    assert [condition.type for condition in found] == ["Ready", "Other"]
    assert found[0].last_transition_time == WHOLE


@pytest.mark.parametrize(
    "change",
    [{"reason": "Other"}, {"message": "still fine"}, {"observed_generation": 4}, {"last_transition_time": NOW}],
)
def test_everything_else_keeps_the_time(change: dict[str, object]) -> None:
    (found,) = with_condition([READY], READY.model_copy(update=change), NOW)
    assert found.last_transition_time == OLD
    assert found == READY.model_copy(update={**change, "last_transition_time": OLD})


def test_a_condition_without_a_time_gets_one() -> None:
    (found,) = with_condition([Condition(type="Ready", status="True")], READY, NOW)
    assert found.last_transition_time == WHOLE


def test_setting_the_same_condition_again_changes_nothing() -> None:
    once = with_condition([READY], READY, NOW)
    assert once == (READY,)
    assert with_condition(once, READY, NOW + timedelta(days=1)) == once


def test_reading() -> None:
    assert find([READY], "Ready") is READY
    assert find([READY], "Other") is None
    assert is_true([READY], "Ready")
    assert not is_true([READY], "Other")
    assert not is_true([Condition(type="Ready", status="Unknown")], "Ready")


def test_a_condition_is_frozen_and_its_status_is_one_of_three() -> None:
    with pytest.raises(ValidationError):
        READY.status = "False"
    with pytest.raises(ValidationError):
        Condition(type="Ready", status="Maybe")  # type: ignore[arg-type]


def test_it_is_written_as_the_wire_has_it() -> None:
    local = datetime(2026, 1, 1, 14, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(local) == "2026-01-01T12:00:00Z"
    written = READY.model_copy(update={"observed_generation": 2}).model_dump(mode="json", by_alias=True)
    assert written == {
        "type": "Ready",
        "status": "True",
        "reason": "Up",
        "message": "fine",
        "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    }
    assert Condition.model_validate(written) == READY.model_copy(update={"observed_generation": 2})
