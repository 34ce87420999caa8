"""The CustomResourceDefinitions of this API (G 1.1)."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.schema.crd import Column, CustomResource, Scale, definition
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER

_BACKEND: Final = Column(name="Backend", type="string", path=".spec.backendFramework")
_AGE: Final = Column(name="Age", type="date", path=".metadata.creationTimestamp")

CUSTOM_RESOURCES: Final = (
    CustomResource(
        kind=DYNAMO_GRAPH_DEPLOYMENT,
        description="One inference graph.",
        columns=(
            Column(name="Ready", type="string", path='.status.conditions[?(@.type=="Ready")].status'),
            _BACKEND,
            _AGE,
        ),
    ),
    CustomResource(
        kind=DYNAMO_COMPONENT_DEPLOYMENT,
        description="One component of a graph.",
        spec_required=True,
        columns=(
            Column(name="Available", type="string", path=".status.conditions[?(@.type=='Available')].status"),
            _BACKEND,
            _AGE,
        ),
    ),
    CustomResource(
        kind=DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER,
        description="The scale subresource of one component of a graph.",
        spec_required=True,
        columns=(
            Column(name="DGD", type="string", path=".spec.dgdRef.name"),
            Column(name="COMPONENT", type="string", path=".spec.dgdRef.componentName"),
            Column(name="REPLICAS", type="integer", path=".status.replicas"),
            Column(name="AGE", type="date", path=".metadata.creationTimestamp"),
        ),
        scale=Scale(spec_replicas=".spec.replicas", status_replicas=".status.replicas", selector=".status.selector"),
    ),
)
"""Every custom resource of this API, in its one version."""


def documents() -> tuple[dict[str, Any], ...]:
    """The CRDs, as plain JSON data."""
    return tuple(definition(resource) for resource in CUSTOM_RESOURCES)
