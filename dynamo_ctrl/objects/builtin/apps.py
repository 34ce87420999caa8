"""The apps group: Deployments and ReplicaSets."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dynamo_ctrl.objects.builtin.core import BuiltinCondition
from dynamo_ctrl.objects.frozen import EMPTY, FrozenDict
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class RollingUpdate(Struct, frozen=True, gc=False, rename="camel"):
    """Bounds of a rolling update; each an integer or a percentage."""

    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class DeploymentStrategy(Struct, frozen=True, gc=False, rename="camel"):
    """How Pods are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a Deployment; the template is a frozen JSON tree."""

    selector: FrozenDict[str, Any] = EMPTY
    template: FrozenDict[str, Any] = EMPTY
    replicas: int | None = None
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: int = 0
    paused: bool = False
    progress_deadline_seconds: int | None = None
    revision_history_limit: int | None = None


class DeploymentStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[BuiltinCondition, ...] = ()

    def condition(self, type_: str) -> BuiltinCondition | None:
        """The condition of that type."""
        return next((condition for condition in self.conditions if condition.type == type_), None)


class Deployment(Object[DeploymentSpec, DeploymentStatus]):
    """apps/v1 Deployment."""


class ReplicaSetSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a ReplicaSet."""

    selector: FrozenDict[str, Any] = EMPTY
    template: FrozenDict[str, Any] = EMPTY
    replicas: int | None = None
    min_ready_seconds: int = 0


class ReplicaSetStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a ReplicaSet."""

    observed_generation: int = 0
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[BuiltinCondition, ...] = ()


class ReplicaSet(Object[ReplicaSetSpec, ReplicaSetStatus]):
    """apps/v1 ReplicaSet."""


DEPLOYMENT = Kind(Deployment, group="apps", version="v1", kind="Deployment", plural="deployments", short=("deploy",))
REPLICA_SET = Kind(ReplicaSet, group="apps", version="v1", kind="ReplicaSet", plural="replicasets", short=("rs",))
