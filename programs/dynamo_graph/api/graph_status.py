"""What a graph reports (G 1.5), and the part of it that a component deployment reports too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dynamo_ctrl.objects.conditions import Condition, Time
from dynamo_ctrl.objects.frozen import FrozenDict
from dynamo_ctrl.objects.schema.marks import Int32, Int64, ListMap, ServerDefault
from dynamo_graph.api.model import Model

GraphState = Literal["initializing", "pending", "successful", "failed"]
"""The headline."""

ComponentKind = Literal["PodClique", "PodCliqueScalingGroup", "Deployment", "LeaderWorkerSet"]
"""The kinds of workload that a component may become."""

RestartPhase = Literal["Pending", "Restarting", "Completed", "Failed", "Superseded"]
"""How far a restart is."""

RolloutPhase = Literal["", "Pending", "InProgress", "Completed", "Failed"]
"""How far a managed rolling update is."""

Count = Annotated[Int32, Field(ge=0)]
"""A number of Pods or GPUs."""

Conditions = Annotated[tuple[Condition, ...], ListMap("type")]
"""Conditions, one of each type."""


class ComponentReplicaStatus(Model):
    """The last good observation of one component."""

    component_kind: ComponentKind
    """Kind of the workload."""
    component_names: tuple[str, ...] = ()
    """Names of the workloads; old and new during a rollout."""
    replicas: Count = 0
    """Pods or groups that exist."""
    updated_replicas: Count = 0
    """Those of the newest template."""
    ready_replicas: Count | None = None
    """Those that are ready."""
    available_replicas: Count | None = None
    """Those that are available."""
    scheduled_replicas: Count | None = None
    """Those that have a node."""
    runtime_namespace: str = ""
    """Dynamo namespace that routing should use now."""
    gpus_per_engine: Count | None = None
    """GPUs of one engine."""
    gpus_per_replica: Count | None = None
    """GPUs of one replica with its sidecars."""


class RestartStatus(Model):
    """How far a restart is."""

    observed_id: Annotated[str, Field(alias="observedID")] = ""
    """Id of the restart."""
    phase: RestartPhase | None = None
    """How far it is."""
    in_progress: tuple[str, ...] = ()
    """Components that restart now."""


class CheckpointStatus(Model):
    """A checkpoint of a component."""

    checkpoint_name: str = ""
    """Name of the checkpoint object."""
    checkpoint_id: Annotated[str, Field(alias="checkpointID")] = ""
    """Its identity in the store."""
    identity_hash: str = ""
    """Hash of what was checkpointed."""
    ready: bool = False
    """Whether engines may start from it."""


class RollingUpdateStatus(Model):
    """How far a managed rolling update is."""

    phase: RolloutPhase = ""
    """How far it is."""
    start_time: Time | None = None
    """When it began."""
    end_time: Time | None = None
    """When it ended."""
    updated_components: tuple[str, ...] = ()
    """Components that are done."""


class GraphStatus(Model):
    """What a graph reports."""

    observed_generation: Int64 = 0
    """Last generation that was reconciled without an error."""
    state: Annotated[GraphState, ServerDefault()] = "initializing"
    """The headline."""
    conditions: Conditions = ()
    """Conditions."""
    components: Annotated[
        Mapping[str, ComponentReplicaStatus], AfterValidator(FrozenDict[str, ComponentReplicaStatus])
    ] = Field(default_factory=FrozenDict)
    """Last good observation of each component."""
    restart: RestartStatus | None = None
    """How far a restart is."""
    checkpoints: Annotated[Mapping[str, CheckpointStatus], AfterValidator(FrozenDict[str, CheckpointStatus])] = Field(
        default_factory=FrozenDict
    )
    """Checkpoint of each component."""
    rolling_update: RollingUpdateStatus | None = None
    """How far a managed rolling update is."""
