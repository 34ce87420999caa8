"""The conditions of a Deployment: Available, Progressing with its deadline, and the failures of its ReplicaSets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from data_plane.bounds import Bounds
from data_plane.conditions import Conditions, Stamp, find, replaced, with_new, without
from dynamo_ctrl.objects.builtin.apps import DeploymentSpec, DeploymentStatus, ReplicaSet

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

DEFAULT_DEADLINE: Final = 600
"""Seconds without progress; what the API server writes where a Deployment names none."""
NO_DEADLINE: Final = 2**31 - 1
"""A deadline of this many seconds means none."""

COMPLETE: Final = "NewReplicaSetAvailable"
CREATED: Final = "NewReplicaSetCreated"
FOUND: Final = "FoundNewReplicaSet"
CREATE_FAILED: Final = "ReplicaSetCreateError"
UPDATED: Final = "ReplicaSetUpdated"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
PAUSED: Final = "DeploymentPaused"
RESUMED: Final = "DeploymentResumed"


@dataclass(frozen=True, slots=True)
class Counts:
    """The Pods of a Deployment in numbers, as its ReplicaSets count them."""

    replicas: int
    updated: int
    ready: int
    available: int

    @classmethod
    def of_status(cls, status: DeploymentStatus) -> Counts:
        """What a status says."""
        return cls(status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas)

    @classmethod
    def of_sets(cls, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> Counts:
        """What the ReplicaSets say."""
        return cls(
            replicas=sum(rs.status.replicas for rs in sets),
            updated=new.status.replicas if new is not None else 0,
            ready=sum(rs.status.ready_replicas for rs in sets),
            available=sum(rs.status.available_replicas for rs in sets),
        )

    def complete(self, bounds: Bounds) -> bool:
        """Whether all that is wanted is new and available, and nothing else is left."""
        return self.updated == self.replicas == self.available == bounds.replicas

    def ahead_of(self, before: Counts) -> bool:
        """Whether anything moved forward: more new, ready or available Pods, or fewer old ones."""
        return (
            self.updated > before.updated
            or self.replicas - self.updated < before.replicas - before.updated
            or self.ready > before.ready
            or self.available > before.available
        )


def deadline(spec: DeploymentSpec) -> timedelta | None:
    """How long a rollout may go without progress; `None` for ever."""
    seconds = DEFAULT_DEADLINE if spec.progress_deadline_seconds is None else spec.progress_deadline_seconds
    return None if seconds >= NO_DEADLINE else timedelta(seconds=seconds)


def paused_or_resumed(conditions: Conditions, spec: DeploymentSpec, stamp: Stamp) -> Conditions:
    """Progressing says Unknown while a Deployment is paused and when it resumes, so that the wait counts for nobody."""
    current = find(conditions, PROGRESSING)
    if deadline(spec) is None or (current is not None and current.reason == TIMED_OUT):
        return conditions
    known_as_paused = current is not None and current.reason == PAUSED
    if spec.paused and not known_as_paused:
        return with_new(conditions, stamp.condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused"))
    if not spec.paused and known_as_paused:
        return with_new(conditions, stamp.condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed"))
    return conditions


def availability(conditions: Conditions, counts: Counts, bounds: Bounds, stamp: Stamp) -> Conditions:
    """Whether as many Pods are available as there must be."""
    if counts.available >= bounds.least_available:
        text = "Deployment has minimum availability."
        return with_new(conditions, stamp.condition(AVAILABLE, "True", "MinimumReplicasAvailable", text))
    text = "Deployment does not have minimum availability."
    return with_new(conditions, stamp.condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text))


def progress(
    conditions: Conditions,
    *,
    before: Counts,
    after: Counts,
    bounds: Bounds,
    limit: timedelta | None,
    who: str,
    stamp: Stamp,
) -> Conditions:
    """Whether the rollout is through, moves, or has not moved for too long. `who` names it, as `ReplicaSet "x"`."""
    current = find(conditions, PROGRESSING)
    if limit is None:
        return without(conditions, PROGRESSING)
    if after.replicas == after.updated and current is not None and current.reason == COMPLETE:
        return conditions
    if after.complete(bounds):
        return with_new(
            conditions, stamp.condition(PROGRESSING, "True", COMPLETE, f"{who} has successfully progressed.")
        )
    if after.ahead_of(before):
        return replaced(conditions, stamp.condition(PROGRESSING, "True", UPDATED, f"{who} is progressing."))
    if current is not None and _is_overdue(current.reason, current.last_update_time, limit, stamp.now):
        text = f"{who} has timed out progressing."
        return with_new(conditions, stamp.condition(PROGRESSING, "False", TIMED_OUT, text))
    return conditions


def next_check(conditions: Conditions, limit: timedelta | None, now: datetime) -> timedelta | None:
    """When the deadline of a rollout that is under way must be looked at again; `None` if it need not."""
    current = find(conditions, PROGRESSING)
    if limit is None or current is None or current.last_update_time is None:
        return None
    if current.reason in (COMPLETE, TIMED_OUT, PAUSED):
        return None
    return max(current.last_update_time + limit - now, timedelta(0)) + timedelta(seconds=1)


def replica_failure(conditions: Conditions, sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> Conditions:
    """The failure of a ReplicaSet to create or delete Pods; the new one's counts first."""
    ordered = (new, *sets) if new is not None else tuple(sets)
    for rs in ordered:
        failure = find(rs.status.conditions, REPLICA_FAILURE)
        if failure is not None:
            return with_new(conditions, failure)
    return without(conditions, REPLICA_FAILURE)


def _is_overdue(reason: str, since: datetime | None, limit: timedelta, now: datetime) -> bool:
    if reason == COMPLETE or since is None:
        return False
    return reason == TIMED_OUT or since + limit < now
