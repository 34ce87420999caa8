"""The numbers of a component of which several generations run (G 3.6.6). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dynamo_graph.api.graph_status import ComponentReplicaStatus
from dynamo_graph.component.inventory import Worker


def merged(
    components: Mapping[str, ComponentReplicaStatus], olds: Iterable[Worker], sizes: Mapping[Worker, int]
) -> dict[str, ComponentReplicaStatus]:
    """The numbers of all components, those of the old generations added, sorted by name.

    Args:
        components: what the wanted generation says.
        olds: the old deployments.
        sizes: what they shall ask for; what they ask for where nothing is said.
    """
    of: dict[str, list[Worker]] = {}
    for old in olds:
        of.setdefault(old.component, []).append(old)
    found = dict(components)
    for name, generations in of.items():
        together = _together(generations, sizes)
        if together is not None:
            found[name] = _with_old(components.get(name), together)
    return dict(sorted(found.items()))


def _together(olds: Iterable[Worker], sizes: Mapping[Worker, int]) -> ComponentReplicaStatus | None:
    """The old generations of one component as one; those that have said nothing yet count for nothing.

    Its namespace is that of the newest that is to keep something: there the routers must still look.
    """
    newest = sorted(olds, key=lambda old: (old.created, old.name), reverse=True)
    said = [(old, old.status) for old in newest if old.status is not None]
    if not said:
        return None
    first = said[0][1]
    kept = next((status for old, status in said if sizes.get(old, old.replicas) > 0), first)
    return first.model_copy(
        update={
            "component_names": tuple(name for _, status in said for name in status.component_names),
            "replicas": sum(status.replicas for _, status in said),
            "ready_replicas": _sum(status.ready_replicas for _, status in said),
            "available_replicas": _sum(status.available_replicas for _, status in said),
            "runtime_namespace": kept.runtime_namespace,
        }
    )


def _with_old(new: ComponentReplicaStatus | None, old: ComponentReplicaStatus) -> ComponentReplicaStatus:
    if new is None:
        return old.model_copy(
            update={"updated_replicas": 0, "component_names": tuple(sorted(set(old.component_names)))}
        )
    return new.model_copy(
        update={
            "component_names": tuple(sorted({*new.component_names, *old.component_names})),
            "replicas": new.replicas + old.replicas,
            "ready_replicas": _sum((new.ready_replicas, old.ready_replicas)),
            "available_replicas": _sum((new.available_replicas, old.available_replicas)),
            "runtime_namespace": old.runtime_namespace or new.runtime_namespace,
        }
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    """Absent and absent stays absent."""
    present = [number for number in numbers if number is not None]
    return sum(present) if present else None
