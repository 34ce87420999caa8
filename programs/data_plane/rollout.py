"""`Rollout`: one attempt at one Deployment, from the decision about sizes to the writes that carry it out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from data_plane import sizing
from data_plane.annotations import REVISION
from data_plane.bounds import bounds
from data_plane.deployment_status import After, deployment_status, next_check
from data_plane.family import Family, noted, size
from data_plane.progress import Counts
from data_plane.revisions import books, new_annotations
from data_plane.sizing import Sizing
from data_plane.template import HASH_LABEL, labelled, replica_set_name, template_hash
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET, Deployment, ReplicaSet
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Delete, Effect, Event, Patch
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Step

DEFAULT_HISTORY: Final = 10
"""Old ReplicaSets that are kept; what the API server writes where a Deployment names no limit."""


class Rollout:
    """Everything is decided when it is made; `steps` says what to write, `status` what to tell afterwards."""

    def __init__(self, request: Request[Deployment]) -> None:
        self._deployment = request.object
        self._view = request.view
        self._now = request.now
        self._bounds = bounds(request.object.spec, f"{DEPLOYMENT.kind} {request.object.key}")
        self._family = Family.of(request.object, request.view)
        self._sizing = self._decide()
        self._collisions = self._count_collisions()
        self._creation = None if self._sizing.creates is None else self._new_set(self._sizing.creates)
        self._effects = {rs.metadata.name: self._resized(rs) for rs in self._family.all}

    def steps(self) -> tuple[Step, ...]:
        """Sizes first, then what the history does not keep."""
        sized: list[Effect] = [effect for effect in self._effects.values() if effect is not None]
        if self._creation is not None:
            sized.insert(0, self._creation)
        return (Step(name="replica-sets", effects=tuple(sized)), Step(name="history", effects=self._forgotten()))

    def status(self, report: Report) -> JsonMap:
        """The whole status, from the ReplicaSets as they are after the steps."""
        return deployment_status(self._after(report))

    def next_check(self, report: Report) -> timedelta | None:
        """When the progress deadline must be looked at again."""
        return next_check(self._after(report))

    def _decide(self) -> Sizing:
        spec, family = self._deployment.spec, self._family
        if spec.paused or sizing.is_scaled(family, self._bounds):
            rolling_update = spec.strategy.type == "RollingUpdate"
            actual = self._deployment.status.replicas
            return sizing.shared(family, self._bounds, rolling_update=rolling_update, actual=actual)
        if spec.strategy.type == "Recreate":
            return sizing.recreated(family, self._bounds, old_pods_run=self._old_pods_run())
        return sizing.rolled(family, self._bounds)

    def _old_pods_run(self) -> bool:
        old = self._family.old
        pods = [pod for rs in old for pod in self._view.owned(POD, rs)]
        return any(rs.status.replicas for rs in old) or any(
            pod.status.phase not in ("Failed", "Succeeded") for pod in pods
        )

    def _count_collisions(self) -> int | None:
        """How many names were taken by other templates so far; those that a new ReplicaSet meets now are added."""
        count = self._deployment.status.collision_count
        if self._sizing.creates is None:
            return count
        while self._view.get(REPLICA_SET, self._new_key(count or 0)) is not None:
            count = (count or 0) + 1
        return count

    def _new_key(self, collisions: int) -> Key:
        namespace, name = self._deployment.key
        return Key(namespace, replica_set_name(name, template_hash(self._deployment.spec.template, collisions)))

    def _new_set(self, replicas: int) -> Create:
        deployment, spec = self._deployment, self._deployment.spec
        hash_ = template_hash(spec.template, self._collisions or 0)
        name = self._new_key(self._collisions or 0).name
        template = labelled(spec.template, hash_)
        selector: dict[str, Any] = thaw(spec.selector)
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_}
        wanted: dict[str, Any] = {"replicas": replicas, "selector": selector, "template": template}
        if spec.min_ready_seconds:
            wanted["minReadySeconds"] = spec.min_ready_seconds
        metadata = {
            "name": name,
            "namespace": deployment.metadata.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": {**new_annotations(deployment, self._family), **books(self._bounds)},
        }
        event = _scaled(name, 0, replicas) if replicas else None
        return Create(object=REPLICA_SET.object({"metadata": metadata, "spec": wanted}), event=event)

    def _resized(self, rs: ReplicaSet) -> Patch | None:
        """What must change on `rs`: its size and its books, and on the new one what it takes over from the Deployment."""
        name, before = rs.metadata.name, size(rs)
        after = self._sizing.sizes.get(name, before)
        annotations: dict[str, str] = {}
        spec: dict[str, Any] = {}
        if rs is self._family.new:
            annotations |= new_annotations(self._deployment, self._family)
            if rs.spec.min_ready_seconds != self._deployment.spec.min_ready_seconds:
                spec["minReadySeconds"] = self._deployment.spec.min_ready_seconds
        if after != before:
            spec["replicas"] = after
        if after != before or name in self._sizing.noted:
            annotations |= books(self._bounds)
        changed = {key: text for key, text in annotations.items() if rs.metadata.annotations.get(key) != text}
        if not changed and not spec:
            return None
        change = Change.merge({"metadata": {"annotations": changed}, "spec": spec})
        event = _scaled(name, before, after) if after != before else None
        return Patch(target=rs, patch=change, same_generation=True, event=event)

    def _forgotten(self) -> tuple[Delete, ...]:
        """Old ReplicaSets beyond the history's limit, once a rollout is complete or while it is paused."""
        spec, status = self._deployment.spec, self._deployment.status
        observed = status.observed_generation >= self._deployment.metadata.generation
        complete = observed and Counts.of_status(status).complete(self._bounds)
        if not spec.paused and not complete:
            return ()
        limit = DEFAULT_HISTORY if spec.revision_history_limit is None else spec.revision_history_limit
        kept = [rs for rs in self._family.old if rs.metadata.deletion_timestamp is None]
        oldest = sorted(kept, key=lambda rs: noted(rs, REVISION) or 0)[: max(len(kept) - limit, 0)]
        return tuple(Delete(target=rs) for rs in oldest if _is_empty(rs) and self._effects[rs.metadata.name] is None)

    def _after(self, report: Report) -> After:
        sets = [self._live(report, rs) for rs in self._family.all]
        new = self._live(report, self._family.new) if self._family.new is not None else None
        failure: Exception | None = None
        if self._creation is not None:
            failure = report.error(self._creation)
            live = report.live(self._creation)
            if isinstance(live, ReplicaSet):
                new = live
                sets.append(live)
        return After(
            deployment=self._deployment,
            bounds=self._bounds,
            sets=tuple(sets),
            new=new,
            created=self._creation.object.metadata.name if self._creation is not None else None,
            failure=failure,
            rolls=self._sizing.rolls,
            collisions=self._collisions,
            now=self._now,
        )

    def _live(self, report: Report, rs: ReplicaSet) -> ReplicaSet:
        effect = self._effects[rs.metadata.name]
        live = report.live(effect) if effect is not None else None
        return live if isinstance(live, ReplicaSet) else rs


def _is_empty(rs: ReplicaSet) -> bool:
    observed = rs.status.observed_generation >= rs.metadata.generation
    return observed and not size(rs) and not rs.status.replicas


def _scaled(name: str, before: int, after: int) -> Event:
    way = "up" if after > before else "down"
    note = f"Scaled {way} replica set {name} from {before} to {after}"
    return Event(type="Normal", reason="ScalingReplicaSet", note=note, action="ScaleReplicaSet")
