"""Label and field selectors: parsed once, written back canonically, matched without I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dynamo_ctrl.objects.frozen import JsonMap

Operator = Literal["=", "!=", "in", "notin", "exists", "!"]

_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_SET = re.compile(r"(\S+)\s+(in|notin)\s*\(([^()]*)\)")


class InvalidSelector(ValueError):
    """A selector that cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One condition on one label key. `=` and `!=` are `in` and `notin` with one value; several values are sorted."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` satisfy this requirement. An absent key satisfies `!=`, `notin` and `!`."""
        value = labels.get(self.key)
        match self.operator:
            case "=" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case _:
                return value is None

    def __str__(self) -> str:
        match self.operator:
            case "=" | "!=":
                return f"{self.key}{self.operator}{self.values[0]}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case "exists":
                return self.key
            case _:
                return f"!{self.key}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold. The empty selector matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read the query form: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Raises `InvalidSelector`."""
        return cls(tuple(_requirement(part, text) for part in _split(text)))

    @classmethod
    def of(cls, labels: Mapping[str, str] | str | LabelSelector | None) -> LabelSelector:
        """A selector from exact labels, from its query form, or itself; `None` matches everything."""
        if labels is None:
            return cls()
        if isinstance(labels, LabelSelector):
            return labels
        if isinstance(labels, str):
            return cls.parse(labels)
        return cls(tuple(Requirement(key, "=", (value,)) for key, value in sorted(labels.items())))

    @classmethod
    def from_object(cls, selector: JsonMap | None) -> LabelSelector:
        """Read the object form, `matchLabels` and `matchExpressions`. `None` matches nothing, `{}` everything.

        Raises:
            InvalidSelector: on an operator that Kubernetes does not know, or an expression without a key.
        """
        if selector is None:
            return NOTHING
        names: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
        exact = cls.of(selector.get("matchLabels") or {}).requirements
        rest = []
        for expression in selector.get("matchExpressions") or ():
            operator = names.get(expression.get("operator", ""))
            if operator is None:
                raise InvalidSelector(f"unknown operator {expression.get('operator')!r} for {expression.get('key')!r}")
            key = expression.get("key")
            if not key:
                raise InvalidSelector(f"an expression with the operator {expression['operator']!r} has no key")
            rest.append(Requirement(key, operator, tuple(sorted(set(expression.get("values") or ())))))
        return cls((*exact, *rest))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether every requirement holds for `labels`."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


EVERYTHING = LabelSelector()
"""Matches every object."""

NOTHING = LabelSelector((Requirement("", "in", ()),))
"""Matches no object."""


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Exact matches on field paths, as `metadata.name=x,status.phase!=Failed`."""

    terms: tuple[tuple[str, bool, str], ...] = ()
    """Path, whether it must be equal, and the value."""

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read the query form. Raises `InvalidSelector`."""
        terms = []
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            path, sign, value = _term(part)
            if not sign or not path:
                raise InvalidSelector(f"not a field selector: {part!r} in {text!r}")
            terms.append((path, sign != "!=", value))
        return cls(tuple(terms))

    def matches(self, content: JsonMap) -> bool:
        """Whether the object satisfies every term; an absent field reads as the empty string."""
        return all((_dig(content, path) == value) is equal for path, equal, value in self.terms)

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __str__(self) -> str:
        return ",".join(f"{path}{'=' if equal else '!='}{value}" for path, equal, value in self.terms)


def _term(part: str) -> tuple[str, str, str]:
    for sign in ("!=", "==", "="):
        path, found, value = part.partition(sign)
        if found:
            return path.strip(), sign, value.strip()
    return part, "", ""


def _dig(content: Any, path: str) -> str:
    for part in path.split("."):
        content = content.get(part) if isinstance(content, Mapping) else None
    if isinstance(content, bool):
        return str(content).lower()
    return "" if content is None else str(content)


def _split(text: str) -> Iterable[str]:
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if text.strip():
        yield text[start:].strip()


def _requirement(part: str, whole: str) -> Requirement:
    operator: Operator
    values: tuple[str, ...]
    if found := _SET.fullmatch(part):
        if not found[3].strip():
            raise InvalidSelector(f"no values for {found[1]!r} in {whole!r}")
        key, operator = found[1], found[2]  # type: ignore[assignment]
        values = tuple(sorted({value.strip() for value in found[3].split(",")}))
    else:
        key, sign, value = _term(part)
        if sign:
            operator, values = ("!=" if sign == "!=" else "="), (value,)
        elif part.startswith("!"):
            key, operator, values = part[1:].strip(), "!", ()
        else:
            key, operator, values = part, "exists", ()
    if not _KEY.fullmatch(key):
        raise InvalidSelector(f"invalid label key {key!r} in {whole!r}")
    for value in values:
        if not _VALUE.fullmatch(value):
            raise InvalidSelector(f"invalid label value {value!r} in {whole!r}")
    return Requirement(key, operator, values)
