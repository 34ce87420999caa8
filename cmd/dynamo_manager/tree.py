"""The owner tree under some objects: graph, components, Deployments, Pods. What the live table and the plain lines show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_manager.readiness import readiness


@dataclass(frozen=True, slots=True)
class Row:
    """One object in the tree."""

    depth: int
    kind: str
    name: str
    ready: bool
    text: str


def rows(view: View, roots: Sequence[Object[Any, Any]], kinds: Sequence[Kind[Any]], depth: int = 0) -> Iterator[Row]:
    """The roots and everything of `kinds` that they control, depth first, ordered by kind and name."""
    for root in roots:
        state = readiness(root)
        yield Row(depth, root.kind.kind, root.metadata.name, _looks_ready(root, state.ready), _text(root, state.text))
        for kind in kinds:
            yield from rows(view, view.owned(kind, root), kinds, depth + 1)


def _status(obj: Object[Any, Any]) -> dict[str, Any]:
    section = obj.section("status")
    return msgspec.json.decode(section) if section else {}


def _looks_ready(obj: Object[Any, Any], ready: bool) -> bool:
    if obj.kind.kind == "ReplicaSet":
        wanted = (msgspec.json.decode(obj.section("spec") or b"{}")).get("replicas", 1)
        return bool(_status(obj).get("readyReplicas", 0) >= wanted)
    return ready


def _text(obj: Object[Any, Any], text: str) -> str:
    """Replica counts for what has replicas, the phase for what has one, else the condition's own words."""
    status = _status(obj)
    if obj.kind.kind in ("Deployment", "ReplicaSet"):
        wanted = (msgspec.json.decode(obj.section("spec") or b"{}")).get("replicas", 1)
        return f"{status.get('readyReplicas', 0)}/{wanted} ready"
    if "phase" in status:
        return str(status["phase"])
    return text
