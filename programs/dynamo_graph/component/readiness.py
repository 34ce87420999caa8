"""Whether the components of a graph are ready, told by their deployments as the server returned them (G 1.6, 3.3). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from dynamo_ctrl.objects.conditions import is_true
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.graph.status import NotReady, Outcome, outcome

AVAILABLE = "Available"


def why_not_ready(deployment: DynamoComponentDeployment) -> str | None:
    """Why a component deployment is not ready; `None` when it is.

    One whose newest generation has not been looked at yet is not ready, whatever its conditions say. Raises `InvalidObject`
    for a status that cannot be read.
    """
    status, generation = deployment.status, deployment.metadata.generation
    if status.observed_generation < generation:
        return f"spec not yet processed: generation={generation}, observedGeneration={status.observed_generation}"
    if not is_true(status.conditions, AVAILABLE):
        return "Component deployment not ready - Available condition not true"
    return None


def observe(deployments: Iterable[tuple[str, DynamoComponentDeployment]]) -> Outcome:
    """What the deployments of the components say about their graph; each comes with the name of its component.

    A deployment whose status cannot be read is not ready, and its component has no status.
    """
    waiting = []
    components = {}
    for component, deployment in deployments:
        try:
            why = why_not_ready(deployment)
            status = deployment.status.component
        except InvalidObject as error:
            why, status = str(error), None
        if why is not None:
            waiting.append(NotReady(deployment.metadata.name, why))
        if status is not None:
            components[component] = status
    return outcome(waiting, dict(sorted(components.items())))
