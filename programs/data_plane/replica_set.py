"""`ReplicaSetProgram`: apps/v1 ReplicaSets have as many Pods as they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from data_plane.accounts import account_of, missing_account
from data_plane.family import size
from data_plane.replica_set_status import available_in, replica_set_status
from data_plane.victims import is_active, victims
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.predicate import created
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET, ReplicaSet
from dynamo_ctrl.objects.builtin.core import POD, SERVICE_ACCOUNT, Pod, ServiceAccount
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.effect import Create, Delete, Effect, Event
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step

BURST: Final = 500
"""Pods that one attempt creates or deletes at most."""


def _account_of(rs: ReplicaSet) -> Iterable[str]:
    return (f"{rs.metadata.namespace}/{account_of(rs.spec.template)}",)


def _owner_of(rs: ReplicaSet) -> Iterable[str]:
    owner = rs.metadata.controller
    return () if owner is None else (owner.uid,)


BY_ACCOUNT: Final = Index("replica-sets-by-service-account", REPLICA_SET, _account_of)
BY_OWNER: Final = Index("replica-sets-by-owner", REPLICA_SET, _owner_of)


def _sets_of_account(account: ServiceAccount, view: View) -> Iterable[Key]:
    return (rs.key for rs in view.by_index(BY_ACCOUNT, str(account.key)))


class ReplicaSetProgram:
    """ReplicaSets create missing Pods from their template and choose which of too many go.

    A template that names a ServiceAccount which is not there makes no Pods, as an API server would refuse them; the account
    wakes the ReplicaSet when it comes.
    """

    name = "data-plane-replica-set"
    watches = (
        watching(REPLICA_SET)
        .owning(POD)
        .mapping(SERVICE_ACCOUNT, _sets_of_account, when=created)
        .indexing(BY_ACCOUNT, BY_OWNER)
    )

    def reconcile(self, request: Request[ReplicaSet]) -> Result[JsonMap]:
        """Make or end Pods, and count those that were there."""
        rs, view, now = request.object, request.view, request.now
        pods = view.owned(POD, rs)
        active = [pod for pod in pods if is_active(pod)]
        ended = ("Succeeded", "Failed")
        terminating = [p for p in pods if p.metadata.deletion_timestamp is not None and p.status.phase not in ended]
        difference = size(rs) - len(active)
        effects: tuple[Effect, ...] = ()
        if difference > 0:
            effects = _creations(rs, min(difference, BURST), view)
        elif difference < 0:
            related = _related(rs, view)
            gone = victims(active, min(-difference, BURST), related=related, now=now)
            effects = tuple(
                Delete(target=pod, event=_told("SuccessfulDelete", f"Deleted pod: {pod.key.name}")) for pod in gone
            )

        def status(report: Report) -> JsonMap:
            return replica_set_status(
                rs,
                active,
                terminating=len(terminating),
                failure=report.failures[0].error if report.failures else None,
                wanted=size(rs),
                now=now,
            )

        waits = [available_in(pod, rs.spec.min_ready_seconds, now) for pod in active]
        again = min((wait for wait in waits if wait), default=None)
        return Result(steps=(Step(name="pods", effects=effects),), status=status, requeue_after=again)


def _creations(rs: ReplicaSet, count: int, view: View) -> tuple[Effect, ...]:
    refusal = missing_account(rs.spec.template, f"{rs.metadata.name}-", rs.metadata.namespace, view)
    if refusal is not None:
        return (refusal,)
    return tuple(Create(object=pod_of(rs), event=_told("SuccessfulCreate", "Created pod")) for _ in range(count))


def pod_of(rs: ReplicaSet) -> Pod:
    """A Pod made from the template; the server completes the name."""
    template: dict[str, Any] = thaw(rs.spec.template)
    metadata = template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations", "finalizers") if metadata.get(key)}
    named = {"generateName": f"{rs.metadata.name}-", "namespace": rs.metadata.namespace}
    return POD.object(
        {"metadata": {**named, **kept}, "spec": template.get("spec") or {}, "status": {"phase": "Pending"}}
    )


def _related(rs: ReplicaSet, view: View) -> Sequence[Pod]:
    owner = rs.metadata.controller
    siblings = (rs,) if owner is None else view.by_index(BY_OWNER, owner.uid)
    return [pod for sibling in siblings for pod in view.owned(POD, sibling) if is_active(pod)]


def _told(reason: str, note: str) -> Event:
    return Event(type="Normal", reason=reason, note=note, action="ManagePods")
