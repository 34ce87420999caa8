"""The inverted index over every label, and how a selector reads it.

A selector costs its matches and not the size of the store: the requirement with the fewest objects gives the candidates, the
others only filter. Requirements that nothing can be looked up by (`!=`, `notin`, `!`) filter always.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dynamo_ctrl.cache.index import Buckets, Where
from dynamo_ctrl.objects.selector import Requirement

_POSITIVE = frozenset(("=", "in", "exists"))


class LabelIndex:
    """From label key and value to the keys of objects."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str, Buckets] = {}

    def put(self, at: Where, labels: Mapping[str, str]) -> None:
        """File `at` under each of the labels."""
        keys = self._keys
        for key, value in labels.items():
            buckets = keys.get(key)
            if buckets is None:
                buckets = keys[key] = Buckets()
            buckets.put(value, at)

    def drop(self, at: Where, labels: Mapping[str, str], still: Mapping[str, str]) -> None:
        """Take `at` away from those of its old `labels` that its new labels, `still`, do not have."""
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
        values = requirement.values
        return buckets.count(values[0]) if len(values) == 1 else sum(buckets.count(value) for value in set(values))

    def matching(self, requirement: Requirement) -> Collection[Where]:
        """The keys that satisfy a requirement that `count` could count; to be read at once and not kept."""
        buckets = self._keys.get(requirement.key)
        if buckets is None:
            return ()
        if len(requirement.values) == 1:
            return buckets.bucket(requirement.values[0])
        values = buckets.values() if requirement.operator == "exists" else set(requirement.values)
        return [at for value in values for at in buckets.bucket(value)]
