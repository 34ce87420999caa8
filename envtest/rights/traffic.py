"""The leg of what leads to a graph: routes to its frontend, the pool of its endpoint picker, the rule of a mesh; and of labels of
nodes on its Pods.

Those APIs are served here and nobody plays their controllers, so no endpoint picker becomes Ready.
"""

from __future__ import annotations

from typing import Any, Final

from dynamo_graph.api.names import Annotation, Label
from envtest.graphs import COMPONENTS, GRAPHS, Tree, component, graph
from envtest.rights.steps import Steps

INGRESSES: Final = "ingresses"
SERVICES_OF_A_MESH: Final = "virtualservices"
POOLS: Final = "inferencepools"
RULES: Final = "destinationrules"
ALL: Final = (INGRESSES, SERVICES_OF_A_MESH, POOLS, RULES)

CONFIG: Final[Tree] = {
    "ingress": {"controllerClassName": "tour", "virtualServiceGateway": "tour/gateway"},
    "serviceMesh": {"provider": "istio"},
}
"""The configuration of a manager that makes all of them."""

_TYPED: Final = {
    INGRESSES: (
        "networking.k8s.io/v1",
        "Ingress",
        {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    ),
    SERVICES_OF_A_MESH: ("networking.istio.io/v1beta1", "VirtualService", {}),
    POOLS: ("inference.networking.k8s.io/v1", "InferencePool", {}),
    RULES: ("networking.istio.io/v1beta1", "DestinationRule", {}),
}


def names_that_are_taken(steps: Steps) -> None:
    """Objects of others with the names of children, which the manager has not seen yet."""
    taken = {
        INGRESSES: "taken-h-frontend",
        SERVICES_OF_A_MESH: "taken-h-frontend",
        POOLS: "taken-i-pool",
        RULES: "taken-i-epp",
    }
    for resource, name in taken.items():
        _create(steps, resource, name)
    steps.apply(graph(steps.namespace, "taken-h", component("Frontend", "frontend")))
    steps.apply(_picked(steps, "taken-i"))
    for resource, name in taken.items():
        steps.has("get", resource, name)
    for name in ("taken-h", "taken-i"):
        steps.delete(GRAPHS, name)


def roads(steps: Steps) -> None:
    """Make the leg."""
    steps.apply(_picked(steps, "roads"))
    names = {INGRESSES: "roads-frontend", SERVICES_OF_A_MESH: "roads-frontend", POOLS: "roads-pool", RULES: "roads-epp"}
    for resource, name in names.items():
        steps.has("create", resource, name)
        steps.orphan(resource, name)
    frontend = steps.get(COMPONENTS, "roads-frontend")
    owner = {name: frontend[name] for name in ("apiVersion", "kind")}
    owner |= {"name": "roads-frontend", "uid": frontend["metadata"]["uid"], "controller": True}
    for resource in (INGRESSES, SERVICES_OF_A_MESH):  # as an earlier manager has left them
        _create(steps, resource, "roads-old", ownerReferences=[owner])
        steps.has("delete", resource, "roads-old")
    steps.apply(graph(steps.namespace, "roads", component("Frontend", "frontend")))
    for resource in (POOLS, RULES):
        steps.has("delete", resource, names[resource])
    steps.delete(GRAPHS, "roads")


def placed(steps: Steps, node: str) -> None:
    """A Pod of a graph that asks for a label of its node."""
    labels = {Label.GRAPH: "placed", Label.COMPONENT: "decode"}
    metadata: dict[str, Any] = {
        "labels": labels,
        "annotations": {Annotation.TOPOLOGY_LABEL_KEY: "kubernetes.io/hostname"},
    }
    containers = [{"name": "main", "image": "registry.example/placed:1"}]
    steps.create("pods", "placed", metadata=metadata, spec={"nodeName": node, "containers": containers})
    steps.has("patch", "pods", "placed")
    steps.delete("pods", "placed")


def _picked(steps: Steps, name: str) -> Tree:
    picker = component("epp", "epp", eppConfig={"config": {"plugins": [{"type": "kv"}]}})
    return graph(steps.namespace, name, component("Frontend", "frontend"), component("decode", "decode"), picker)


def _create(steps: Steps, resource: str, name: str, **metadata: Any) -> None:
    api_version, kind, spec = _TYPED[resource]
    steps.create(resource, name, apiVersion=api_version, kind=kind, spec=spec, metadata=metadata)
