"""Whether a workload serves what its component deployment asks for (G 3.9.2, 3.9.3). Pure."""

from __future__ import annotations

from dynamo_ctrl.objects.builtin.apps import Deployment
from dynamo_graph.orchestrators import LeaderWorkerSet


def deployment_ready(deployment: Deployment) -> bool:
    """Whether the newest template runs everywhere and nothing else does.

    A paused Deployment is never ready; one that asks for no Pods is.
    """
    spec, status = deployment.spec, deployment.status
    desired = 1 if spec.replicas is None else spec.replicas
    if spec.paused:
        return False
    if desired == 0:
        return True
    available = status.condition("Available")
    return (
        status.observed_generation >= deployment.metadata.generation
        and status.updated_replicas >= desired
        and status.available_replicas >= desired
        and status.replicas == desired
        and available is not None
        and available.status == "True"
    )


def leader_worker_set_ready(workload: LeaderWorkerSet) -> bool:
    """Whether as many groups are ready as there shall be; one that asks for none is.

    What it says about an older generation does not count, wherever it names the generation.
    """
    desired = 1 if workload.spec.replicas is None else workload.spec.replicas
    if desired == 0:
        return True
    status, available = workload.status, workload.status.condition("Available")
    if available is None or available.status != "True" or status.ready_replicas < desired:
        return False
    observed = status.observed_generation or available.observed_generation
    return not observed or observed >= workload.metadata.generation
