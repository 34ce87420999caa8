"""Worker generations: which suffix the workers of a graph carry, and what is stored about it (G 3.5, 3.6.2). Pure.

Two values are kept apart by name and never compared with each other: `v1`, the opaque suffix of a generation that an older
release made, and `v2`, the hash of `worker_hash`. Until the managed rollout exists, a change of the workers makes no new
generation: they keep their suffix, and their deployments change in place.

Annotations are a projection: where they were lost, the names of the worker deployments that the graph controls tell the suffix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from dynamo_graph.api.names import LEGACY_HASH, Annotation

_SUFFIX: Final = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHashes:
    """What the graph's annotations say about the serving generation. Absent and empty are the same."""

    v1: str = ""
    v2: str = ""

    @classmethod
    def read(cls, annotations: Mapping[str, str]) -> StoredHashes:
        """The stored values."""
        return cls(v1=annotations.get(Annotation.WORKER_HASH_V1, ""), v2=annotations.get(Annotation.WORKER_HASH_V2, ""))

    @property
    def suffix(self) -> str:
        """The suffix of the serving generation; empty when none is stored."""
        return self.v1 if self.v1 and self.v1 != LEGACY_HASH else self.v2

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations that hold these values."""
        return {
            key: value
            for key, value in ((Annotation.WORKER_HASH_V1, self.v1), (Annotation.WORKER_HASH_V2, self.v2))
            if value
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The generation that the workers belong to now.

    Attributes:
        suffix: of the names of worker deployments, and the value of their worker-hash label.
        store: what must be written to the graph's annotations first; `None` when it is there.
        migration: whether that write records the hash next to the suffix of an older release.
    """

    suffix: str
    store: StoredHashes | None = None
    migration: bool = False


def serving(
    stored: StoredHashes, desired: str, *, graph: str, workers: Collection[str], names: Collection[str]
) -> Generation:
    """The serving generation of a graph.

    Args:
        stored: its annotations.
        desired: the hash of its workers as they are wanted.
        graph: its name.
        workers: the names of its worker components.
        names: of the worker deployments that it controls.
    """
    if not workers:
        return Generation(suffix=stored.suffix or desired)
    if stored.v1 and stored.v1 != LEGACY_HASH and not stored.v2:
        return Generation(suffix=stored.v1, store=replace(stored, v2=desired), migration=True)
    if stored.suffix:
        return Generation(suffix=stored.suffix)
    suffix = inherited_suffix(graph, workers, names) or desired
    return Generation(suffix=suffix, store=None if stored.v1 else StoredHashes(v2=suffix))


def inherited_suffix(graph: str, workers: Iterable[str], names: Iterable[str]) -> str:
    """The one suffix that the canonical names of worker deployments carry; empty if there is none, or more than one."""
    names = tuple(names)
    prefixes = (f"{graph}-{worker.lower()}-" for worker in workers)
    rests = {name.removeprefix(prefix) for prefix in prefixes for name in names if name.startswith(prefix)}
    suffixes = {rest for rest in rests if _SUFFIX.fullmatch(rest)}
    return suffixes.pop() if len(suffixes) == 1 else ""
