"""Which size each ReplicaSet of a Deployment is to have next, and whether a new one is due. The decision, without its writes.

The order of the questions is that of the real controller: paused and scaled Deployments only share sizes out; otherwise the
strategy rolls, growing in one attempt and shrinking in the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from data_plane import proportional, rolling
from data_plane.annotations import DESIRED_REPLICAS, MAX_REPLICAS
from data_plane.bounds import Bounds
from data_plane.family import Family, created, noted, size
from dynamo_ctrl.objects.builtin.apps import ReplicaSet


@dataclass(frozen=True, slots=True)
class Sizing:
    """What one attempt decides.

    Attributes:
        rolls: the strategy is at work, so that progress is estimated; otherwise sizes are only shared out.
        sizes: the wanted size of ReplicaSets that are there, by name.
        noted: of these, the ones whose books are brought up to date even if their size stays.
        creates: the size of the new ReplicaSet that is due; `None` if none is.
    """

    rolls: bool
    sizes: Mapping[str, int] = field(default_factory=dict)
    noted: frozenset[str] = frozenset()
    creates: int | None = None


def is_scaled(family: Family, bounds: Bounds) -> bool:
    """Whether somebody changed the number of replicas since the active ReplicaSets were sized."""
    return any(noted(rs, DESIRED_REPLICAS) not in (None, bounds.replicas) for rs in family.active)


def shared(family: Family, bounds: Bounds, *, rolling_update: bool, actual: int) -> Sizing:
    """Sizes for a Deployment that is paused or was scaled: the one active ReplicaSet takes all, several get their shares."""
    only = family.only_active
    if only is not None:
        return Sizing(rolls=False, sizes={only.metadata.name: bounds.replicas})
    if family.new is not None and _is_saturated(family.new, bounds):
        return Sizing(rolls=False, sizes={rs.metadata.name: 0 for rs in family.old})
    if not rolling_update:
        return Sizing(rolls=False)
    shares = [
        proportional.Share(rs.metadata.name, size(rs), noted(rs, MAX_REPLICAS) or 0, created(rs))
        for rs in family.active
    ]
    sizes = proportional.spread(bounds, shares, actual) if shares else {}
    return Sizing(rolls=False, sizes=sizes, noted=frozenset(sizes))


def rolled(family: Family, bounds: Bounds) -> Sizing:
    """One step of a rolling update: create or grow the new ReplicaSet; if it need not grow, shrink the old ones."""
    old_size = sum(size(rs) for rs in family.old)
    new = family.new
    if new is None:
        creates = rolling.grown(bounds, 0, old_size)
        newcomer = rolling.Count("", creates, 0)
        return Sizing(rolls=True, sizes=rolling.shrunk(bounds, newcomer, _counts(family.old)), creates=creates)
    grown = rolling.grown(bounds, size(new), old_size)
    if grown != size(new):
        return Sizing(rolls=True, sizes={new.metadata.name: grown})
    return Sizing(rolls=True, sizes=rolling.shrunk(bounds, _count(new), _counts(family.old)))


def recreated(family: Family, bounds: Bounds, *, old_pods_run: bool) -> Sizing:
    """One step of the Recreate strategy: the old ones end, wholly; then the new one comes at its full size."""
    ending = {rs.metadata.name: 0 for rs in family.old if size(rs)}
    if ending:
        return Sizing(rolls=True, sizes=ending)
    if old_pods_run:
        return Sizing(rolls=True)
    if family.new is None:
        return Sizing(rolls=True, creates=bounds.replicas)
    return Sizing(rolls=True, sizes={family.new.metadata.name: bounds.replicas})


def _counts(sets: tuple[ReplicaSet, ...]) -> list[rolling.Count]:
    return [_count(rs) for rs in sets if size(rs)]


def _count(rs: ReplicaSet) -> rolling.Count:
    return rolling.Count(rs.metadata.name, size(rs), rs.status.available_replicas)


def _is_saturated(rs: ReplicaSet, bounds: Bounds) -> bool:
    return size(rs) == noted(rs, DESIRED_REPLICAS) == rs.status.available_replicas == bounds.replicas
