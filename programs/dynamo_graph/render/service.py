"""The Service of a component deployment (G 3.9.4).

It bears the labels of its deployment, and what the annotations of the Pods say to others than this operator: to a cloud, a mesh,
a monitor.
"""

from __future__ import annotations

from typing import Any

from dynamo_ctrl.objects.builtin.core import SERVICE, Service
from dynamo_ctrl.objects.frozen import EMPTY
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.names import BOOKKEEPING_PREFIX, Label, Port, PortName
from dynamo_graph.api.predicates import service_name
from dynamo_graph.render.context import PodContext, Surroundings
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.metadata import pod_annotations, system_labels


def service_wanted(deployment: DynamoComponentDeployment, around: Surroundings) -> bool:
    """Whether there shall be a Service: for a frontend always, for the others when Services are the registry.

    Raises:
        InvalidObject: the discovery annotations make no sense.
    """
    with rendering(f"{deployment.kind.kind} {deployment.key}", "spec"):
        context = PodContext.of(deployment, around)
        return context.component.type == "frontend" or context.discovery.on_kubernetes


def render_service(deployment: DynamoComponentDeployment, around: Surroundings) -> Service:
    """The Service of a component deployment, wanted or not.

    Raises:
        InvalidObject: the discovery annotations make no sense.
    """
    with rendering(f"{deployment.kind.kind} {deployment.key}", "spec"):
        context = PodContext.of(deployment, around)
        metadata = {
            "name": service_name(context.name),
            "namespace": context.namespace,
            "labels": {**context.labels, **system_labels(context), **context.discovery.labels},
            "annotations": _annotations(context),
        }
        spec = {"selector": _selector(context), "ports": [_port(context)]}
    return SERVICE.object({"metadata": metadata, "spec": spec})


def _annotations(context: PodContext) -> dict[str, str]:
    return {key: value for key, value in pod_annotations(context).items() if not key.startswith(BOOKKEEPING_PREFIX)}


def _selector(context: PodContext) -> dict[str, str]:
    selector = {Label.NAMESPACE: context.dynamo_namespace, Label.COMPONENT: context.component.name}
    if context.component.type:
        selector[Label.COMPONENT_TYPE] = context.component.type
    return selector | ({Label.ROLE: "leader"} if context.component.is_multinode else EMPTY)


def _port(context: PodContext) -> dict[str, Any]:
    match context.component.type:
        case "frontend":
            return _named(PortName.HTTP, Port.HTTP)
        case "epp":
            return {**_named(PortName.EPP_GRPC, Port.EPP_GRPC), "appProtocol": "http2"}
        case _:
            return _named(PortName.SYSTEM, Port.SYSTEM)


def _named(name: str, port: int) -> dict[str, Any]:
    return {"name": name, "port": port, "protocol": "TCP", "targetPort": name}
