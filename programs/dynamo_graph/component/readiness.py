"""Whether the components of a graph are ready, told by their deployments as the server returned them (G 1.6, 3.3). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dynamo_ctrl.objects.conditions import Condition, find
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.component_deployment.status import AVAILABLE, INVALID_CHECKPOINT, OWNERSHIP_CONFLICT, RECONCILING
from dynamo_graph.graph.status import NotReady, Outcome, outcome

FAILED: Final = frozenset({RECONCILING, INVALID_CHECKPOINT, OWNERSHIP_CONFLICT})
"""Reasons of a component deployment of which the last attempt failed: waiting alone mends it hardly ever."""

PLAIN: Final = frozenset({"DeploymentNotReady", "LeaderWorkerSetNotReady"})
"""Reasons that say nothing beyond "not ready"."""


def not_ready(deployment: DynamoComponentDeployment) -> NotReady | None:
    """Why a component deployment is not ready; `None` when it is.

    A failed attempt at its newest generation comes first, in its own words: they name the field and the rule. One whose newest
    generation has not been looked at yet is not ready, whatever its conditions say. Raises `InvalidObject` for a status that
    cannot be read.
    """
    name, generation, status = deployment.metadata.name, deployment.metadata.generation, deployment.status
    available = find(status.conditions, AVAILABLE)
    if available is not None and _failed(available) and (available.observed_generation or 0) >= generation:
        return NotReady(name, available.message, failed=True)
    if status.observed_generation < generation:
        seen = status.observed_generation
        return NotReady(name, f"spec not yet processed: generation={generation}, observedGeneration={seen}")
    if available is not None and available.status == "True":
        return None
    if available is None or available.reason in PLAIN:
        return NotReady(name, "Component deployment not ready - Available condition not true")
    return NotReady(name, available.message)


def _failed(available: Condition) -> bool:
    return available.status == "False" and available.reason in FAILED


def observe(deployments: Iterable[tuple[str, DynamoComponentDeployment]], replaced: Iterable[str] = ()) -> Outcome:
    """What the deployments of the components say about their graph; each comes with the name of its component.

    A deployment whose status cannot be read is not ready, and its component has no status. As long as one of those that are
    `replaced` is there, by name, the graph is not what it is to be.
    """
    waiting = [NotReady(name, "old generation is being replaced") for name in replaced]
    components = {}
    for component, deployment in deployments:
        try:
            found = not_ready(deployment)
            status = deployment.status.component
        except InvalidObject as error:
            found, status = NotReady(deployment.metadata.name, str(error)), None
        if found is not None:
            waiting.append(found)
        if status is not None:
            components[component] = status
    return outcome(waiting, dict(sorted(components.items())))
