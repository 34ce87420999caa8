"""Groups of Pods, and what becomes of them: which Pods go, and which ones are made. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from data_plane.group_pods import GROUP_INDEX, REVISION, WORKER_INDEX
from data_plane.leader_worker_set_kind import LEADER_WORKER_SET, LeaderWorkerSet
from data_plane.victims import is_active, is_ready
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.quantity import scaled


class Place(NamedTuple):
    """Where a Pod stands: its group, and its index there; the leader is 0."""

    group: int
    worker: int


@dataclass(frozen=True, slots=True)
class Group:
    """The Pods of one group, by their index.

    Attributes:
        index: its own index.
        size: how many Pods it is to have.
        pods: those that are there, ended and ending ones included.
    """

    index: int
    size: int
    pods: Mapping[int, Pod] = field(default_factory=dict)

    @property
    def leader(self) -> Pod | None:
        """The leader, unless it ends."""
        found = self.pods.get(0)
        return found if found is not None and is_active(found) else None

    @property
    def active(self) -> tuple[Pod, ...]:
        """The Pods that do not end."""
        return tuple(pod for pod in self.pods.values() if is_active(pod))

    @property
    def left(self) -> tuple[Pod, ...]:
        """The Pods that nobody has asked to go yet, ended ones included."""
        return tuple(pod for pod in self.pods.values() if pod.metadata.deletion_timestamp is None)

    @property
    def is_whole(self) -> bool:
        """Whether every Pod is there and none ends."""
        return len(self.active) == len(self.pods) == self.size

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""
        return self.is_whole and all(is_ready(pod) for pod in self.pods.values())

    @property
    def is_disturbed(self) -> bool:
        """Whether a Pod of it ends or ended, or a container of it started again."""
        return any(not is_active(pod) or _restarts(pod) for pod in self.pods.values())

    @property
    def has_started(self) -> bool:
        """Whether every Pod of it has left Pending."""
        return len(self.pods) == self.size and all(pod.status.phase != "Pending" for pod in self.pods.values())

    def has_revision(self, revision: str) -> bool:
        """Whether all its Pods are made of those templates, and there is a leader."""
        return 0 in self.pods and all(pod.metadata.labels.get(REVISION) == revision for pod in self.pods.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt does."""

    gone: tuple[Pod, ...] = ()
    made: tuple[Place, ...] = ()


def groups_of(lws: LeaderWorkerSet, pods: Iterable[Pod]) -> tuple[Group, ...]:
    """The groups that have Pods, by their index. Pods that do not say where they stand are left out."""
    found: dict[int, dict[int, Pod]] = {}
    for pod in pods:
        labels = pod.metadata.labels
        group, worker = labels.get(GROUP_INDEX, ""), labels.get(WORKER_INDEX, "")
        if group.isdecimal() and worker.isdecimal():
            found.setdefault(int(group), {})[int(worker)] = pod
    size = lws.spec.leader_worker_template.size
    return tuple(Group(index, size, dict(sorted(found[index].items()))) for index in sorted(found))


def planned(lws: LeaderWorkerSet, groups: Sequence[Group], revision: str, *, burst: int) -> Plan:
    """What is to be done for `groups`, whose templates are now those of `revision`; not more than `burst` of each.

    A group that is made anew has the newest templates, whatever the partition is.

    Raises:
        InvalidObject: a bound that is neither an integer nor a percentage.
    """
    wanted = _wanted(lws, groups, revision)
    outdated = {group.index for group in _outdated(lws, groups, revision)}
    gone: list[Pod] = []
    made: list[Place] = []
    standing: list[Group] = []
    for group in groups:
        if group.index >= wanted or _recreates(lws, group):
            gone += group.left
        else:
            standing.append(group)
            gone += (pod for pod in group.left if not is_active(pod))
            made += [] if group.index in outdated else _missing(lws, group)
    gone += _replaced(lws, standing, outdated)
    there = {group.index for group in groups}
    new = islice((Place(index, 0) for index in range(wanted) if index not in there), burst)
    return Plan(tuple(gone[:burst]), tuple(islice(chain(made, new), burst)))


def maximum(lws: LeaderWorkerSet, bound: str) -> int:
    """`maxUnavailable` or `maxSurge` in groups. Raises `InvalidObject`."""
    update = lws.spec.rollout_strategy.rolling_update_configuration
    surge = bound == "maxSurge"
    value = update.max_surge if surge else update.max_unavailable
    try:
        return min(scaled(value, lws.spec.replicas, round_up=surge), lws.spec.replicas)
    except ValueError as error:
        path = f"spec.rolloutStrategy.rollingUpdateConfiguration.{bound}"
        rule = f"must be an integer or a percentage, not {value!r}"
        raise InvalidObject(f"{LEADER_WORKER_SET.kind} {lws.key}", path, rule) from error


def _wanted(lws: LeaderWorkerSet, groups: Sequence[Group], revision: str) -> int:
    """How many groups there are to be now: more than asked for while groups are replaced, as far as the surge allows."""
    replicas = lws.spec.replicas
    surge = maximum(lws, "maxSurge")
    if not surge:
        return replicas
    burst = any(group.index >= replicas and group.active for group in groups)
    settled = sum(group.is_ready for group in groups if group.index < replicas) == replicas
    return replicas + surge if _outdated(lws, groups, revision) or (burst and not settled) else replicas


def _outdated(lws: LeaderWorkerSet, groups: Sequence[Group], revision: str) -> list[Group]:
    first = lws.spec.rollout_strategy.rolling_update_configuration.partition
    return [group for group in groups if first <= group.index < lws.spec.replicas and not group.has_revision(revision)]


def _recreates(lws: LeaderWorkerSet, group: Group) -> bool:
    match lws.spec.leader_worker_template.restart_policy:
        case "RecreateGroupOnPodRestart":
            return group.is_disturbed
        case "RecreateGroupAfterStart":
            return group.is_disturbed and (group.has_started or group.leader is None)
        case _:
            return group.leader is None


def _missing(lws: LeaderWorkerSet, group: Group) -> list[Place]:
    """The workers that a group lacks, once its leader is far enough."""
    leader = group.leader
    if leader is None:
        return []
    if lws.spec.startup_policy == "LeaderReady" and not is_ready(leader):
        return []
    return [Place(group.index, worker) for worker in range(1, group.size) if worker not in group.pods]


def _replaced(lws: LeaderWorkerSet, groups: Sequence[Group], outdated: set[int]) -> Iterator[Pod]:
    """The Pods of outdated groups that may go now, the last group first: as many as the rest can do without."""
    ready = sum(group.is_ready for group in groups)
    least = lws.spec.replicas - max(maximum(lws, "maxUnavailable"), 0 if maximum(lws, "maxSurge") else 1)
    for group in reversed(groups):
        if group.index not in outdated:
            continue
        if group.is_ready:
            if ready - 1 < least:
                continue
            ready -= 1
        yield from group.active


def _restarts(pod: Pod) -> bool:
    return any(status.restart_count for status in pod.status.container_statuses)
