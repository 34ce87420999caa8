"""Durations in Go's spelling."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from dynamo_ctrl.objects.duration import Duration, InvalidDuration, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("30s", 30), ("15m", 900), ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), ("-2s", -2), ("10us", 1e-5)],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "PT5M", "1h 5m", "1..5s", "--1s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidDuration, match="expected e"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (30, "30s"), (900, "15m0s"), (5400.5, "1h30m0.5s"), (-60, "-1m0s")]
)
def test_a_duration_is_written_as_go_does(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text


@given(st.timedeltas(min_value=timedelta(days=-999), max_value=timedelta(days=999)))
def test_what_is_written_reads_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


def test_a_model_reads_and_writes_it() -> None:
    class Model(BaseModel):
        d: Duration

    assert Model.model_validate_json('{"d":"90s"}').model_dump_json() == '{"d":"1m30s"}'
    with pytest.raises(ValidationError, match="not a duration"):
        Model.model_validate_json('{"d":"soon"}')
