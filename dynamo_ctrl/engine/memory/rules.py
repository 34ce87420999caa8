"""The rules of one value in a structural schema: lengths, ranges, patterns, formats and compositions.

A rule is compiled once into a function `(value, path, where) -> errors`: `path` is for the causes, `where` for messages.
A rule says nothing about a value of a type that it is not made for.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, Protocol, TypeAlias

from dynamo_ctrl.engine.memory.field_error import FieldError, invalid_value, unsupported, wrong_type


class Checker(Protocol):
    """A compiled schema, as compositions use it."""

    def errors(self, value: Any, path: str) -> Iterator[FieldError]:
        """The rules that `value` breaks."""


Compile: TypeAlias = Callable[[Mapping[str, Any]], Checker]
Rule: TypeAlias = Callable[[Any, str, str], Iterable[FieldError]]

_NOWHERE: Final = "<nil>"
_INTEGERS: Final = {"int32": 2**31, "int64": 2**63}
_DURATION: Final = re.compile(r"-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+")


def constraints(source: Mapping[str, Any], compile_: Compile) -> tuple[Rule, ...]:
    """The rules that a schema node states about its own value. `compile_` makes a checker of the branch of a composition."""
    made = (
        _enum(source),
        _text(source),
        _number(source),
        _length(source),
        _format(source),
        *_compositions(source, compile_),
    )
    return tuple(rule for rule in made if rule is not None)


def broken(rules: Iterable[Rule], value: Any, path: str, where: str) -> Iterator[FieldError]:
    """The errors of all rules."""
    for rule in rules:
        yield from rule(value, path, where)


def _enum(source: Mapping[str, Any]) -> Rule | None:
    allowed = source.get("enum")
    if not allowed:
        return None

    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if value not in allowed:
            yield unsupported(path, value, allowed)

    return rule


def go_pattern(text: str) -> re.Pattern[str]:
    """A regular expression of Go, as Python's: `$` is the end of the text. Raises `re.error`."""
    if text.endswith("$") and not text.endswith(r"\$"):
        text = rf"{text[:-1]}\Z"
    return re.compile(text, re.ASCII)


def _text(source: Mapping[str, Any]) -> Rule | None:
    shortest, longest, pattern = source.get("minLength"), source.get("maxLength"), source.get("pattern")
    if shortest is None and longest is None and not pattern:
        return None
    compiled = go_pattern(pattern) if pattern else None

    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if not isinstance(value, str):
            return
        if longest is not None and len(value) > longest:
            yield FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {longest} bytes")
        elif shortest is not None and len(value) < shortest:
            yield invalid_value(path, value, f"{where} in body should be at least {shortest} chars long")
        elif compiled is not None and not compiled.search(value):
            yield invalid_value(path, value, f"{where} in body should match '{pattern}'")

    return rule


def _number(source: Mapping[str, Any]) -> Rule | None:
    multiple, least, most = source.get("multipleOf"), source.get("minimum"), source.get("maximum")
    if multiple is None and least is None and most is None:
        return None
    above, below = bool(source.get("exclusiveMinimum")), bool(source.get("exclusiveMaximum"))

    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if multiple is not None and value % multiple:
            yield invalid_value(path, value, f"{where} in body should be a multiple of {multiple}")
        if most is not None and (value >= most if below else value > most):
            bound = "less than" if below else "less than or equal to"
            yield invalid_value(path, value, f"{where} in body should be {bound} {most}")
        if least is not None and (value <= least if above else value < least):
            bound = "greater than" if above else "greater than or equal to"
            yield invalid_value(path, value, f"{where} in body should be {bound} {least}")

    return rule


def _length(source: Mapping[str, Any]) -> Rule | None:
    fewest_items, most_items = source.get("minItems"), source.get("maxItems")
    fewest, most = source.get("minProperties"), source.get("maxProperties")
    if fewest_items is None and most_items is None and fewest is None and most is None:
        return None

    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if isinstance(value, list):
            low, high, what = fewest_items, most_items, "items"
        elif isinstance(value, dict):
            low, high, what = fewest, most, "properties"
        else:
            return
        if low is not None and len(value) < low:
            yield invalid_value(path, len(value), f"{where} in body should have at least {low} {what}")
        if high is not None and len(value) > high:
            yield FieldError(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {high} items")

    return rule


def _is_date_time(text: str) -> bool:
    datetime.fromisoformat(text)
    return "T" in text.upper() and (text[-1] in "zZ" or text[-6] in "+-")


def _is_date(text: str) -> bool:
    return bool(date.fromisoformat(text))


def _is_bytes(text: str) -> bool:
    base64.b64decode(text, validate=True)
    return True


def _is_duration(text: str) -> bool:
    return text == "0" or _DURATION.fullmatch(text) is not None


_TEXT_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "date": _is_date,
    "byte": _is_bytes,
    "duration": _is_duration,
}


def _format(source: Mapping[str, Any]) -> Rule | None:
    name = source.get("format", "")
    if name in _INTEGERS:
        return _integer_format(name, _INTEGERS[name])
    check = _TEXT_FORMATS.get(name)
    if check is None:
        return None

    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if not isinstance(value, str):
            return
        try:
            good = check(value)
        except (ValueError, IndexError, binascii.Error):
            good = False
        if not good:
            yield wrong_type(path, value, f'{where} in body must be of type {name}: "{value}"')

    return rule


def not_an_integer(where: str) -> FieldError:
    """What the server says in addition about a fraction where an integer should be."""
    return invalid_value(_NOWHERE, "", f"Checked value must be of type integer (default format) in {where}")


def _integer_format(name: str, bound: int) -> Rule:
    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if isinstance(value, int) and not -bound <= value < bound:
            text = f"Checked value must be of type integer with format {name} in {where}"
            yield invalid_value(_NOWHERE, "", text)

    return rule


def _compositions(source: Mapping[str, Any], compile_: Compile) -> Iterator[Rule]:
    for name, make in (("allOf", _all_of), ("anyOf", _any_of), ("oneOf", _one_of)):
        branches = source.get(name)
        if branches:
            yield make([compile_(branch) for branch in branches])
    if source.get("not"):
        yield _not(compile_(source["not"]))


def _failures(branches: Iterable[Checker], value: Any, path: str) -> list[list[FieldError]]:
    return [list(branch.errors(value, path)) for branch in branches]


def _all_of(branches: list[Checker]) -> Rule:
    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        failures = _failures(branches, value, path)
        for errors in failures:
            yield from errors
        failed = sum(map(bool, failures))
        if failed:
            tail = ". None validated" if failed == len(branches) else ""
            yield invalid_value(_NOWHERE, "", f'"{where}" must validate all the schemas (allOf){tail}')

    return rule


def _any_of(branches: list[Checker]) -> Rule:
    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        failures = _failures(branches, value, path)
        if all(failures):
            yield invalid_value(_NOWHERE, "", f'"{where}" must validate at least one schema (anyOf)')
            yield from min(failures, key=len)

    return rule


def _one_of(branches: list[Checker]) -> Rule:
    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        failures = _failures(branches, value, path)
        valid = sum(not errors for errors in failures)
        text = f'"{where}" must validate one and only one schema (oneOf). Found'
        if not valid:
            yield invalid_value(_NOWHERE, "", f"{text} none valid")
            yield from min(failures, key=len)
        elif valid > 1:
            yield invalid_value(_NOWHERE, "", f"{text} {valid} valid alternatives")

    return rule


def _not(branch: Checker) -> Rule:
    def rule(value: Any, path: str, where: str) -> Iterator[FieldError]:
        if not list(branch.errors(value, path)):
            yield invalid_value(_NOWHERE, "", f'"{where}" must not validate the schema (not)')

    return rule
