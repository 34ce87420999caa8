"""`Room`: the objects of one namespace, always in the order of their names, with every label indexed.

The order is not sorted for: an API server lists in it, so that the dictionary mostly is in order by itself. From the first name
that comes out of order on, a sorted list of the names is kept beside it. So a read of everything is a copy and never a sort.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import popped
from dynamo_ctrl.cache.labels import POSITIVE, LabelIndex
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector, Requirement

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Room(Generic[O]):
    """The objects of one namespace.

    Attributes:
        objects: by name. To be read only; the same dictionary for ever.
    """

    __slots__ = ("_labels", "_names", "objects")

    def __init__(self) -> None:
        self.objects: dict[str, O] = {}
        self._labels: LabelIndex[O] = LabelIndex()
        self._names: list[str] | None = None  # None: the dictionary is in order

    # --- writing

    def put(self, name: str, obj: O) -> O | None:
        """Store `obj`; returns what was there before."""
        objects = self.objects
        old = objects.get(name)
        labels = obj.metadata._labels  # noqa: SLF001  (the read-only view of it costs more than the look-up)
        if old is None:
            if self._names is not None:
                insort(self._names, name)
            elif objects and next(reversed(objects)) > name:
                self._names = list(objects)
                insort(self._names, name)
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
        names = self._names
        if names is not None:
            del names[bisect_left(names, name)]
            if not names:
                self._names = None
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
        objects = self.objects
        return list(objects.values()) if self._names is None else [objects[name] for name in self._names]

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
