"""Whether every component of a graph can be turned into Pods, found out before anything is made for it (G 3.9.1). Pure.

A component deployment that cannot be rendered fails by itself; its graph would then be half made. Engines that claim devices are
left to that: what they have is told by the cluster, not by the spec.
"""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.leader_worker_set import render_leader_worker_set
from dynamo_graph.render.template import pod_spec


def check_renderable(
    graph: DynamoGraphDeployment, rendered: Iterable[DynamoComponentDeployment], config: OperatorConfig
) -> None:
    """Render the Pods of every component, once for each generation of the graph.

    Args:
        graph: the graph.
        rendered: the deployments of its components, in their order.
        config: the operator's configuration.

    Raises:
        InvalidObject: for the first component that cannot be rendered, by the field of the graph.
    """
    if graph.status.observed_generation >= graph.metadata.generation:
        return
    around = Surroundings(config=config)
    for index, deployment in enumerate(rendered):
        if pod_spec(deployment.spec.pod_template).get("resourceClaims"):
            continue
        try:
            if deployment.spec.is_multinode:
                render_leader_worker_set(deployment, around)
            else:
                render_deployment(deployment, around)
        except InvalidObject as error:
            path = f"spec.components[{index}]{error.path.removeprefix('spec')}"
            raise InvalidObject(f"{graph.kind.kind} {graph.key}", path, error.rule) from error
