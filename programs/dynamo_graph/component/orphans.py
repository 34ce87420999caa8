"""Component deployments whose component left the graph (G 9.2). Pure.

A deployment of another generation of a component that is still there is no orphan, whatever its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import DynamoComponentDeployment


def orphans(
    owned: Iterable[DynamoComponentDeployment], *, components: Collection[str], wanted: Collection[str]
) -> tuple[DynamoComponentDeployment, ...]:
    """Those of the deployments that the graph controls which may go, sorted by name.

    Args:
        owned: the deployments that the graph controls.
        components: the names of its components.
        wanted: the names of the deployments that it renders.
    """
    gone = (each for each in owned if each.metadata.name not in wanted and _component(each) not in {None, *components})
    return tuple(sorted(gone, key=lambda deployment: deployment.metadata.name))


def _component(deployment: DynamoComponentDeployment) -> str | None:
    """The component that a deployment was made for; `None` if it cannot be read: it is then left alone."""
    try:
        return deployment.spec.name
    except InvalidObject:
        return None
