"""Worker generations: which one serves a graph, and what its annotations record of it (G 3.5, 3.6.8, 3.7; D1, D2). Pure.

Three values are kept apart by name, and none is ever compared with another kind:

    v1     the opaque suffix of a generation that an older release made; `legacy` for workers from before there were suffixes
    v2     the hash of the workers as they were wanted, and the suffix of the generations made for it
    own    our hash of the workers that a generation with a foreign v2 was found serving

The original's v2 is not ours for the same workers: its bytes are those of another serialiser. So a v2 that came with a graph is
as opaque as a v1 while the graph stays as it is, and our own value is recorded next to it: no workers roll only because two
programs count differently.

The annotations are a projection, written last. What exists is told by the names of the worker deployments that a graph controls;
annotations only tell that a generation with another name than the desired hash serves the same workers (a *bridge*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dynamo_graph.api.names import LEGACY_HASH, Annotation

_KEYS = {"v1": Annotation.WORKER_HASH_V1, "v2": Annotation.WORKER_HASH_V2, "own": Annotation.WORKER_HASH_OWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHashes:
    """What a graph's annotations record. Absent and empty are the same."""

    v1: str = ""
    v2: str = ""
    own: str = ""

    @classmethod
    def read(cls, annotations: Mapping[str, str]) -> StoredHashes:
        """The recorded values."""
        return cls(**{field: annotations.get(key, "") for field, key in _KEYS.items()})

    @property
    def empty(self) -> bool:
        """Whether nothing is recorded: a first deployment, or annotations that were lost."""
        return not (self.v1 or self.v2)

    @property
    def suffix(self) -> str:
        """The suffix of the recorded generation; empty when that has none."""
        return "" if self.v1 == LEGACY_HASH else self.v1 or self.v2

    @property
    def hash(self) -> str:
        """The hash of the workers that the recorded generation serves."""
        return self.own or self.v2

    def bridge(self, desired: str) -> str:
        """The suffix, other than `desired`, of a generation that serves the workers that `desired` is the hash of; or empty."""
        if self.own:
            return self.suffix if self.own == desired else ""
        return self.suffix if self.v1 and self.v2 == desired else ""

    def annotations(self) -> dict[str, str | None]:
        """All annotations of this module, for a merge patch: `None` takes one away."""
        return {key: getattr(self, field) or None for field, key in _KEYS.items()}


def migrated(stored: StoredHashes, desired: str, *, rolling: bool) -> StoredHashes | None:
    """What records `desired` next to the suffix of an older release (G 3.5.3); `None` if that is not due.

    Not while a rollout is under way: whoever began it knows better which workers that suffix serves.
    """
    alone = stored.suffix and stored.v1 and not stored.v2
    return replace(stored, v2=desired) if alone and not rolling else None


def adopted(stored: StoredHashes, desired: str, *, only: str) -> StoredHashes | None:
    """What records that a generation which another program named serves the workers of `desired` (D2); `None` if it is not so.

    Args:
        only: the suffix of the only generation there is, if nothing has changed since it served; else empty. It must be the
            recorded one, unless the records were lost.
    """
    if not only or only == desired or (not stored.empty and only != stored.suffix):
        return None
    if stored.bridge(desired) == only:
        return None
    return StoredHashes(v1=stored.v1, v2=stored.v2 or only, own=desired)


def target_suffix(stored: StoredHashes, desired: str, exists: Callable[[str], bool]) -> str:
    """The suffix that the workers shall have (G 3.6.8).

    Args:
        exists: whether some worker's deployment with that suffix is there.
    """
    bridge = stored.bridge(desired)
    return bridge if bridge and not exists(desired) and exists(bridge) else desired


def completed(stored: StoredHashes, desired: str, suffix: str) -> StoredHashes:
    """What is recorded once the generation `suffix` serves the workers of `desired` alone."""
    return StoredHashes(v2=desired) if suffix == desired else stored


def candidates(stored: StoredHashes, desired: str, suffix: str) -> tuple[str, ...]:
    """The suffixes under which a worker's deployment is looked for, best first (G 3.5.5)."""
    found = (suffix, stored.bridge(desired), desired if stored.v2 == desired else "")
    return tuple(dict.fromkeys(each for each in found if each))
