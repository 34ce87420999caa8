"""Component deployments that no longer correspond to a component of their graph (G 9.2). Pure.

Those of workers are none of them, whatever their component or their name: they may serve, and go by the rules of a rollout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment


def orphans(
    owned: Iterable[DynamoComponentDeployment], wanted: Collection[str]
) -> tuple[DynamoComponentDeployment, ...]:
    """Those of the deployments that a graph controls which may go at once, sorted by name; `wanted` are the names it renders."""
    left = (each for each in owned if each.metadata.name not in wanted and not _may_serve(each))
    return tuple(sorted(left, key=lambda deployment: deployment.metadata.name))


def _may_serve(deployment: DynamoComponentDeployment) -> bool:
    """Whether it is a worker's; one that cannot be read is left alone, too."""
    try:
        return deployment.spec.is_worker
    except InvalidObject:
        return True
