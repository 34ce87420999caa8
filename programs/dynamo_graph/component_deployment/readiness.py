"""Whether a Deployment serves what its component deployment asks for (G 3.9.2). Pure."""

from __future__ import annotations

from dynamo_ctrl.objects.builtin.apps import Deployment


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
