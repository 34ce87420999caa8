"""What crash loops of its components mean for a graph (G 8.6). Pure.

The component deployments have looked for them; here their word is taken, if it is about what they are to be now. A deployment of
an old generation is not asked: what is wrong with it is about to be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.component_deployment.status import AVAILABLE, CRASH_LOOPING
from dynamo_graph.graph.status import Outcome, Reason


def crash_looping(outcome: Outcome, deployments: Iterable[tuple[str, DynamoComponentDeployment]]) -> Outcome:
    """The outcome of a graph, failed if a component is in a crash loop; each deployment comes with the name of its component.

    It outranks every other outcome: what else the graph waits for will not help. The attempt is a success all the same.
    """
    diagnoses = ((component, _diagnosis(deployment)) for component, deployment in deployments)
    told = "; ".join(f"{component}: {diagnosis}" for component, diagnosis in sorted(diagnoses) if diagnosis)
    if not told:
        return outcome
    return replace(
        outcome, state="failed", reason=Reason.CRASH_LOOPING, message=f"Components are crash-looping: {told}"
    )


def _diagnosis(deployment: DynamoComponentDeployment) -> str:
    """What its status says of a crash loop; empty if it says nothing, speaks of an older generation, or cannot be read."""
    try:
        status = deployment.status
    except InvalidObject:
        return ""
    available = find(status.conditions, AVAILABLE)
    if available is None or status.observed_generation < deployment.metadata.generation:
        return ""
    return available.message if (available.status, available.reason) == ("False", CRASH_LOOPING) else ""
