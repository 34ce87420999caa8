"""DynamoComponentDeployment: one component of a graph as an object of its own (G 1.6)."""

from __future__ import annotations

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.schema.marks import Int64
from dynamo_graph.api.component import BackendFramework, Component
from dynamo_graph.api.graph_status import ComponentReplicaStatus, Conditions
from dynamo_graph.api.model import Model
from dynamo_graph.api.names import GROUP, VERSION


class ComponentDeploymentSpec(Component):
    """A component, and the engine that it is rendered for."""

    backend_framework: BackendFramework | None = None
    """Inference engine."""


class ComponentDeploymentStatus(Model):
    """What a component deployment reports."""

    observed_generation: Int64 = 0
    """Last generation that was reconciled without an error."""
    conditions: Conditions = ()
    """Conditions."""
    component: ComponentReplicaStatus | None = None
    """What is known of the workload."""


class DynamoComponentDeployment(Object[ComponentDeploymentSpec, ComponentDeploymentStatus]):
    """One component of a graph."""

    @property
    def graph_name(self) -> str:
        """Name of the graph that owns it, empty without one: the first owner of that kind."""
        owners = self.metadata.owner_references
        return next((owner.name for owner in owners if owner.kind == "DynamoGraphDeployment"), "")


DYNAMO_COMPONENT_DEPLOYMENT: Kind[DynamoComponentDeployment] = Kind(
    DynamoComponentDeployment,
    group=GROUP,
    version=VERSION,
    kind="DynamoComponentDeployment",
    plural="dynamocomponentdeployments",
    short=("dcd",),
)
