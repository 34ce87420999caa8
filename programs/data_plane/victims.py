"""Which Pods go when a ReplicaSet has too many: the ones that would be missed least, as the real controller ranks them.

In this order: not on a node, not running yet, not ready, a lower deletion cost, sharing a node with more Pods of the same
Deployment, ready for a shorter time, restarted more often, younger. Times are compared by their order of magnitude, so that
among Pods of about the same age the uid decides: chance, but the same chance every time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cmp_to_key
from typing import Final

from data_plane.annotations import DELETION_COST
from dynamo_ctrl.objects.builtin.core import Pod

_PHASES: Final = {"Pending": 0, "": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True)
class _Rank:
    """One Pod as the comparison sees it. `firm` decides before any time does; smaller goes first."""

    pod: Pod
    firm: tuple[int, ...]
    ready_since: datetime | None
    restarts: int


def is_active(pod: Pod) -> bool:
    """Whether the Pod counts as a replica: it has not ended and nobody has asked it to."""
    return pod.status.phase not in ("Succeeded", "Failed") and pod.metadata.deletion_timestamp is None


def ready_since(pod: Pod) -> datetime | None:
    """Since when the Pod is ready; `None` if it is not."""
    condition = pod.status.condition("Ready")
    return condition.last_transition_time if condition is not None and condition.status == "True" else None


def is_ready(pod: Pod) -> bool:
    """Whether the Pod is ready."""
    condition = pod.status.condition("Ready")
    return condition is not None and condition.status == "True"


def victims(pods: Sequence[Pod], count: int, *, related: Iterable[Pod], now: datetime) -> tuple[Pod, ...]:
    """The `count` of `pods` that go. `related` are the active Pods of all ReplicaSets of the same owner."""
    if count >= len(pods):
        return tuple(pods)
    crowd: dict[str, int] = {}
    for pod in related:
        crowd[pod.spec.node_name] = crowd.get(pod.spec.node_name, 0) + 1
    ranks = [_rank(pod, crowd.get(pod.spec.node_name, 0)) for pod in pods]
    ranks.sort(key=cmp_to_key(lambda a, b: _compare(a, b, now)))
    return tuple(rank.pod for rank in ranks[:count])


def _rank(pod: Pod, crowd: int) -> _Rank:
    phase = _PHASES.get(pod.status.phase, 2)
    firm = (int(bool(pod.spec.node_name)), phase, int(is_ready(pod)), _cost(pod), -crowd)
    restarts = max((status.restart_count for status in pod.status.container_statuses), default=0)
    return _Rank(pod, firm, ready_since(pod), restarts)


def _cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _compare(a: _Rank, b: _Rank, now: datetime) -> int:
    if a.firm != b.firm:
        return -1 if a.firm < b.firm else 1
    if a.ready_since is not None and b.ready_since is not None and a.ready_since != b.ready_since:
        return _by_age(a, b, a.ready_since, b.ready_since, now)
    if a.restarts != b.restarts:
        return -1 if a.restarts > b.restarts else 1
    born_a, born_b = a.pod.metadata.creation_timestamp, b.pod.metadata.creation_timestamp
    if born_a is not None and born_b is not None and born_a != born_b:
        return _by_age(a, b, born_a, born_b, now)
    return 0


def _by_age(a: _Rank, b: _Rank, since_a: datetime, since_b: datetime, now: datetime) -> int:
    """The younger one goes first; within the same order of magnitude the smaller uid."""
    difference = _magnitude(now, since_a) - _magnitude(now, since_b)
    if difference:
        return difference
    return -1 if a.pod.metadata.uid < b.pod.metadata.uid else 1


def _magnitude(now: datetime, since: datetime) -> int:
    nanoseconds = (now - since).total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1
