"""`Room`: the objects of one namespace, always in the order of their names, with every label indexed.

An API server lists in that order, so that the dictionary is in order by itself. What comes out of order later is at its end, and
is merged in when everything is read; only when too much has gathered there the dictionary is sorted. So a read of everything
costs little more than a copy, and a write costs nothing for the order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from dynamo_ctrl.cache.index import popped
from dynamo_ctrl.cache.labels import POSITIVE, LabelIndex
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector, Requirement

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

LATE: Final = 500
"""Objects that are merged in; when there are more they are sorted in, once."""


class Room(Generic[O]):
    """The objects of one namespace.

    Attributes:
        objects: by name. To be read only; the same dictionary for ever.
    """

    __slots__ = ("_labels", "_late", "objects")

    def __init__(self) -> None:
        self.objects: dict[str, O] = {}
        self._labels: LabelIndex[O] = LabelIndex()
        self._late: set[str] = set()  # the names at the dictionary's end, from the first one that came out of order on

    # --- writing

    def put(self, name: str, obj: O) -> O | None:
        """Store `obj`; returns what was there before."""
        objects = self.objects
        old = objects.get(name)
        labels = obj.metadata._labels  # noqa: SLF001  (the read-only view of it costs more than the look-up)
        if old is None:
            if self._late or (objects and next(reversed(objects)) > name):
                self._late.add(name)
        elif old.metadata._labels != labels:  # noqa: SLF001
            self._labels.drop(name, old.metadata.labels, labels or {})
        if labels:
            self._labels.put(name, labels, obj)
        objects[name] = obj
        return old

    def remove(self, name: str) -> O | None:
        """Forget the object of that name; returns it, if there was one."""
        old = self.objects.pop(name, None)
        if old is None:
            return None
        self._labels.drop(name, old.metadata.labels, {})
        self._late.discard(name)
        return old

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step."""
        yield from popped(self.objects)
        yield from self._labels.release()

    # --- reading

    def __len__(self) -> int:
        return len(self.objects)

    def list(self) -> Sequence[O]:
        """All objects."""
        late = self._late
        if len(late) > LATE:
            self._sort()
        return self._merged(sorted(late)) if late else list(self.objects.values())

    def _merged(self, late: Sequence[str]) -> Sequence[O]:
        names, values = list(self.objects), list(self.objects.values())
        end = len(names) - len(late)
        merged: list[O] = []
        start = 0
        for name in late:
            at = bisect_left(names, name, start, end)
            merged += values[start:at]
            merged.append(self.objects[name])
            start = at
        return merged + values[start:end]

    def _sort(self) -> None:
        """Bring the dictionary into order. It stays the same one; nobody reads it meanwhile."""
        objects = self.objects
        ordered = {name: objects[name] for name in sorted(objects)}
        objects.clear()
        objects.update(ordered)
        self._late.clear()

    def having(self, labels: Mapping[str, str]) -> Sequence[O]:
        """The objects that carry all of these labels."""
        return self._labels.having(labels) if labels else self.list()

    def select(self, selector: LabelSelector) -> Sequence[O]:
        """The objects that match."""
        labels, everybody = self._labels, len(self.objects)
        best: Requirement | None = None
        least = everybody
        rest: list[Requirement] = []
        for requirement in selector.requirements:
            count = labels.count(requirement)
            if requirement.operator not in POSITIVE:
                if count:
                    rest.append(requirement)
            elif count < least:
                if best is not None:
                    rest.append(best)
                best, least = requirement, count
            elif count != everybody:
                rest.append(requirement)
        if not least:
            return []
        found = self.list() if best is None else labels.carriers(best)
        for requirement in rest:
            found = self._filter(found, requirement)
        return found

    def _filter(self, found: Sequence[O], requirement: Requirement) -> Sequence[O]:
        """Those that satisfy a requirement: asked one by one if they are few, else looked up."""
        if len(requirement.values) == 1 or self._labels.count(requirement) <= len(found):
            names, wanted = self._labels.names(requirement), requirement.operator in POSITIVE
            return [obj for obj in found if (obj.metadata.name in names) is wanted]
        return [obj for obj in found if requirement.matches(obj.metadata.labels)]
