"""Component deployments that no longer correspond to a component of their graph (G 9.2), or cannot come to. Pure.

Those of workers are none of them, whatever their component or their name: they may serve, and go by the rules of a rollout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.changes import component_changes
from dynamo_graph.api.component_deployment import DynamoComponentDeployment


def orphans(
    owned: Iterable[DynamoComponentDeployment], wanted: Collection[str]
) -> tuple[DynamoComponentDeployment, ...]:
    """Those of the deployments that a graph controls which may go at once, sorted by name; `wanted` are the names it renders."""
    left = (each for each in owned if each.metadata.name not in wanted and not _may_serve(each))
    return tuple(sorted(left, key=lambda deployment: deployment.metadata.name))


def misfits(
    owned: Iterable[DynamoComponentDeployment], wanted: Iterable[DynamoComponentDeployment]
) -> Iterator[tuple[DynamoComponentDeployment, InvalidObject]]:
    """Those that would have to change a field that never changes, with the rule. They go, and what is wanted is made anew.

    A component that left its graph and came back as another one leads to them, when nobody looked in between.
    """
    by_name = {deployment.metadata.name: deployment for deployment in wanted}
    for live in owned:
        new = by_name.get(live.metadata.name)
        if new is None or _may_serve(live):
            continue
        broken = next(component_changes(live.spec, new.spec, f"{live.kind.kind} {live.metadata.name}", "spec"), None)
        if broken is not None:
            yield live, broken


def _may_serve(deployment: DynamoComponentDeployment) -> bool:
    """Whether it is a worker's; one that cannot be read is left alone, too."""
    try:
        return deployment.spec.is_worker
    except InvalidObject:
        return True
