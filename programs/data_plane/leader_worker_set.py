"""`LeaderWorkerSetProgram`: LeaderWorkerSets have as many groups of Pods as they ask for, each with its leader and workers.

It plays LeaderWorkerSet's own controller and the StatefulSets beneath it. On a real cluster that has none of its own it can do so
as well: it makes Pods and leaves their life to whoever runs them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from data_plane.accounts import account_of, missing_account
from data_plane.group_pods import NAME, UNIQUE, headless_service, pod_name, pod_of, revision_of, template_of
from data_plane.groups import Group, Place, Plan, groups_of, planned
from data_plane.leader_worker_set_kind import LEADER_WORKER_SET, LeaderWorkerSet, definition
from data_plane.leader_worker_set_status import leader_worker_set_status
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.predicate import created
from dynamo_ctrl.objects.builtin.core import POD, SERVICE, SERVICE_ACCOUNT, Pod, ServiceAccount
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.effect import Create, Delete, Effect, Event, Refuse, Retry
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step

BURST: Final = 500
"""Pods that one attempt creates or deletes at most."""


def _accounts_of(lws: LeaderWorkerSet) -> Iterable[str]:
    try:
        return {f"{lws.metadata.namespace}/{account_of(template_of(lws, worker))}" for worker in (0, 1)}
    except InvalidObject:
        return ()


BY_ACCOUNT: Final = Index("leader-worker-sets-by-service-account", LEADER_WORKER_SET, _accounts_of)


def _sets_of_account(account: ServiceAccount, view: View) -> Iterable[Key]:
    return (lws.key for lws in view.by_index(BY_ACCOUNT, str(account.key)))


class LeaderWorkerSetProgram:
    """LeaderWorkerSets create the groups that are missing, replace outdated ones, and make disturbed ones anew."""

    name = "data-plane-leader-worker-set"
    watches = (
        watching(LEADER_WORKER_SET)
        .owning(POD, label_selector=NAME)
        .owning(SERVICE, label_selector=NAME)
        .mapping(SERVICE_ACCOUNT, _sets_of_account, when=created)
        .indexing(BY_ACCOUNT)
    )

    def definitions(self) -> tuple[JsonMap, ...]:
        """The CRD of LeaderWorkerSet."""
        return (definition(),)

    def reconcile(self, request: Request[LeaderWorkerSet]) -> Result[JsonMap]:
        """Make and end Pods, and count those that were there."""
        lws = request.object
        try:
            revision = revision_of(lws)
            groups = groups_of(lws, request.view.owned(POD, lws))
            plan = planned(lws, groups, revision, burst=BURST)
        except InvalidObject as error:
            refuse = Refuse(message=str(error), error=error, retry=Retry.NEVER)
            return Result(steps=(Step(name="groups", effects=(refuse,)),))
        steps = (
            Step(name="names", effects=_services(lws, groups)),
            Step(name="end", effects=tuple(_deletion(pod) for pod in plan.gone)),
            Step(name="make", effects=_creations(lws, plan, request.view)),
        )
        status = leader_worker_set_status(lws, groups, revision, request.now)
        return Result(steps=tuple(step for step in steps if step.effects), status=lambda report: status)


def _services(lws: LeaderWorkerSet, groups: Sequence[Group]) -> tuple[Effect, ...]:
    if lws.spec.network_config.subdomain_policy == UNIQUE:
        wanted = [group.index for group in groups if group.index < lws.spec.replicas]
        return tuple(Create(object=headless_service(lws, index)) for index in wanted)
    return (Create(object=headless_service(lws)),)


def _deletion(pod: Pod) -> Delete:
    return Delete(target=pod, event=_told("GroupsProgressing", f"Deleted pod: {pod.metadata.name}", "Delete"))


def _creations(lws: LeaderWorkerSet, plan: Plan, view: View) -> tuple[Effect, ...]:
    namespace = lws.metadata.namespace
    for place in plan.made:
        template = template_of(lws, place.worker)
        refusal = missing_account(template, pod_name(lws, place.group, place.worker), namespace, view)
        if refusal is not None:
            return (refusal,)
    return tuple(_creation(lws, place) for place in plan.made)


def _creation(lws: LeaderWorkerSet, place: Place) -> Create:
    pod = pod_of(lws, place.group, place.worker)
    return Create(object=pod, event=_told("GroupsProgressing", f"Created pod: {pod.metadata.name}", "Create"))


def _told(reason: str, note: str, action: str) -> Event:
    return Event(type="Normal", reason=reason, note=note, action=action)
