"""How values of the user override defaults (P 4.1, 4.3).

The rule is "a non-empty value wins", with these exceptions: env and volumes are merged by name, resources by key, probes are
replaced as a whole (a probe with two handlers is refused by the server), default ports and mounts survive a user's list
under their own names, and a number or flag that is given counts, 0 and false too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_graph.api.names import MAIN
from dynamo_graph.render import env

BY_NAME: Final = frozenset({"ports", "volumeMounts", "volumes"})
"""Lists whose default entries stay unless the user has one of the same name."""


def is_empty(value: Any) -> bool:
    """Whether a value says nothing: null, "", [] or {}. Zero and false say something."""
    return value is None or (isinstance(value, str | Mapping | Sequence) and not value)


def overlay(base: JsonMap, user: JsonMap) -> dict[str, Any]:
    """`base` with the values of `user` over it, both a container or a Pod spec."""
    merged: dict[str, Any] = thaw(base)
    for key, value in user.items():
        if value is None or (is_empty(value) and not is_empty(merged.get(key))):
            continue
        default = merged.get(key)
        if key == "resources" and default:
            merged[key] = _resources(default, value)
        elif key in BY_NAME and default:
            merged[key] = by_name(default, value)
        elif key != "env":
            merged[key] = thaw(value)
    return merged


def overlay_container(base: JsonMap, user: JsonMap, *, name: str = MAIN) -> dict[str, Any]:
    """The user's container over the default one; env is merged, sorted and brought into a resolvable order."""
    merged = overlay(base, user)
    entries = env.resolvable(env.merge(base.get("env"), user.get("env")))
    merged.pop("env", None)
    if entries:
        merged["env"] = entries
    return {**merged, "name": name}


def overlay_pod(base: JsonMap, user: JsonMap) -> dict[str, Any]:
    """The user's Pod spec, without its containers, over the default one."""
    return overlay(base, {key: value for key, value in user.items() if key != "containers"})


def by_name(defaults: Iterable[JsonMap], user: Iterable[JsonMap]) -> list[dict[str, Any]]:
    """The user's entries in their order, then the defaults whose names the user has not used."""
    user = thaw(list(user))
    names = {entry.get("name") for entry in user}
    return [*user, *(thaw(entry) for entry in defaults if entry.get("name") not in names)]


def _resources(default: JsonMap, user: JsonMap) -> dict[str, Any]:
    merged: dict[str, Any] = thaw(default)
    for key, value in user.items():
        if key in ("limits", "requests"):
            merged[key] = {**(merged.get(key) or {}), **(value or {})}
        elif not is_empty(value):
            merged[key] = thaw(value)
    return merged
