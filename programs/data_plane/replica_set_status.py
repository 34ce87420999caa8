"""The status of a ReplicaSet: its Pods in numbers, and whether making or ending them failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from data_plane.conditions import Conditions, Stamp, find, to_json, with_new, without
from data_plane.progress import REPLICA_FAILURE
from data_plane.victims import is_ready, ready_since
from dynamo_ctrl.objects.builtin.apps import ReplicaSet
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.objects.frozen import JsonMap


def available_in(pod: Pod, min_ready_seconds: int, now: datetime) -> timedelta | None:
    """How long until a ready Pod counts as available: zero if it does; `None` if it is not ready."""
    if not is_ready(pod):
        return None
    since = ready_since(pod)
    if not min_ready_seconds or since is None:
        return timedelta(0)
    return max(since + timedelta(seconds=min_ready_seconds) - now, timedelta(0))


def replica_set_status(
    rs: ReplicaSet, active: Sequence[Pod], *, terminating: int, failure: Exception | None, wanted: int, now: datetime
) -> JsonMap:
    """The status for the Pods that were there when the attempt began; numbers that are zero are left out, but for `replicas`.

    `wanted` tells a failed creation from a failed deletion.
    """
    waits = [available_in(pod, rs.spec.min_ready_seconds, now) for pod in active]
    labels = (rs.spec.template.get("metadata") or {}).get("labels") or {}
    labelled = [pod for pod in active if labels.items() <= pod.metadata.labels.items()]
    numbers = {
        "fullyLabeledReplicas": len(labelled),
        "readyReplicas": sum(wait is not None for wait in waits),
        "availableReplicas": sum(wait == timedelta(0) for wait in waits),
        "observedGeneration": rs.metadata.generation,
    }
    status: dict[str, Any] = {"replicas": len(active), "terminatingReplicas": terminating}
    status |= {name: number for name, number in numbers.items() if number}
    conditions = _failure(rs.status.conditions, failure, missing=wanted > len(active), now=now)
    return {**status, "conditions": to_json(conditions)} if conditions else status


def _failure(conditions: Conditions, failure: Exception | None, *, missing: bool, now: datetime) -> Conditions:
    if failure is None:
        return without(conditions, REPLICA_FAILURE)
    if find(conditions, REPLICA_FAILURE) is not None:
        return conditions
    reason = "FailedCreate" if missing else "FailedDelete"
    return with_new(conditions, Stamp(now).condition(REPLICA_FAILURE, "True", reason, str(failure)))
