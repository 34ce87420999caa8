"""What is written down of a Deployment, and the rules for what may be seen on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from data_plane.annotations import REVISION

UNDER_WAY: Final = "UnderWay"
"""Stands for the reasons of a rollout that moves.

Which one of them the real controller leaves standing depends on whether it had written the numbers in between: it writes a
Deployment's status up to three times in one go, and tries again when it is in its own way. We write once.
"""

_UNDER_WAY: Final = frozenset({"NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"})
_BRIEF: Final = "DeploymentResumed"
"""Said between two writes of one and the same go; at rest it is never seen."""


class Seen(NamedTuple):
    """A Deployment's status."""

    observed_generation: int
    replicas: int
    updated: int
    ready: int
    available: int
    conditions: tuple[tuple[str, str, str], ...]
    """Type, status and reason, sorted; all reasons of a moving rollout read `UNDER_WAY`."""

    @classmethod
    def of(cls, deployment: Mapping[str, Any]) -> Seen:
        """Read from the object's JSON."""
        status = deployment.get("status") or {}
        conditions = status.get("conditions") or ()
        return cls(
            observed_generation=status.get("observedGeneration", 0),
            replicas=status.get("replicas", 0),
            updated=status.get("updatedReplicas", 0),
            ready=status.get("readyReplicas", 0),
            available=status.get("availableReplicas", 0),
            conditions=tuple(sorted((each["type"], each["status"], _reason(each)) for each in conditions)),
        )


class Rest(NamedTuple):
    """Everything at rest: the status, and the revision and size of each ReplicaSet, oldest revision first."""

    seen: Seen
    sizes: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, deployment: Mapping[str, Any], replica_sets: Iterable[Mapping[str, Any]]) -> Rest:
        """Read from the objects' JSON."""
        sizes = ((int(rs["metadata"]["annotations"][REVISION]), int(rs["spec"]["replicas"])) for rs in replica_sets)
        return cls(Seen.of(deployment), tuple(sorted(sizes)))


class Told(NamedTuple):
    """A story as it went: what was seen at rest after each wave, and every status that was written."""

    rests: Sequence[Rest]
    statuses: Sequence[Seen]


def _reason(condition: Mapping[str, Any]) -> str:
    reason: str = condition["reason"]
    return UNDER_WAY if reason in _UNDER_WAY else reason


def out_of_bounds(told: Told, most: int, least: int) -> list[Seen]:
    """The statuses after the first complete one that show fewer available Pods than `least`, or more than `most` ready.

    Pods that are being replaced are counted by two ReplicaSets that report one after the other, so the number of replicas
    itself may be seen too high for a moment; ready Pods cannot.
    """
    first = next(index for index, seen in enumerate(told.statuses) if seen.available == seen.updated and seen.available)
    return [seen for seen in told.statuses[first:] if seen.available < least or seen.ready > most]


def reasons(told: Told, type_: str) -> list[str]:
    """The reasons that the condition of that type went through."""
    found: list[str] = []
    for seen in told.statuses:
        for name, _, reason in seen.conditions:
            if name == type_ and reason != _BRIEF and found[-1:] != [reason]:
                found.append(reason)
    return found
