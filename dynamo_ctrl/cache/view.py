"""`View`: the read side of the cache, as programs see it.

Contract:

- Reads never wait and copy nothing: they hand out the shared, immutable objects themselves.
- Results with several objects are ordered by key, so that a program that iterates them is deterministic.
- Own writes are visible at once (the overlay), before the watch has told them.
- A kind that is declared `optional` reads as empty while its API is absent. Every other kind that cannot be read (no right,
  not synced, never declared) raises `SourceUnavailable`: a program never acts on half a world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class SourceUnavailable(Exception):
    """A kind cannot be read from the cache now; `reason` says why and what mends it."""

    def __init__(self, kind: Kind[Any], reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind} cannot be read: {reason}")


class View(Protocol):
    """Reads of one cluster's cached objects."""

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`."""

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects of one namespace (empty: all) that match the label selector (`None`: all)."""

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`. Raises `SourceUnavailable` for an index that nobody declared."""

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` that `owner` controls: the controller reference carries its uid."""

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the cluster has that API. Never raises."""
