"""What runs a component deployment, and what it says about it (G 3.9.1-3.9.3). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from dynamo_ctrl.objects.builtin.apps import Deployment
from dynamo_graph.api.graph_status import ComponentReplicaStatus
from dynamo_graph.component_deployment.readiness import deployment_ready, leader_worker_set_ready
from dynamo_graph.orchestrators import LeaderWorkerSet
from dynamo_graph.pods.crash_loop import CrashLoop
from dynamo_graph.render.gpu_shape import GpuShape

REPLICA_FAILURE: Final = "ReplicaFailure"
"""Condition of a Deployment of which Pods are refused: a missing account, a quota, an admission policy."""

Workload: TypeAlias = Deployment | LeaderWorkerSet
"""A Deployment for engines on one node, a LeaderWorkerSet for engines that span nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a workload was seen to be.

    Attributes:
        kind: its kind, as conditions name it.
        ready: whether it serves what is asked for.
        component: its numbers.
        trouble: why Pods of it cannot be made, in the server's words; empty when they can.
        crash_loop: the Pod of it that crashes again and again, if one does.
    """

    kind: str
    ready: bool
    component: ComponentReplicaStatus
    trouble: str = ""
    crash_loop: CrashLoop | None = None


def observe(
    workload: Workload, runtime_namespace: str, shape: GpuShape | None, crash_loop: CrashLoop | None = None
) -> Observation:
    """What a workload, and the Pod of it that crashes again and again, say about its component."""
    numbers = ComponentReplicaStatus(
        component_kind="Deployment" if isinstance(workload, Deployment) else "LeaderWorkerSet",
        component_names=(workload.metadata.name,),
        replicas=workload.status.replicas,
        updated_replicas=workload.status.updated_replicas,
        ready_replicas=workload.status.ready_replicas,
        available_replicas=workload.status.available_replicas if isinstance(workload, Deployment) else None,
        runtime_namespace=runtime_namespace,
        gpus_per_engine=shape.per_engine if shape is not None else None,
        gpus_per_replica=shape.per_replica if shape is not None else None,
    )
    return Observation(
        kind=numbers.component_kind,
        ready=_ready(workload),
        component=numbers,
        trouble=_trouble(workload),
        crash_loop=crash_loop,
    )


def _ready(workload: Workload) -> bool:
    return deployment_ready(workload) if isinstance(workload, Deployment) else leader_worker_set_ready(workload)


def _trouble(workload: Workload) -> str:
    failure = workload.status.condition(REPLICA_FAILURE)
    return failure.message if failure is not None and failure.status == "True" else ""
