"""DynamoGraphDeployment: spec (G 1.2, 1.3) and kind."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.schema.marks import ListMap, Rule, ServerDefault, Texts
from dynamo_graph.api.cel import GRAPH_RULES, MAX_COMPONENTS
from dynamo_graph.api.component import BackendFramework, Component, ComponentName, EnvVar
from dynamo_graph.api.experimental import GraphExperimental
from dynamo_graph.api.graph_status import GraphStatus
from dynamo_graph.api.model import Model
from dynamo_graph.api.names import GROUP, VERSION
from dynamo_graph.api.topology import GraphTopology


class RestartStrategy(Model):
    """In which order components restart."""

    type: Annotated[Literal["Sequential", "Parallel"], ServerDefault()] = "Sequential"
    """One after the other, or all at once."""
    order: Annotated[tuple[ComponentName, ...], Field(max_length=MAX_COMPONENTS)] = ()
    """All components, first to last; sorted by name when empty."""


class Restart(Model):
    """A request to restart every component."""

    id: Annotated[str, Field(min_length=1, max_length=253)]
    """A new value requests a restart."""
    strategy: RestartStrategy | None = None
    """In which order components restart."""

    @property
    def sequential(self) -> bool:
        """Whether components restart one after the other."""
        return self.strategy is None or self.strategy.type == "Sequential"


class GraphSpec(Model):
    """What a graph shall be."""

    rules: ClassVar[tuple[Rule, ...]] = GRAPH_RULES

    annotations: Texts | None = None
    """Annotations of all Pods; a component's own win."""
    labels: Texts | None = None
    """Labels of all Pods; a component's own win."""
    priority_class_name: str = ""
    """Priority class; needs Grove."""
    components: Annotated[tuple[Component, ...], Field(max_length=MAX_COMPONENTS), ListMap("name")] = ()
    """The components."""
    env: tuple[EnvVar, ...] = ()
    """Environment of every component's container main; a component's own wins."""
    backend_framework: BackendFramework | None = None
    """Inference engine; found from the commands when absent."""
    restart: Restart | None = None
    """A request to restart every component."""
    topology_constraint: GraphTopology | None = None
    """Where the Pods of the graph may be spread."""
    experimental: GraphExperimental | None = None
    """Settings that may change."""

    def component(self, name: str) -> Component | None:
        """The component of that name."""
        return next((component for component in self.components if component.name == name), None)


class DynamoGraphDeployment(Object[GraphSpec, GraphStatus]):
    """One inference graph."""


DYNAMO_GRAPH_DEPLOYMENT: Kind[DynamoGraphDeployment] = Kind(
    DynamoGraphDeployment,
    group=GROUP,
    version=VERSION,
    kind="DynamoGraphDeployment",
    plural="dynamographdeployments",
    short=("dgd",),
)
