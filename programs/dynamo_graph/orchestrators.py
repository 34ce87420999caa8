"""The APIs that other providers of a graph stand on, as far as selection must know them: served or not, owned or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class PodCliqueSet(Object[Mapping[str, Any], Mapping[str, Any]]):
    """Grove's set of Pod cliques."""


class DisaggregatedSet(Object[Mapping[str, Any], Mapping[str, Any]]):
    """A set of LeaderWorkerSets, one for each role."""


class LeaderWorkerSet(Object[Mapping[str, Any], Mapping[str, Any]]):
    """Groups of one leader and its workers."""


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


def identity_only(content: JsonMap) -> dict[str, Any]:
    """Projection: who an object is and whose; neither spec nor status, nor annotations."""
    kept = {key: content[key] for key in ("apiVersion", "kind") if key in content}
    metadata = content.get("metadata") or {}
    kept["metadata"] = {key: value for key, value in metadata.items() if key not in ("annotations", "managedFields")}
    return kept
