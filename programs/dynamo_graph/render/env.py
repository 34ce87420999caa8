"""Lists of environment variables: merged by name, sorted, and in an order in which references resolve (P 4.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap

Env = list[dict[str, Any]]
"""Entries as in a container: `name` with `value` or `valueFrom`."""

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^()]*)\)")


def variables(values: Mapping[str, str]) -> Env:
    """Entries with literal values. An empty value is left out, as the server stores it."""
    return [{"name": name, "value": value} if value else {"name": name} for name, value in values.items()]


def field_reference(name: str, path: str) -> dict[str, Any]:
    """An entry whose value is a field of the Pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def merge(*sources: Iterable[JsonMap] | None) -> Env:
    """One entry for each name, the last one wins, sorted by name."""
    found = {entry["name"]: dict(entry) for source in sources for entry in source or ()}
    return [found[name] for name in sorted(found)]


def resolvable(env: Sequence[dict[str, Any]]) -> Env:
    """`env` with every entry behind all entries that it refers to by `$(NAME)`; otherwise in the same order.

    Kubernetes resolves references to earlier entries only. Entries that refer to each other keep their order.
    """
    names = {entry["name"] for entry in env}
    waiting = {entry["name"]: references(entry) & names - {entry["name"]} for entry in env}
    left, done, ordered = list(env), set[str](), []
    while left:
        entry = next((entry for entry in left if waiting[entry["name"]] <= done), left[0])
        left.remove(entry)
        done.add(entry["name"])
        ordered.append(entry)
    return ordered


def references(entry: JsonMap) -> set[str]:
    """The names that the value of an entry refers to. `$$(NAME)` is not a reference."""
    return {name for name in _REFERENCE.findall(entry.get("value") or "") if name}


def append(env: Iterable[dict[str, Any]], *additions: dict[str, Any]) -> Env:
    """`env` with the additions at its end, and without earlier entries of their names."""
    names = {entry["name"] for entry in additions}
    return [*(entry for entry in env if entry["name"] not in names), *additions]


def value(env: Iterable[JsonMap] | None, name: str) -> str | None:
    """The literal value of the last entry of that name; `None` without one."""
    found = [entry for entry in env or () if entry.get("name") == name]
    return (found[-1].get("value") or "") if found and "valueFrom" not in found[-1] else None
