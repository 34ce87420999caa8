"""The status of a Deployment: a pure function of its ReplicaSets as they are after an attempt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from data_plane import progress
from data_plane.bounds import Bounds
from data_plane.conditions import Conditions, Stamp, find, to_json, with_new
from data_plane.family import size
from data_plane.progress import PROGRESSING, Counts
from dynamo_ctrl.objects.builtin.apps import Deployment, ReplicaSet
from dynamo_ctrl.objects.frozen import JsonMap


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What an attempt left behind.

    Attributes:
        sets: every ReplicaSet, the new one included.
        new: the one that has the Deployment's template, if there is one by now.
        created: the name of the ReplicaSet that the attempt created, or tried to.
        failure: why it could not.
        rolls: the strategy was at work, so progress counts.
    """

    deployment: Deployment
    bounds: Bounds
    sets: tuple[ReplicaSet, ...]
    new: ReplicaSet | None
    created: str | None
    failure: Exception | None
    rolls: bool
    collisions: int | None
    now: datetime


def deployment_status(after: After) -> JsonMap:
    """The status; numbers that are zero are left out, as the API does."""
    counts = Counts.of_sets(after.sets, after.new)
    wanted = sum(size(rs) for rs in after.sets)
    numbers = {
        "observedGeneration": after.deployment.metadata.generation,
        "replicas": counts.replicas,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
        "unavailableReplicas": max(wanted - counts.available, 0),
    }
    status: dict[str, Any] = {name: number for name, number in numbers.items() if number}
    if after.collisions is not None:
        status["collisionCount"] = after.collisions
    status["terminatingReplicas"] = sum(rs.status.terminating_replicas or 0 for rs in after.sets)
    status["conditions"] = to_json(_conditions(after))
    return status


def next_check(after: After) -> timedelta | None:
    """When the progress deadline must be looked at again; `None` if it need not."""
    return progress.next_check(_conditions(after), progress.deadline(after.deployment.spec), after.now)


def _conditions(after: After) -> Conditions:
    spec, status = after.deployment.spec, after.deployment.status
    stamp = Stamp(after.now, updates=True)
    limit = progress.deadline(spec)
    counts = Counts.of_sets(after.sets, after.new)
    conditions = progress.paused_or_resumed(status.conditions, spec, stamp)
    if limit is not None:
        conditions = _about_the_new_set(after, conditions, stamp)
    conditions = progress.availability(conditions, counts, after.bounds, stamp)
    if not after.rolls:
        return conditions
    name = after.deployment.metadata.name
    who = f'ReplicaSet "{after.new.metadata.name}"' if after.new is not None else f'Deployment "{name}"'
    before = Counts.of_status(status)
    conditions = progress.progress(
        conditions, before=before, after=counts, bounds=after.bounds, limit=limit, who=who, stamp=stamp
    )
    return progress.replica_failure(conditions, after.sets, after.new)


def _about_the_new_set(after: After, conditions: Conditions, stamp: Stamp) -> Conditions:
    """That the new ReplicaSet was created, could not be, or was found where nobody had said anything yet."""
    if after.created is not None and after.failure is not None:
        text = f'Failed to create new replica set "{after.created}": {after.failure}'
        return with_new(conditions, stamp.condition(PROGRESSING, "False", progress.CREATE_FAILED, text))
    if after.created is not None:
        text = f'Created new replica set "{after.created}"'
        return with_new(conditions, stamp.condition(PROGRESSING, "True", progress.CREATED, text))
    if after.new is not None and find(conditions, PROGRESSING) is None:
        text = f'Found new replica set "{after.new.metadata.name}"'
        return with_new(conditions, stamp.condition(PROGRESSING, "True", progress.FOUND, text))
    return conditions
