"""`Content`: the objects of one scope with everything that finds them: namespaces, owners, labels, declared indexes.

Contract: after each call every index agrees with the objects. Whatever returns several objects returns them in the order of
their keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import Buckets, Index, IndexTable, Where
from dynamo_ctrl.cache.labels import LabelIndex
from dynamo_ctrl.objects.metadata import Metadata
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Content(Generic[O]):
    """Objects and their indexes.

    Attributes:
        namespaces: the objects, by namespace and name. To be read only.
        count: how many objects there are.
        bytes: the length of their JSON texts together.
    """

    __slots__ = ("_labels", "_owners", "_tables", "bytes", "count", "namespaces")

    def __init__(self, indexes: Iterable[Index[O]] = ()) -> None:
        self.namespaces: dict[str, dict[str, O]] = {}
        self.count = 0
        self.bytes = 0
        self._owners = Buckets()
        self._labels = LabelIndex()
        self._tables: dict[str, IndexTable[O]] = {index.name: IndexTable(index) for index in indexes}

    # --- writing

    def put(self, obj: O) -> O | None:
        """Store `obj`; returns what was there before."""
        metadata = obj.metadata
        namespace, name = at = (metadata.namespace, metadata.name)
        objects = self.namespaces.get(namespace)
        if objects is None:
            objects = self.namespaces[namespace] = {}
        old = objects.get(name)
        objects[name] = obj
        self.bytes += len(obj.raw)
        if old is None:
            self.count += 1
            self._labels.put(at, metadata.labels)
            if (owner := metadata.controller) is not None:
                self._owners.put(owner.uid, at)
        else:
            self.bytes -= len(old.raw)
            self._move(at, old.metadata, metadata)
        for table in self._tables.values():
            table.put(at, obj)
        return old

    def _move(self, at: Where, before: Metadata, after: Metadata) -> None:
        labels = after.labels
        if before.labels != labels:
            self._labels.drop(at, before.labels, labels)
            self._labels.put(at, labels)
        if before.owner_references != after.owner_references:
            if (owner := before.controller) is not None:
                self._owners.drop(owner.uid, at)
            if (owner := after.controller) is not None:
                self._owners.put(owner.uid, at)

    def remove(self, at: Where) -> O | None:
        """Forget the object at `at`; returns it, if there was one."""
        objects = self.namespaces.get(at[0])
        old = None if objects is None else objects.pop(at[1], None)
        if objects is None or old is None:
            return None
        if not objects:
            del self.namespaces[at[0]]
        self.count -= 1
        self.bytes -= len(old.raw)
        self._labels.drop(at, old.metadata.labels, {})
        if (owner := old.metadata.controller) is not None:
            self._owners.drop(owner.uid, at)
        for table in self._tables.values():
            table.remove(at)
        return old

    def add_index(self, index: Index[O]) -> None:
        """Index the present and all later content."""
        table = IndexTable(index)
        for obj in self:
            table.put((obj.metadata.namespace, obj.metadata.name), obj)
        self._tables[index.name] = table

    # --- reading

    def get(self, at: Where) -> O | None:
        """The object at `at`."""
        objects = self.namespaces.get(at[0])
        return None if objects is None else objects.get(at[1])

    def __iter__(self) -> Iterator[O]:
        """All objects, in no order."""
        for objects in self.namespaces.values():
            yield from objects.values()

    def list(self, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace, or of all."""
        if namespace:
            return _in_order(self.namespaces.get(namespace, {}))
        if len(self.namespaces) == 1:
            (objects,) = self.namespaces.values()
            return _in_order(objects)
        return [obj for _, objects in sorted(self.namespaces.items()) for obj in _in_order(objects)]

    def by_index(self, name: str, value: str) -> Sequence[O]:
        """The objects that have `value` in that index. Raises `KeyError` for an index that was not declared."""
        return self._at(self._tables[name].buckets.bucket(value))

    def owned(self, uid: str) -> Sequence[O]:
        """The objects whose controller reference carries that uid."""
        return self._at(self._owners.bucket(uid))

    def select(self, selector: LabelSelector, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace (empty: all) that match."""
        best, least = None, len(self.namespaces.get(namespace, ())) if namespace else self.count
        for requirement in selector.requirements:
            count = self._labels.count(requirement)
            if count is not None and (count < least or (best is None and count == least)):
                best, least = requirement, count
        if not least:
            return []
        if best is None:
            return [obj for obj in self.list(namespace) if selector.matches(obj.metadata.labels)]
        keys = self._labels.matching(best)
        if namespace:
            keys = [at for at in keys if at[0] == namespace]
        rest = []
        for requirement in selector.requirements:
            if requirement is best:
                continue
            if requirement.operator == "=":
                others = self._labels.matching(requirement)
                keys = [at for at in keys if at in others]
            else:
                rest.append(requirement)
        objects = self._at(keys)
        if not rest:
            return objects
        return [obj for obj in objects if all(requirement.matches(obj.metadata.labels) for requirement in rest)]

    def _at(self, keys: Collection[Where]) -> Sequence[O]:
        if not keys:
            return []
        namespaces = self.namespaces
        return [namespaces[namespace][name] for namespace, name in sorted(keys)]

    @property
    def index_failures(self) -> Mapping[str, int]:
        """How often each declared extractor raised."""
        return {name: table.failures for name, table in self._tables.items()}


def _in_order(objects: Mapping[str, O]) -> list[O]:
    return [objects[name] for name in sorted(objects)]
