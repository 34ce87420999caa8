"""`DeploymentProgram`: apps/v1 Deployments, with the real controller's steps, conditions and events."""

from __future__ import annotations

from collections.abc import Iterable

from data_plane.rollout import Rollout
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.predicate import deleted
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET, Deployment
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result


def deployment_of_pod(pod: Pod, view: View) -> Iterable[Key]:
    """The Deployment whose ReplicaSet controls `pod`."""
    owner = pod.metadata.controller
    rs = view.get(REPLICA_SET, Key(pod.metadata.namespace, owner.name)) if owner is not None else None
    above = rs.metadata.controller if rs is not None else None
    return () if above is None or above.kind != DEPLOYMENT.kind else (Key(pod.metadata.namespace, above.name),)


class DeploymentProgram:
    """Deployments own ReplicaSets, one for each template, and move Pods from the old ones to the new.

    The end of a Pod wakes its Deployment, since the Recreate strategy waits for it.
    """

    name = "data-plane-deployment"
    watches = watching(DEPLOYMENT).owning(REPLICA_SET).mapping(POD, deployment_of_pod, when=deleted)

    def reconcile(self, request: Request[Deployment]) -> Result[JsonMap]:
        """One step of whatever is due: a size, a new ReplicaSet, the history, the conditions."""
        rollout = Rollout(request)
        return Result(steps=rollout.steps(), status=rollout.status, requeue_after=rollout.next_check)
