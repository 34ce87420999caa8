"""The scaling adapters of a graph: one for each component that asks for one (G 7.1). Pure.

An adapter's replicas are set when it is created and never again: from then on it tells the graph how many, not the other way
round. Labels, reference and owner are kept up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by, owner_reference
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Delete, Effect, Event, Patch, Refuse
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.result import Step
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.names import Label
from dynamo_graph.api.scaling_adapter import (
    DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER,
    DynamoGraphDeploymentScalingAdapter,
)

ADAPTERS_FAILED: Final = "failed to reconcile scaling adapters: "


def adapter_name(graph: str, component: str) -> str:
    """The name of a component's adapter."""
    return f"{graph}-{component.lower()}"


def scaling_adapter_steps(graph: DynamoGraphDeployment, view: View) -> tuple[Step, ...]:
    """What brings the adapters of `graph` to what its components ask for; nothing if they are."""
    wanted = [component for component in graph.spec.components if component.scaling_adapter is not None]
    names = {adapter_name(graph.metadata.name, component.name) for component in wanted}
    effects = [
        *(effect for component in wanted for effect in _kept(graph, component, view)),
        *(
            Delete(target=adapter, event=_event("AdapterDeleted", f"Deleted scaling adapter {adapter.metadata.name}"))
            for adapter in view.owned(DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, graph)
            if adapter.metadata.name not in names
        ),
    ]
    return (Step(name="scaling-adapters", effects=tuple(effects), prefix=ADAPTERS_FAILED),) if effects else ()


def _kept(graph: DynamoGraphDeployment, component: Component, view: View) -> Iterator[Effect]:
    name, namespace = adapter_name(graph.metadata.name, component.name), graph.metadata.namespace
    labels = {Label.GRAPH: graph.metadata.name, Label.COMPONENT: component.name}
    reference = {"name": graph.metadata.name, "componentName": component.name}
    live = view.get(DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, Key(namespace, name))
    if live is None:
        content = {
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {"replicas": component.desired_replicas, "dgdRef": reference},
        }
        event = _event("AdapterCreated", f"Created scaling adapter {name} for component {component.name}")
        yield Create(object=DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER.object(content), event=event)
        return
    owner = live.metadata.controller
    if owner is not None and not is_controlled_by(live, graph):
        message = f"{live.ref} is controlled by {owner.kind} {owner.name} (uid {owner.uid}), not by {graph.ref}"
        yield Refuse(message=message, error=OwnershipConflict(message, live=live))
        return
    patch = _difference(live, labels, reference, graph)
    if patch:
        yield Patch(
            target=live, patch=Change.merge(patch), event=_event("AdapterUpdated", f"Updated scaling adapter {name}")
        )


def _difference(
    live: DynamoGraphDeploymentScalingAdapter,
    labels: dict[str, str],
    reference: dict[str, str],
    graph: DynamoGraphDeployment,
) -> dict[str, Any]:
    """The merge patch of labels, reference and owner; empty if they are as they shall be."""
    metadata: dict[str, Any] = {}
    if any(live.metadata.labels.get(key) != value for key, value in labels.items()):
        metadata["labels"] = labels
    if not is_controlled_by(live, graph):
        references = [*live.metadata.owner_references, owner_reference(graph)]
        metadata["ownerReferences"] = [msgspec.to_builtins(each) for each in references]
    patch: dict[str, Any] = {"metadata": metadata} if metadata else {}
    found = live.content().get("spec", {}).get("dgdRef")
    return patch if found == reference else {**patch, "spec": {"dgdRef": reference}}


def _event(reason: str, note: str) -> Event:
    return Event(type="Normal", reason=reason, note=note, action="ManageAdapters")
