"""The owner tree under some objects: graph, components, Deployments, Pods. What the live table and the plain lines show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.readiness import readiness

HIDDEN: tuple[Kind[Any], ...] = (REPLICA_SET,)
"""Kinds between others that nobody asked for: what they own is shown in their place."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object in the tree.

    Attributes:
        depth: 0 for a root.
        kind: CamelCase.
        name: its name.
        ready: whether it is.
        text: what it says of itself, whole.
    """

    depth: int
    kind: str
    name: str
    ready: bool
    text: str


def blockers(found: Sequence[Row]) -> Iterator[Row]:
    """What is not ready and has nothing below it that is not: where to look first. Roots are left out.

    `found` is a tree as `rows` gives it.
    """
    for index, row in enumerate(found):
        if row.depth and not row.ready and all(other.ready for other in _below(found, index)):
            yield row


def _below(found: Sequence[Row], index: int) -> Iterator[Row]:
    for other in found[index + 1 :]:
        if other.depth <= found[index].depth:
            return
        yield other


def rows(view: View, roots: Sequence[Object[Any, Any]], kinds: Sequence[Kind[Any]], depth: int = 0) -> Iterator[Row]:
    """The roots and everything of `kinds` that they control, depth first, ordered by kind and name."""
    for root in roots:
        below = depth
        if root.kind not in HIDDEN:
            state = readiness(root)
            yield Row(depth, root.kind.kind, root.metadata.name, state.ready, state.text)
            below += 1
        for kind in kinds:
            yield from rows(view, view.owned(kind, root), kinds, below)
