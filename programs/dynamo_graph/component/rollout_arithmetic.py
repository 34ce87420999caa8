"""The arithmetic of a managed rolling update (G 3.6.3-3.6.5). Pure integers, nothing of Kubernetes.

    D desired    S surge    U unavailable
    o, oa        replicas that the old generations ask for together, and those of them that are available
    n, na        the same for the new one

Both bounds are kept by whoever writes these numbers one after the other: the new generation grows only into what the old ones
leave of D + S by their sizes; the old ones give only what is available beyond D - U, after what is of no use anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

DEFAULT_SHARE: Final = "25%"
"""Surge and unavailability where a component says nothing."""

_SHARE: Final = re.compile(r"[+-]?[0-9]{1,9}%?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Budget:
    """How many replicas there may be beyond the desired ones, and how many of those may be missing."""

    surge: int
    unavailable: int


def budget(desired: int, surge: str = DEFAULT_SHARE, unavailable: str = DEFAULT_SHARE) -> Budget:
    """The budget of a component from the texts of its two annotations.

    A plain number is absolute; `N%` is a share of `desired`, for the surge rounded up, for the unavailable rounded down. What
    cannot be read, or is negative, counts as 0. Two zeros would never move anything: then the surge is 1.
    """
    found = Budget(_scaled(surge, desired, up=True), _scaled(unavailable, desired, up=False))
    return found if found.surge or found.unavailable else Budget(1, 0)


def _scaled(text: str, desired: int, *, up: bool) -> int:
    if _SHARE.fullmatch(text) is None:
        return 0
    if not text.endswith("%"):
        return max(0, int(text))
    whole, rest = divmod(int(text[:-1]) * desired, 100)
    return max(0, whole + (1 if up and rest else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the generations of one component ask for and have: o, oa, n, na."""

    old: int
    old_available: int
    new: int = 0
    new_available: int = 0


@dataclass(frozen=True, slots=True)
class Targets:
    """What the generations of one component shall ask for next."""

    old: int
    new: int


def rolling_targets(desired: int, budget: Budget, counts: Counts) -> Targets:
    """The next step of the strategy RollingUpdate (G 3.6.4)."""
    least = desired - budget.unavailable
    missing = max(0, counts.new - counts.new_available)
    most_down = max(0, counts.old + counts.new - least - missing)
    useless = max(0, counts.old - counts.old_available)
    surplus = max(0, counts.old_available + counts.new_available - least)
    return Targets(
        old=max(0, counts.old - min(most_down, useless + surplus)),
        new=min(desired, counts.new + max(0, desired + budget.surge - counts.old - counts.new)),
    )


def recreate_targets(desired: int, new: int, *, drained: bool) -> Targets:
    """The next step of the strategy Recreate: the old generations end first.

    A new generation that runs already (`new` replicas) is not stopped for an old one that turns up: both run anyway then.
    """
    return Targets(old=0, new=desired if drained else min(desired, new))


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSize:
    """One old generation of a component: what it asks for, and how much of it is available."""

    name: str
    created: datetime
    replicas: int
    available: int


def distributed(target: int, olds: Iterable[OldSize]) -> dict[str, int]:
    """Name to size of every old generation, so that together they have `target` (G 3.6.5).

    Each keeps what is available of it. Beyond the target the oldest give first (then by name); below it the newest get back
    first what they ask for already (then by name).
    """
    oldest = sorted(olds, key=lambda old: (old.created, old.name))
    sizes = {old.name: min(old.replicas, old.available) for old in oldest}
    excess = sum(sizes.values()) - target
    for old in oldest:
        taken = min(sizes[old.name], max(0, excess))
        sizes[old.name] -= taken
        excess -= taken
    for old in _newest(oldest):
        given = min(old.replicas - sizes[old.name], max(0, -excess))
        sizes[old.name] += given
        excess += given
    return sizes


def _newest(oldest: Sequence[OldSize]) -> list[OldSize]:
    """Newest first; those of the same age by name."""
    by_name = sorted(oldest, key=lambda old: old.name)
    return sorted(by_name, key=lambda old: old.created, reverse=True)
