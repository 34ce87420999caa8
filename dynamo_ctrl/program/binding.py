"""Binding a write to what it saw.

A JSON patch that begins with `test` operations is carried out only on the object that was read: that uid, and that generation
(so that a status write in between does not disturb it) or, where a kind has no generation or a whole map is created, that
resourceVersion. The engine answers `Conflict` when a test fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dynamo_ctrl.objects.difference import changed_paths
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch, escape

Bound = Literal["uid", "generation", "version"]


def operations(old: JsonMap, new: JsonMap, at: str = "") -> list[dict[str, Any]]:
    """The JSON patch that turns `old` into `new`: objects are entered, everything else is replaced as a whole."""
    found: list[dict[str, Any]] = []
    for key in sorted(old.keys() | new.keys()):
        if key in old and key in new and old[key] is new[key]:
            continue
        path = f"{at}/{escape(key)}"
        if key not in new:
            found.append({"op": "remove", "path": path})
        elif key not in old:
            found.append({"op": "add", "path": path, "value": thaw(new[key])})
        elif isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            found.extend(operations(old[key], new[key], path))
        elif next(changed_paths(old[key], new[key]), None) is not None:
            found.append({"op": "replace", "path": path, "value": thaw(new[key])})
    return found


def bound_patch(seen: Object[Any, Any], changes: Sequence[JsonMap], to: Bound) -> Patch:
    """The patch of `changes` that applies only to the object that was `seen`.

    It is bound to the resourceVersion instead of the generation if the kind has none, and in any case if a change creates
    a whole object (an `add` of a mapping): another writer may have created it in between.
    """
    metadata = seen.metadata
    creates = any(change.get("op") == "add" and isinstance(change.get("value"), Mapping) for change in changes)
    tests: list[JsonMap] = [{"op": "test", "path": "/metadata/uid", "value": metadata.uid}]
    if to == "version" or creates or (to == "generation" and not metadata.generation):
        tests.append({"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version})
    elif to == "generation":
        tests.append({"op": "test", "path": "/metadata/generation", "value": metadata.generation})
    return Patch.json([*tests, *changes])
