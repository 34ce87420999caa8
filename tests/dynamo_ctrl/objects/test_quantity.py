"""Quantities and int-or-percent values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dynamo_ctrl.objects.quantity import InvalidQuantity, parse_quantity, scaled


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("2", "2"),
        (2, "2"),
        (0.5, "0.5"),
        ("500m", "0.5"),
        ("1u", "0.000001"),
        ("100n", "0.0000001"),
        ("1k", "1000"),
        ("1M", "1000000"),
        ("1.5G", "1500000000"),
        ("1Ki", "1024"),
        ("8Gi", "8589934592"),
        ("0.5Mi", "524288"),
        ("1Ei", "1152921504606846976"),
        ("1E", "1000000000000000000"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        ("-1.5", "-1.5"),
        ("+3", "3"),
        (".5", "0.5"),
        ("5.", "5"),
        (" 1 ", "1"),
    ],
)
def test_quantities_are_exact(text: str | float, value: str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "x", "1K", "1mi", "1.2.3", "1 Gi", "Gi", "1e", "--1", "1Gi2"])
def test_what_is_not_a_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (3, 10, 3, 3),
        ("3", 10, 3, 3),
        ("25%", 10, 3, 2),
        ("25%", 4, 1, 1),
        ("0%", 9, 0, 0),
        ("100%", 7, 7, 7),
        ("1%", 0, 0, 0),
    ],
)
def test_int_or_percent(value: int | str, total: int, up: int, down: int) -> None:
    assert scaled(value, total, round_up=True) == up
    assert scaled(value, total, round_up=False) == down


def test_an_absent_value_reads_as_the_default() -> None:
    assert scaled(None, 10, round_up=True, default="25%") == 3
    assert scaled(None, 10, round_up=True) == 0


@pytest.mark.parametrize("text", ["x", "x%", "", "1.5"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        scaled(text, 10, round_up=True)
