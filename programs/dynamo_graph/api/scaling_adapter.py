"""DynamoGraphDeploymentScalingAdapter: the scale subresource of one component (G 1.7)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dynamo_ctrl.objects.conditions import Time
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.schema.marks import Atomic, Int32
from dynamo_graph.api.model import Model
from dynamo_graph.api.names import GROUP, VERSION


class ComponentReference(Model):
    """A component of a graph in the same namespace."""

    name: Annotated[str, Field(min_length=1)]
    """Name of the graph."""
    component_name: Annotated[str, Field(min_length=1)]
    """Name of the component."""


class ScalingAdapterSpec(Model):
    """What a component shall be scaled to."""

    replicas: Annotated[Int32, Field(ge=0)]
    """Number of engines."""
    dgd_ref: Annotated[ComponentReference, Atomic()]
    """The component."""


class ScalingAdapterStatus(Model):
    """What an autoscaler reads."""

    replicas: Annotated[Int32, Field(ge=0)] = 0
    """Number of engines."""
    selector: str = ""
    """Label selector of the Pods."""
    last_scale_time: Time | None = None
    """When the graph was last scaled."""


class DynamoGraphDeploymentScalingAdapter(Object[ScalingAdapterSpec, ScalingAdapterStatus]):
    """The scale subresource of one component."""


DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER: Kind[DynamoGraphDeploymentScalingAdapter] = Kind(
    DynamoGraphDeploymentScalingAdapter,
    group=GROUP,
    version=VERSION,
    kind="DynamoGraphDeploymentScalingAdapter",
    plural="dynamographdeploymentscalingadapters",
    short=("dgdsa",),
)
