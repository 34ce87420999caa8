"""How the frontend of a graph is reached from outside: an Ingress, an Istio VirtualService, or both (G 3.9.5, P 8.1). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dynamo_ctrl.objects.builtin.networking import INGRESS, Ingress
from dynamo_graph.api import config
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.names import Port
from dynamo_graph.api.predicates import service_name
from dynamo_graph.traffic import VIRTUAL_SERVICE, VirtualService

DEFAULT_SUFFIX: Final = "local"
"""What follows the name of the graph in a host where nothing is configured."""


@dataclass(frozen=True, slots=True)
class Route:
    """From a host to a Service of the same namespace.

    Attributes:
        name: of the Service, and of the objects that lead to it.
        namespace: where they are.
        host: what is asked for.
    """

    name: str
    namespace: str
    host: str

    @property
    def metadata(self) -> dict[str, str]:
        """That of the objects: no labels, no annotations."""
        return {"name": self.name, "namespace": self.namespace}


def route_of(deployment: DynamoComponentDeployment, settings: config.Ingress) -> Route | None:
    """The way to a component deployment; `None` unless it is the frontend of a graph."""
    metadata, graph = deployment.metadata, deployment.graph_name
    if deployment.spec.type != "frontend" or not graph:
        return None
    host = f"{graph}.{settings.host_suffix or DEFAULT_SUFFIX}"
    return Route(service_name(metadata.name), metadata.namespace, host)


def render_ingress(route: Route, settings: config.Ingress) -> Ingress | None:
    """The Ingress; `None` while no class is configured."""
    if not settings.controller_class_name:
        return None
    backend = {"service": {"name": route.name, "port": {"number": Port.HTTP}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    spec: dict[str, Any] = {
        "ingressClassName": settings.controller_class_name,
        "rules": [{"host": route.host, "http": {"paths": paths}}],
    }
    if settings.controller_tls_secret_name:
        spec["tls"] = [{"hosts": [route.host], "secretName": settings.controller_tls_secret_name}]
    return INGRESS.object({"metadata": route.metadata, "spec": spec})


def render_virtual_service(route: Route, settings: config.Ingress) -> VirtualService | None:
    """The VirtualService; `None` while no gateway is configured."""
    if not settings.virtual_service_gateway:
        return None
    destination = {"host": route.name, "port": {"number": Port.HTTP}}
    http = [{"match": [{"uri": {"prefix": "/"}}], "route": [{"destination": destination}]}]
    spec = {"hosts": [route.host], "gateways": [settings.virtual_service_gateway], "http": http}
    return VIRTUAL_SERVICE.object({"metadata": route.metadata, "spec": spec})
