"""The arithmetic of a rolling update: how far the new ReplicaSet may grow, how far the old ones may shrink.

Pure integers. Both directions keep the bounds on their own: growth looks at the sizes that were asked for, shrinking at what is
available in fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from data_plane.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Count:
    """One ReplicaSet in numbers: its size as asked for, and how many of its Pods are available."""

    name: str
    size: int
    available: int


def total(counts: Iterable[Count]) -> int:
    """The size of all of them together."""
    return sum(count.size for count in counts)


def grown(bounds: Bounds, new_size: int, old_size: int) -> int:
    """The size of the new ReplicaSet after one step: all of what is wanted, as far as the surge leaves room.

    A new ReplicaSet that is too large shrinks at once.
    """
    if new_size >= bounds.replicas:
        return bounds.replicas
    room = max(bounds.most - new_size - old_size, 0)
    return new_size + min(room, bounds.replicas - new_size)


def shrunk(bounds: Bounds, new: Count, old: Sequence[Count]) -> Mapping[str, int]:
    """The new sizes of the old ReplicaSets (oldest first) that shrink in one step; empty when none may.

    Pods that are not available go first, whatever ReplicaSet they are in, since that costs nothing; then the oldest
    ReplicaSets give what is available beyond the bound. Pods of the new ReplicaSet that are not available yet count against
    the budget, so that a template that never works stops the rollout. While an old ReplicaSet still counts more available
    Pods than it is to have, it has not caught up, and nothing shrinks on such numbers.
    """
    if any(count.available > count.size for count in old):
        return {}
    missing = new.size - new.available
    budget = total(old) + new.size - bounds.least_available - missing
    if not total(old) or budget <= 0:
        return {}
    sizes = {count.name: count.size for count in old}
    for count in old:
        broken = min(budget, sizes[count.name] - count.available)
        sizes[count.name] -= broken
        budget -= broken
    spare = new.available + sum(count.available for count in old) - bounds.least_available
    for count in old:
        given = min(sizes[count.name], max(spare, 0))
        sizes[count.name] -= given
        spare -= given
    return {count.name: sizes[count.name] for count in old if sizes[count.name] != count.size}
