"""Kubernetes quantities (`2Gi`, `500m`) and int-or-percent values (`25%`)."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

_QUANTITY: Final = re.compile(r"^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


class InvalidQuantity(ValueError):
    """A text that is not a Kubernetes quantity."""


def parse_quantity(text: str | int | float) -> Decimal:
    """The exact value of a quantity. Raises `InvalidQuantity`."""
    found = _QUANTITY.match(str(text).strip())
    if found is None:
        raise InvalidQuantity(f"not a quantity: {text!r} (expected e.g. 2, 500m, 8Gi)")
    number, suffix, exponent = Decimal(found[1]), found[2] or "", found[3]
    if exponent is not None:
        return number.scaleb(int(exponent))
    if suffix in _BINARY:
        return number * Decimal(1024 ** _BINARY[suffix])
    return number.scaleb(_DECIMAL[suffix])


def scaled(value: int | str | None, total: int, *, round_up: bool, default: int | str = 0) -> int:
    """An int-or-percent value of `total`, as Deployments read maxSurge (rounded up) and maxUnavailable (down).

    `None` reads as `default`. Raises `ValueError` on a text that is neither an integer nor a percentage.
    """
    text = str(default if value is None else value).strip()
    if text.endswith("%"):
        share = Decimal(int(text[:-1])) * total / 100
        return int(share.to_integral_value(ROUND_CEILING if round_up else ROUND_FLOOR))
    return int(text)
