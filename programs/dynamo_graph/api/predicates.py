"""What follows from a graph's spec: namespaces, names of objects, kinds of graphs (G 1.4, 3.6.2, 3.9.4)."""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_graph.api.component import Component
from dynamo_graph.api.graph import GraphSpec

GLOBAL_NAMESPACE = "dynamo"
"""The Dynamo namespace that all graphs share."""


def dynamo_namespace(component: Component, *, graph: str, namespace: str) -> str:
    """The Dynamo namespace of a component of the graph `graph` in the Kubernetes namespace `namespace`."""
    return GLOBAL_NAMESPACE if component.global_dynamo_namespace else f"{namespace}-{graph.replace('.', '-')}"


def runtime_namespace(component: Component, *, graph: str, namespace: str, suffix: str) -> str:
    """The Dynamo namespace that a worker of generation `suffix` registers in; others ignore the suffix."""
    base = dynamo_namespace(component, graph=graph, namespace=namespace)
    return f"{base}-{suffix}" if component.is_worker and suffix else base


def uses_scaling_group(component: Component) -> bool:
    """Whether Grove needs a scaling group for the component."""
    experimental = component.experimental
    if component.is_multinode or experimental is None:
        return component.is_multinode
    inter_pod = experimental.gpu_memory_service is not None and experimental.gpu_memory_service.mode == "InterPod"
    return inter_pod or (experimental.grove is not None and experimental.grove.force_scaling_group)


def has_any_multinode(components: Iterable[Component]) -> bool:
    """Whether any component spans nodes."""
    return any(component.is_multinode for component in components)


def has_endpoint_picker(components: Iterable[Component]) -> bool:
    """Whether any component is an endpoint picker."""
    return any(component.type == "epp" for component in components)


def workers(spec: GraphSpec) -> tuple[Component, ...]:
    """The worker components, in the order of the spec."""
    return tuple(component for component in spec.components if component.is_worker)


def deployment_name(component: Component, *, graph: str, suffix: str) -> str:
    """The name of a component's DynamoComponentDeployment; only workers carry the generation suffix."""
    base = f"{graph}-{component.name.lower()}"
    return f"{base}-{suffix}" if component.is_worker and suffix else base


def service_name(deployment: str) -> str:
    """The name of the Service of a component deployment: lower case, dots as dashes."""
    return deployment.lower().replace(".", "-")


def leader_worker_set_name(deployment: str) -> str:
    """The name of the LeaderWorkerSet of a component deployment; it must not be that of the component's Service."""
    return f"{deployment}-0"
