"""Broken rules of single fields, as the API server words them: the causes of a 422 answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

FieldReason = Literal[
    "FieldValueInvalid",
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueNotFound",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule of one field: a cause of a 422 answer."""

    field: str
    reason: FieldReason
    message: str


def quote(value: Any) -> str:
    """A value as the server writes it into a message: strings quoted, everything else as JSON."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026") if text[:1] in "[{" else text


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    """The value breaks a rule."""
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {quote(value)}: {detail}")


def wrong_type(field: str, value: Any, detail: str) -> FieldError:
    """The value is of another JSON type."""
    return FieldError(field, "FieldValueTypeInvalid", f"Invalid value: {quote(value)}: {detail}")


def required(field: str, detail: str = "") -> FieldError:
    """The value is missing."""
    return FieldError(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def forbidden_field(field: str, detail: str) -> FieldError:
    """The field may not be set, or not be changed."""
    return FieldError(field, "FieldValueForbidden", f"Forbidden: {detail}")


def unsupported(field: str, value: Any, values: Sequence[str]) -> FieldError:
    """The value is none of those that are allowed."""
    allowed = ", ".join(quote(v) for v in values)
    return FieldError(
        field, "FieldValueNotSupported", f"Unsupported value: {quote(value)}: supported values: {allowed}"
    )


def duplicate(field: str, value: Any) -> FieldError:
    """The value, or the key of a list entry, is there twice."""
    return FieldError(field, "FieldValueDuplicate", f"Duplicate value: {quote(value)}")
