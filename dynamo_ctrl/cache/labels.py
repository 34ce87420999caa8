"""The inverted index over every label of one namespace, and how a selector reads it.

A selector costs its matches and not the size of the store: the requirement with the fewest objects gives the candidates, the
others only filter. What the index knows is always about who carries a label; a negative requirement (`!=`, `notin`, `!`) is
satisfied by everybody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final, Generic, TypeVar

from dynamo_ctrl.cache.index import Buckets
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import Requirement

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

POSITIVE: Final = frozenset(("=", "in", "exists"))
"""The operators that are satisfied by those who carry the label."""

_ANY_VALUE: Final = frozenset(("exists", "!"))


def name_of(obj: Object[Any, Any]) -> str:
    """What an object is called in its namespace."""
    return obj.metadata.name


class LabelIndex(Generic[O]):
    """From label key and value to objects, by name."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, Buckets[str, O]] = {}

    def put(self, name: str, labels: Mapping[str, str], obj: O) -> None:
        """File `obj` under each of its labels; it takes the place of an older state with that name."""
        keys = self._keys
        for key, value in labels.items():
            buckets = keys.get(key)
            if buckets is None:
                buckets = keys[key] = Buckets(name_of)
            buckets.put(value, name, obj)

    def drop(self, name: str, labels: Mapping[str, str], still: Mapping[str, str]) -> None:
        """Take `name` away from those of its old `labels` that its new labels, `still`, do not have."""
        for key, value in labels.items():
            if still.get(key) != value:
                buckets = self._keys[key]
                buckets.drop(value, name)
                if not buckets.size:
                    del self._keys[key]

    def having(self, labels: Mapping[str, str]) -> Sequence[O]:
        """The objects that carry all of these labels, in the order of their names."""
        best: Buckets[str, O] | None = None
        rarest, least = "", 0
        for key, value in labels.items():
            buckets = self._keys.get(key)
            count = 0 if buckets is None else buckets.count(value)
            if buckets is None or not count:
                return []
            if best is None or count < least:
                best, rarest, least = buckets, value, count
        if best is None:
            return []
        found = best.list(rarest)
        if len(labels) == 1:
            return found
        wanted = labels.items()
        return [obj for obj in found if wanted <= obj.metadata.labels.items()]

    def count(self, requirement: Requirement) -> int:
        """How many objects carry what the requirement asks for."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return 0
        if requirement.operator in _ANY_VALUE:
            return buckets.size
        values = requirement.values
        return buckets.count(values[0]) if len(values) == 1 else sum(buckets.count(value) for value in set(values))

    def carriers(self, requirement: Requirement) -> Sequence[O]:
        """They, in the order of their names."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return []
        if len(requirement.values) == 1:
            return buckets.list(requirement.values[0])
        values = buckets.values() if requirement.operator in _ANY_VALUE else set(requirement.values)
        return sorted((obj for value in values for obj in buckets.list(value)), key=name_of)

    def names(self, requirement: Requirement) -> Set[str]:
        """Their names, to be asked about many others at once."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return frozenset()
        if len(requirement.values) == 1:
            return buckets.keys(requirement.values[0])
        values = buckets.values() if requirement.operator in _ANY_VALUE else requirement.values
        return frozenset().union(*(buckets.keys(value) for value in values))

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step."""
        while self._keys:
            _, buckets = self._keys.popitem()
            yield from buckets.release()
