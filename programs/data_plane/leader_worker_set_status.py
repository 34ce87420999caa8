"""The status of a LeaderWorkerSet: its groups in numbers, and which of three conditions holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from data_plane.group_pods import NAME, WORKER_INDEX
from data_plane.groups import Group
from data_plane.leader_worker_set_kind import GroupCondition, LeaderWorkerSet
from dynamo_ctrl.objects.frozen import JsonMap

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
UPDATING: Final = "UpdateInProgress"

_TOLD: Final = {
    AVAILABLE: ("AllGroupsReady", "All replicas are ready"),
    PROGRESSING: ("GroupsProgressing", "Replicas are progressing"),
    UPDATING: ("GroupsUpdating", "Rolling Upgrade is in progress"),
}


def leader_worker_set_status(lws: LeaderWorkerSet, groups: Sequence[Group], revision: str, now: datetime) -> JsonMap:
    """The status for the Pods that were there when the attempt began; numbers that are zero are left out."""
    name = lws.metadata.name
    numbers = {
        "replicas": sum(group.leader is not None for group in groups),
        "readyReplicas": sum(group.is_ready for group in groups),
        "updatedReplicas": sum(group.has_revision(revision) and group.is_whole for group in groups),
        "observedGeneration": lws.metadata.generation,
    }
    status: dict[str, Any] = {key: number for key, number in numbers.items() if number}
    status["hpaPodSelector"] = f"{NAME}={name},{WORKER_INDEX}=0"
    return {**status, "conditions": _conditions(lws, _holding(lws, groups, revision), now)}


def _holding(lws: LeaderWorkerSet, groups: Sequence[Group], revision: str) -> tuple[str, ...]:
    """The conditions that hold; they exclude the others."""
    first = lws.spec.rollout_strategy.rolling_update_configuration.partition
    asked = [group for group in groups if group.index < lws.spec.replicas]
    present = [group for group in asked if group.index >= first]
    updated = [group for group in present if group.has_revision(revision)]
    if len(updated) < len(present):
        return (UPDATING, PROGRESSING)
    ready = sum(group.is_ready for group in asked)
    return (AVAILABLE,) if ready == lws.spec.replicas else (PROGRESSING,)


def _conditions(lws: LeaderWorkerSet, holding: tuple[str, ...], now: datetime) -> list[dict[str, Any]]:
    old = {condition.type: condition for condition in lws.status.conditions}
    types = [*old, *(type_ for type_ in holding if type_ not in old)]
    return [msgspec.to_builtins(_condition(lws, type_, old.get(type_), type_ in holding, now)) for type_ in types]


def _condition(
    lws: LeaderWorkerSet, type_: str, old: GroupCondition | None, holds: bool, now: datetime
) -> dict[str, Any]:
    status = "True" if holds else "False"
    reason, message = _TOLD.get(type_, ("Unknown", ""))
    same = old is not None and old.status == status and old.last_transition_time is not None
    moment = old.last_transition_time if same and old is not None else now.replace(microsecond=0)
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": moment,
        "observedGeneration": lws.metadata.generation,
    }
