"""Durations as Go writes them: `15m`, `1h30m`, `500ms`."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS: Final = {"ns": -9, "us": -6, "µs": -6, "ms": -3}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_WHOLE: Final = re.compile(r"^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$")

PATTERN: Final = r"^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$"
"""The same grammar for a schema."""


class InvalidDuration(ValueError):
    """A text that is not a duration."""


def parse_duration(text: str) -> timedelta:
    """The duration that `text` spells, rounded to microseconds. Raises `InvalidDuration`."""
    if not _WHOLE.match(text):
        raise InvalidDuration(f"not a duration: {text!r} (expected e.g. 30s, 15m, 1h30m)")
    total = Decimal(0)
    for number, unit in _PART.findall(text):
        total += Decimal(number) * _SECONDS[unit] if unit in _SECONDS else Decimal(number).scaleb(_UNITS[unit])
    seconds = timedelta(microseconds=int((total * 1_000_000).to_integral_value()))
    return -seconds if text.startswith("-") else seconds


def format_duration(duration: timedelta) -> str:
    """`duration` as Go writes it: `1h30m0s`, `1.5s`, `0s`; milli- and microseconds as fractions of a second."""
    micros = round(duration / timedelta(microseconds=1))
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    minutes, micros = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{Decimal(micros) / 1_000_000:f}"
    seconds = seconds.rstrip("0").rstrip(".") if "." in seconds else seconds
    return f"{sign}{f'{hours}h' if hours else ''}{f'{minutes}m' if hours or minutes else ''}{seconds}s"


def _read(value: Any) -> Any:
    return parse_duration(value) if isinstance(value, str) else value


Duration = Annotated[
    timedelta,
    BeforeValidator(_read),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": PATTERN}),
]
"""A `metav1.Duration`: Go's spelling on the wire, `timedelta` in Python."""
