"""Component deployments that no longer correspond to a component of their graph (G 9.2). Pure.

Another generation of a worker that is still there is none of them, whatever its name: it may serve.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment


def orphans(
    owned: Iterable[DynamoComponentDeployment], *, workers: Collection[str], wanted: Collection[str]
) -> tuple[DynamoComponentDeployment, ...]:
    """Those of the deployments that the graph controls which may go, sorted by name.

    Args:
        owned: the deployments that the graph controls.
        workers: the names of its worker components.
        wanted: the names of the deployments that it renders.
    """
    left = (each for each in owned if each.metadata.name not in wanted and not _may_serve(each, workers))
    return tuple(sorted(left, key=lambda deployment: deployment.metadata.name))


def _may_serve(deployment: DynamoComponentDeployment, workers: Collection[str]) -> bool:
    """Whether it is a generation of a worker; one that cannot be read is left alone, too."""
    try:
        return deployment.spec.is_worker and deployment.spec.name in workers
    except InvalidObject:
        return True
