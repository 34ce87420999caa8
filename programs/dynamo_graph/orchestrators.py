"""The APIs that orchestrate the Pods of a graph, as far as it has to know them: served or not, owned or not, ready or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from dynamo_ctrl.objects.builtin.core import BuiltinCondition
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class PodCliqueSet(Object[Mapping[str, Any], Mapping[str, Any]]):
    """Grove's set of Pod cliques."""


class DisaggregatedSet(Object[Mapping[str, Any], Mapping[str, Any]]):
    """A set of LeaderWorkerSets, one for each role."""


class LeaderWorkerSetSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What is read of the spec of a LeaderWorkerSet."""

    replicas: int | None = None


class LeaderWorkerSetCondition(BuiltinCondition, frozen=True, gc=False, rename="camel"):
    """A condition of a LeaderWorkerSet, and the generation that it is about."""

    observed_generation: int = 0


class LeaderWorkerSetStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a LeaderWorkerSet. Older releases tell the observed generation in their conditions only."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    conditions: tuple[LeaderWorkerSetCondition, ...] = ()

    def condition(self, type_: str) -> LeaderWorkerSetCondition | None:
        """The condition of that type."""
        return next((condition for condition in self.conditions if condition.type == type_), None)


class LeaderWorkerSet(Object[LeaderWorkerSetSpec, LeaderWorkerSetStatus]):
    """Groups of one leader and its workers."""


class PodGroup(Object[Mapping[str, Any], Mapping[str, Any]]):
    """Volcano's group of Pods, which older releases made for each replica."""


POD_CLIQUE_SET: Final = Kind(
    PodCliqueSet, group="grove.io", version="v1alpha1", kind="PodCliqueSet", plural="podcliquesets", short=("pcs",)
)
DISAGGREGATED_SET: Final = Kind(
    DisaggregatedSet,
    group="disaggregatedset.x-k8s.io",
    version="v1",
    kind="DisaggregatedSet",
    plural="disaggregatedsets",
)
LEADER_WORKER_SET: Final = Kind(
    LeaderWorkerSet,
    group="leaderworkerset.x-k8s.io",
    version="v1",
    kind="LeaderWorkerSet",
    plural="leaderworkersets",
    short=("lws",),
)

POD_GROUP: Final = Kind(
    PodGroup, group="scheduling.volcano.sh", version="v1beta1", kind="PodGroup", plural="podgroups", short=("pg",)
)


def identity_only(content: JsonMap) -> dict[str, Any]:
    """Projection: who an object is and whose; neither spec nor status, nor annotations."""
    kept = {key: content[key] for key in ("apiVersion", "kind") if key in content}
    metadata = content.get("metadata") or {}
    kept["metadata"] = {key: value for key, value in metadata.items() if key not in ("annotations", "managedFields")}
    return kept
