"""The scale subresource: an object seen as a number of replicas."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.memory.field_error import FieldError, invalid_value
from dynamo_ctrl.engine.memory.served import ScalePaths, Tree
from dynamo_ctrl.engine.memory.shape import ENVELOPE, INT32, METADATA, Fields

SCALE: Final = Fields(
    "v1.Scale",
    **ENVELOPE.fields,
    metadata=METADATA,
    spec=Fields("v1.ScaleSpec", replicas=INT32),
    status=Fields("v1.ScaleStatus"),
)
"""What a Scale looks like."""


def scale_of(tree: Tree, paths: ScalePaths) -> Tree:
    """The `autoscaling/v1` Scale of an object."""
    metadata = {
        field: tree["metadata"][field]
        for field in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if field in tree["metadata"]
    }
    replicas, selector = dig(tree, paths.replicas), dig(tree, paths.selector) if paths.selector else None
    status: Tree = {"replicas": dig(tree, paths.status) or 0}
    if isinstance(selector, dict):
        selector = ",".join(f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items()))
    if selector:
        status["selector"] = selector
    spec = {"replicas": replicas} if replicas else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def with_replicas(tree: Tree, paths: ScalePaths, replicas: int) -> Tree:
    """The object after its scale was set."""
    *parents, last = paths.replicas.split(".")
    new = place = dict(tree)
    for part in parents:
        inner = dict(place.get(part) or {})
        place[part] = inner
        place = inner
    place[last] = replicas
    return new


def dig(tree: Any, path: str) -> Any:
    """The value at a dotted path, `None` when there is none."""
    for part in path.split("."):
        if not isinstance(tree, dict):
            return None
        tree = tree.get(part)
    return tree


def scale_errors(tree: Tree, paths: ScalePaths | None) -> list[FieldError]:
    """What makes the numbers of a custom object useless for a scale."""
    errors: list[FieldError] = []
    for path in (paths.replicas, paths.status) if paths else ():
        fault = _accessor_fault(tree, path)
        if fault is not None:
            errors.append(invalid_value(f".{path}", 0, f".{path} accessor error: {fault}"))
            continue
        value = dig(tree, path)
        if isinstance(value, int) and value < 0:
            errors.append(invalid_value(f".{path}", value, "should be a non-negative integer"))
    return errors


def _accessor_fault(tree: Any, path: str) -> str | None:
    *parents, last = path.split(".")
    for part in parents:
        tree = tree.get(part)
        if tree is None:
            return None
        if not isinstance(tree, dict):
            return f"{_go_text(tree)} is of the type {_go_type(tree)}, expected map[string]interface{{}}"
    value = tree.get(last)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return None
    return f"{_go_text(value)} is of the type {_go_type(value)}, expected int64"


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def _go_text(value: Any) -> str:
    """A value as Go's `%v` prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go_text(each)}' for key, each in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_go_text, value))}]"
    return value if isinstance(value, str) else "<nil>" if value is None else msgspec.json.encode(value).decode()
