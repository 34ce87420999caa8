"""`PodProgram`: the scheduler's and the kubelet's part in a Pod's life."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from data_plane.annotations import PREFIX, Behaviour, behaviour
from data_plane.claims import unmet_claim, unmet_devices
from data_plane.pod_life import life_of, lived, next_step
from data_plane.pod_status import scheduled_status, unscheduled_status
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, POD, PersistentVolumeClaim, Pod
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Delete, PatchPrimary
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step

FINALIZER: Final = PREFIX + "kubelet"
"""Keeps a deleted Pod until its containers had the time to end."""


def _claims_of(pod: Pod) -> Iterable[str]:
    return (f"{pod.metadata.namespace}/{name}" for name in claim_names(pod))


def claim_names(pod: Pod) -> tuple[str, ...]:
    """The PersistentVolumeClaims that its volumes name."""
    claims = (volume.get("persistentVolumeClaim") or {} for volume in pod.spec.volumes)
    return tuple(claim["claimName"] for claim in claims if claim.get("claimName"))


BY_CLAIM: Final = Index("pods-by-claim", POD, _claims_of)


def _pods_of_claim(claim: PersistentVolumeClaim, view: View) -> Iterable[Key]:
    return (pod.key for pod in view.by_index(BY_CLAIM, str(claim.key)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOptions:
    """How Pods behave that say nothing themselves.

    Attributes:
        ready_after: from the start of the containers to Ready.
        gone_after: from the deletion to the end.
        node: the one node that takes every Pod.
    """

    ready_after: timedelta = timedelta(seconds=1)
    gone_after: timedelta = timedelta(seconds=1)
    node: str = "data-plane"


class PodProgram:
    """Pods are scheduled as soon as their claims are bound, start, become ready, and take their time to end.

    No node has devices to claim: Pods that claim some stay Pending.
    """

    name = "data-plane-pod"
    finalizer = FINALIZER
    watches = watching(POD).mapping(PERSISTENT_VOLUME_CLAIM, _pods_of_claim).indexing(BY_CLAIM)

    def __init__(self, options: PodOptions | None = None) -> None:
        self._options = options or PodOptions()

    def reconcile(self, request: Request[Pod]) -> Result[JsonMap]:
        """The next step of a living Pod."""
        pod, now = request.object, request.now
        if pod.status.phase in ("Succeeded", "Failed"):
            return Result()
        steps: tuple[Step, ...] = ()
        if not pod.spec.node_name:
            unmet = unmet_claim(claim_names(pod), pod.metadata.namespace, request.view) or unmet_devices(pod)
            if unmet is not None:
                return Result(status=unscheduled_status(pod, unmet, now))
            binding = PatchPrimary(patch=Patch.merge({"spec": {"nodeName": self._options.node}}))
            steps = (Step(name="bind", effects=(binding,)),)
        wanted = self._behaviour(pod)
        life = lived(life_of(pod, now), wanted, now)
        due = next_step(life, wanted, now)
        again = None if due is None else due - now
        return Result(steps=steps, status=scheduled_status(pod, life, now), requeue_after=again)

    def finalize(self, request: Request[Pod]) -> Result[JsonMap]:
        """The end of a deleted Pod: its grace is cut short once its containers had their time."""
        pod = request.object
        remaining = deletion_asked(pod, request.now) + self._behaviour(pod).gone_after - request.now
        if remaining > timedelta(0):
            return Result(requeue_after=remaining)
        return Result(steps=(Step(name="end", effects=(Delete(target=pod, owned=False, grace_seconds=0),)),))

    def _behaviour(self, pod: Pod) -> Behaviour:
        return behaviour(pod, ready_after=self._options.ready_after, gone_after=self._options.gone_after)


def deletion_asked(pod: Pod, now: datetime) -> datetime:
    """When somebody asked for the deletion: the deletion timestamp lies a grace period later."""
    grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    return (pod.metadata.deletion_timestamp or now) - grace
