"""LeaderWorkerSet, the kind: what is read of it, and its definition for a server that does not have one."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final, Literal

import yaml
from msgspec import Struct

from dynamo_ctrl.objects.builtin.core import BuiltinCondition
from dynamo_ctrl.objects.frozen import EMPTY, FrozenDict, JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

RestartPolicy = Literal["Default", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"]


class GroupTemplate(Struct, frozen=True, gc=False, rename="camel"):
    """The Pods of a group; templates are frozen JSON trees."""

    worker_template: FrozenDict[str, Any] = EMPTY
    leader_template: FrozenDict[str, Any] | None = None
    size: int = 1
    restart_policy: RestartPolicy = "RecreateGroupOnPodRestart"


class GroupRollingUpdate(Struct, frozen=True, gc=False, rename="camel"):
    """How many groups may be missing or on top while they are replaced, and the first one that is."""

    max_unavailable: int | str = 1
    max_surge: int | str = 0
    partition: int = 0


class RolloutStrategy(Struct, frozen=True, gc=False, rename="camel"):
    """How groups are replaced."""

    rolling_update_configuration: GroupRollingUpdate = GroupRollingUpdate()


class NetworkConfig(Struct, frozen=True, gc=False, rename="camel"):
    """Where the names of the Pods live."""

    subdomain_policy: Literal["Shared", "UniquePerReplica"] = "Shared"


class LeaderWorkerSetSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a LeaderWorkerSet."""

    leader_worker_template: GroupTemplate
    replicas: int = 1
    rollout_strategy: RolloutStrategy = RolloutStrategy()
    startup_policy: Literal["LeaderCreated", "LeaderReady"] = "LeaderCreated"
    network_config: NetworkConfig = NetworkConfig()


class GroupCondition(BuiltinCondition, frozen=True, gc=False, rename="camel"):
    """A condition, and the generation that it is about."""

    observed_generation: int = 0


class LeaderWorkerSetStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a LeaderWorkerSet."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    conditions: tuple[GroupCondition, ...] = ()


class LeaderWorkerSet(Object[LeaderWorkerSetSpec, LeaderWorkerSetStatus]):
    """leaderworkerset.x-k8s.io LeaderWorkerSet: groups of one leader and its workers."""


LEADER_WORKER_SET: Final = Kind(
    LeaderWorkerSet,
    group="leaderworkerset.x-k8s.io",
    version="v1",
    kind="LeaderWorkerSet",
    plural="leaderworkersets",
    short=("lws",),
)


def definition() -> JsonMap:
    """The CustomResourceDefinition."""
    file = resources.files("data_plane") / "definitions" / "leaderworkersets.yaml"
    document: JsonMap = yaml.safe_load(file.read_text(encoding="utf-8"))
    return document
