"""The inverted index over every label of one namespace, and how a selector reads it.

A selector costs its matches and not the size of the store: the requirement with the fewest objects gives the candidates, the
others only filter. What the index knows is always about who carries a label; a negative requirement (`!=`, `notin`, `!`) is
satisfied by everybody else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from typing import Final

from dynamo_ctrl.cache.index import Buckets
from dynamo_ctrl.objects.selector import Requirement

POSITIVE: Final = frozenset(("=", "in", "exists"))
"""The operators that are satisfied by those who carry the label."""

_ANY_VALUE: Final = frozenset(("exists", "!"))


class LabelIndex:
    """From label key and value to the names of objects."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, Buckets[str]] = {}

    def put(self, name: str, labels: Mapping[str, str]) -> None:
        """File `name` under each of the labels."""
        keys = self._keys
        for key, value in labels.items():
            buckets = keys.get(key)
            if buckets is None:
                buckets = keys[key] = Buckets()
            buckets.put(value, name)

    def drop(self, name: str, labels: Mapping[str, str], still: Mapping[str, str]) -> None:
        """Take `name` away from those of its old `labels` that its new labels, `still`, do not have."""
        for key, value in labels.items():
            if still.get(key) != value:
                buckets = self._keys[key]
                buckets.drop(value, name)
                if not buckets.size:
                    del self._keys[key]

    def count(self, requirement: Requirement) -> int:
        """How many objects carry what the requirement asks for."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return 0
        if requirement.operator in _ANY_VALUE:
            return buckets.size
        values = requirement.values
        return buckets.count(values[0]) if len(values) == 1 else sum(buckets.count(value) for value in set(values))

    def carriers(self, requirement: Requirement) -> Collection[str]:
        """Their names; to be read at once and not kept."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return ()
        if len(requirement.values) == 1:
            return buckets.bucket(requirement.values[0])
        values = buckets.values() if requirement.operator in _ANY_VALUE else set(requirement.values)
        return [name for value in values for name in buckets.bucket(value)]

    def lookup(self, requirement: Requirement) -> Set[str]:
        """Their names, to be asked about many others."""
        carriers = self.carriers(requirement)
        return carriers.keys() if isinstance(carriers, dict) else frozenset(carriers)

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step."""
        while self._keys:
            _, buckets = self._keys.popitem()
            yield from buckets.release()
