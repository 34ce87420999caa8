"""What may not change once a graph is there (G 1.2-1.4, 1.11): the transition rules of `cel`, in Python.

Only admission sees an object and what it replaces. Programs act on what is there, so a graph that was changed by somebody past
admission is brought to what it says now, and is none the worse for it: another type is another generation of Pods. So is a
component that left its graph and came back as another one; its deployment is replaced (`component.orphans.misfits`).
"""

from __future__ import annotations

from collections.abc import Iterator

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.cel import CHANGED
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import GraphSpec


def graph_changes(
    old: GraphSpec | None, new: GraphSpec, what: str = "DynamoGraphDeployment"
) -> Iterator[InvalidObject]:
    """What a new graph (`old` is `None`) or a new spec of a graph must not do."""
    if old is None:
        if new.restart is not None:
            yield InvalidObject(what, "spec.restart", "must be absent when a graph is created")
        return
    if new.backend_framework != old.backend_framework:
        yield InvalidObject(what, "spec.backendFramework", "is immutable and cannot be changed after creation")
    if new.topology_constraint != old.topology_constraint:
        yield InvalidObject(what, "spec.topologyConstraint", CHANGED)
    if _policy(new) != _policy(old):
        yield InvalidObject(what, "spec.experimental.kvTransferPolicy", CHANGED)
    for index, component in enumerate(new.components):
        before = old.component(component.name)
        if before is not None:
            yield from component_changes(before, component, what, f"spec.components[{index}]")


def component_changes(old: Component, new: Component, what: str, path: str) -> Iterator[InvalidObject]:
    """What a new form of a component must not do; `path` is where it stands."""
    if old.type is not None and new.type != old.type:
        yield InvalidObject(what, f"{path}.type", "is immutable once set")
    if old.min_available is not None and new.min_available != old.min_available:
        yield InvalidObject(what, f"{path}.minAvailable", "is immutable once set")
    if new.topology_constraint != old.topology_constraint:
        yield InvalidObject(what, f"{path}.topologyConstraint", CHANGED)


def _policy(spec: GraphSpec) -> object:
    return None if spec.experimental is None else spec.experimental.kv_transfer_policy
