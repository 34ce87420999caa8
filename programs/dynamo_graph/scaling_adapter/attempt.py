"""One attempt at one scaling adapter (G 7.2, 7.3)."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.owners import is_controlled_by
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Event, Patch, Refuse, Retry
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT, DynamoGraphDeployment
from dynamo_graph.api.names import Label
from dynamo_graph.api.scaling_adapter import (
    DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER,
    DynamoGraphDeploymentScalingAdapter,
    ScalingAdapterStatus,
)
from dynamo_graph.component.scaling_adapters import adapter_name

LEADER: Final = "leader"
"""Role of the Pods that stand for their group."""


def attempt(request: Request[DynamoGraphDeploymentScalingAdapter]) -> Result[ScalingAdapterStatus]:
    """Write the adapter's replicas to the graph, then tell the autoscaler so.

    A graph that is not there is an error, since it may come; a component that is not there, or has no adapter, is only told. The
    adapter of a graph that is gone goes as well, and until then it has no say in the next graph of that name.
    """
    adapter = request.object
    reference = adapter.spec.dgd_ref
    graph = request.view.get(DYNAMO_GRAPH_DEPLOYMENT, Key(adapter.metadata.namespace, reference.name))
    if graph is None:
        message = f'DynamoGraphDeployment "{adapter.metadata.namespace}/{reference.name}" not found'
        return Result(steps=(Step(name="find-graph", effects=(Refuse(message=message),)),))
    if _of_an_earlier(graph, adapter):
        return Result()
    component = graph.spec.component(reference.component_name)
    if component is None or component.scaling_adapter is None:
        return Result(events=_without_component(graph, component, adapter))
    scale = _scale(graph, component, adapter)
    rival = None if scale is None else _rival(request, graph, component)
    if rival is not None:
        message = f"component {component.name} is scaled by {rival.ref}, which its graph controls"
        return Result(steps=(Step(name="scale", effects=(Refuse(message=message, retry=Retry.NEVER),)),))
    steps = (Step(name="scale", effects=(scale,)),) if scale is not None else ()

    def status(report: Report) -> ScalingAdapterStatus | None:
        if report.failure is not None:
            return None
        scaled = {"last_scale_time": request.now.astimezone(UTC).replace(microsecond=0)} if scale is not None else {}
        told = {"replicas": adapter.spec.replicas, "selector": pod_selector(graph.metadata.name, component)}
        return adapter.status.model_copy(update={**told, **scaled})

    return Result(steps=steps, status=status)


def _of_an_earlier(graph: DynamoGraphDeployment, adapter: DynamoGraphDeploymentScalingAdapter) -> bool:
    owner = adapter.metadata.controller
    if owner is None or (owner.kind, owner.name) != (graph.kind.kind, graph.metadata.name):
        return False
    return not is_controlled_by(adapter, graph)


def _without_component(
    graph: DynamoGraphDeployment, component: Component | None, adapter: DynamoGraphDeploymentScalingAdapter
) -> tuple[Event, ...]:
    """Says why the adapter scales nothing; nothing about an adapter of the graph's own, which the graph is about to delete."""
    if is_controlled_by(adapter, graph):
        return ()
    name = adapter.spec.dgd_ref.component_name
    lacks = f"no component {name}" if component is None else f"a component {name} without scalingAdapter"
    note = f"Nothing is scaled: {graph.ref} has {lacks}"
    return (Event(type="Warning", reason="NotScaled", note=note, action="Scale"),)


def pod_selector(graph: str, component: Component) -> str:
    """The Pods of a component, as a label selector. Where a group of Pods is one replica, its leader stands for it."""
    labels = {Label.GRAPH: graph, Label.COMPONENT: component.name}
    if component.is_multinode:
        labels[Label.ROLE] = LEADER
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _rival(
    request: Request[DynamoGraphDeploymentScalingAdapter], graph: DynamoGraphDeployment, component: Component
) -> DynamoGraphDeploymentScalingAdapter | None:
    """The graph's own adapter of the component, if it is another: two with different sizes would write the graph for ever."""
    key = Key(graph.metadata.namespace, adapter_name(graph.metadata.name, component.name))
    own = request.view.get(DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER, key)
    return own if own is not None and own.key != request.object.key and is_controlled_by(own, graph) else None


def _scale(
    graph: DynamoGraphDeployment, component: Component, adapter: DynamoGraphDeploymentScalingAdapter
) -> Patch | None:
    """The write of the replicas, bound to the component and to the graph's generation; `None` if they are right."""
    before, after = component.desired_replicas, adapter.spec.replicas
    if before == after:
        return None
    path = f"/spec/components/{graph.spec.components.index(component)}"
    change = Change.json(
        [
            {"op": "test", "path": f"{path}/name", "value": component.name},
            {"op": "add", "path": f"{path}/replicas", "value": after},
        ]
    )
    note = f"Scaled component {component.name} from {before} to {after} replicas"
    return Patch(
        target=graph,
        patch=change,
        same_generation=True,
        event=Event(type="Normal", reason="Scaled", note=note, action="Scale", regarding=adapter),
        failed=Event(
            type="Warning",
            reason="UpdateFailed",
            note=f"Failed to scale component {component.name} from {before} to {after} replicas",
            action="Scale",
            regarding=adapter,
        ),
    )
