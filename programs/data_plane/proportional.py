"""Scaling a Deployment in the middle of a rollout: every active ReplicaSet gets its share.

That keeps the risk where it was: if a quarter of the Pods runs the new template, a quarter of the added ones will.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from data_plane.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Share:
    """One active ReplicaSet: its size, and the most Pods that its Deployment could have when it was last sized (0: unknown)."""

    name: str
    size: int
    most: int
    created: datetime


def spread(bounds: Bounds, shares: Sequence[Share], actual: int) -> Mapping[str, int]:
    """The size of each of `shares` that together make the most that `bounds` allow (nothing for no replicas).

    `actual` is how many Pods there are, the base of the proportion where a share does not know better. What rounding leaves
    over goes to the largest.
    """
    allowed = bounds.most if bounds.replicas else 0
    change = allowed - sum(share.size for share in shares)
    if not change:
        return {share.name: share.size for share in shares}
    ordered = _largest_first(shares, newest_first=change > 0)
    sizes: dict[str, int] = {}
    given = 0
    for share in ordered:
        part = _part(bounds, share, actual)
        part = min(part, change - given) if change > 0 else max(part, change - given)
        sizes[share.name] = share.size + part
        given += part
    largest = ordered[0].name
    sizes[largest] = max(sizes[largest] + change - given, 0)
    return sizes


def _part(bounds: Bounds, share: Share, actual: int) -> int:
    if not bounds.replicas:
        return -share.size
    before = share.most or actual
    if not before or not share.size:
        return 0
    return int(share.size * bounds.most / before + 0.5) - share.size


def _largest_first(shares: Sequence[Share], *, newest_first: bool) -> list[Share]:
    by_age = sorted(shares, key=lambda share: (share.created, share.name), reverse=newest_first)
    return sorted(by_age, key=lambda share: -share.size)
