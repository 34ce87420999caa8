"""The inverted index over every label, and how a selector reads it.

A selector costs its matches and not the size of the store: the requirement with the fewest objects gives the candidates, the
others only filter. Requirements that nothing can be looked up by (`!=`, `notin`, `!`) filter always.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import Buckets, Where
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import Requirement

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

_POSITIVE = frozenset(("=", "in", "exists"))


class LabelIndex(Generic[O]):
    """From label key and value to objects."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, Buckets[O]] = {}

    def put(self, at: Where, labels: Mapping[str, str], obj: O) -> None:
        """File `obj` under each of its labels."""
        keys = self._keys
        for key, value in labels.items():
            buckets = keys.get(key)
            if buckets is None:
                buckets = keys[key] = Buckets()
            buckets.put(value, at, obj)

    def drop(self, at: Where, labels: Mapping[str, str], still: Mapping[str, str]) -> None:
        """Take the object at `at` away from those of its old `labels` that its new labels, `still`, do not have."""
        for key, value in labels.items():
            if still.get(key) != value:
                buckets = self._keys[key]
                buckets.drop(value, at)
                if not buckets.size:
                    del self._keys[key]

    def count(self, requirement: Requirement) -> int | None:
        """How many objects satisfy `requirement`; `None` where that cannot be looked up."""
        if requirement.operator not in _POSITIVE:
            return None
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return 0
        if requirement.operator == "exists":
            return buckets.size
        return sum(buckets.count(value) for value in set(requirement.values))

    def matching(self, requirement: Requirement) -> Mapping[Where, O]:
        """The objects that satisfy a requirement that `count` could count; to be read at once and not kept."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return {}
        if len(requirement.values) == 1:
            return buckets.bucket(requirement.values[0])
        found: dict[Where, O] = {}
        for value in buckets.values() if requirement.operator == "exists" else requirement.values:
            found.update(buckets.bucket(value))
        return found
