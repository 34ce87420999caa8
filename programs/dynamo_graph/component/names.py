"""Names of component deployments as names of other things: they are label values of their Pods, too (G 1.8). Pure."""

from __future__ import annotations

from typing import Final

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.predicates import deployment_name, leader_worker_set_name
from dynamo_graph.render.errors import rendering
from dynamo_graph.render.leader_worker_set import check_name

MAX_LABEL: Final = 63
"""Characters of a label value."""


def check_names(graph: DynamoGraphDeployment, suffix: str) -> None:
    """Refuse a graph whose name, or the name of one of its deployments, is no label value, or none of a LeaderWorkerSet.

    Raises:
        InvalidObject: naming the field that must be another.
    """
    what, name = f"{graph.kind.kind} {graph.key}", graph.metadata.name
    if len(name) > MAX_LABEL:
        raise InvalidObject(what, "metadata.name", f"must have at most {MAX_LABEL} characters, has {len(name)}")
    taken: dict[str, int] = {}
    for index, component in enumerate(graph.spec.components):
        made = deployment_name(component, graph=name, suffix=suffix)
        first = taken.setdefault(made, index)
        if first != index:
            rule = f'makes the name "{made}", which spec.components[{first}] makes as well'
            raise InvalidObject(what, f"spec.components[{index}].name", rule)
        if len(made) > MAX_LABEL:
            rule = f'makes the name "{made}" of {len(made)} characters; at most {MAX_LABEL} are possible'
            raise InvalidObject(what, f"spec.components[{index}].name", rule)
        if component.is_multinode:
            with rendering(what, f"spec.components[{index}]"):
                check_name(leader_worker_set_name(made), component.desired_replicas)
