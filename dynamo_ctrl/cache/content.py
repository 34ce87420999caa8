"""`Content`: the objects of one scope with everything that finds them: namespaces, owners, labels, declared indexes.

Contract: after each call every index agrees with the objects. Whatever returns several objects returns them in the order of
their keys, and costs what it returns: a list of everything is a copy, a look-up costs its matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import STEP, Buckets, Index, IndexTable, Where, where
from dynamo_ctrl.cache.room import Room
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Content(Generic[O]):
    """Objects and their indexes.

    Args:
        indexes: those that are kept from the start.
        namespace: the only namespace that there is; its objects stay in the same dictionary. Empty for any number of them.

    Attributes:
        namespaces: the objects, by namespace and name. To be read only.
        count: how many objects there are.
        bytes: the length of their JSON texts together.
    """

    __slots__ = ("_only", "_owners", "_rooms", "_tables", "bytes", "count", "namespaces")

    def __init__(self, indexes: Iterable[Index[O]] = (), *, namespace: str = "") -> None:
        self.namespaces: dict[str, dict[str, O]] = {}
        self.count = 0
        self.bytes = 0
        self._rooms: dict[str, Room[O]] = {}
        self._owners: Buckets[Where, O] = Buckets(where)
        self._tables: dict[str, IndexTable[O]] = {index.name: IndexTable(index) for index in indexes}
        self._only = namespace
        if namespace:
            self._enter(namespace)

    # --- writing

    def put(self, obj: O) -> O | None:
        """Store `obj`; returns what was there before."""
        metadata = obj.metadata
        namespace, name = at = (metadata.namespace, metadata.name)
        room = self._rooms.get(namespace)
        if room is None:
            room = self._enter(namespace)
        old = room.put(name, obj)
        self.bytes += len(obj.raw)
        if old is None:
            self.count += 1
        else:
            self.bytes -= len(old.raw)
            if old.metadata.owner_references != metadata.owner_references:
                self._disown(old, at)
        if metadata.owner_references and (owner := metadata.controller) is not None:
            self._owners.put(owner.uid, at, obj)
        for table in self._tables.values():
            table.put(at, obj)
        return old

    def _enter(self, namespace: str) -> Room[O]:
        room: Room[O] = Room()
        self._rooms[namespace] = room
        self.namespaces[namespace] = room.objects
        return room

    def remove(self, at: Where) -> O | None:
        """Forget the object at `at`; returns it, if there was one."""
        room = self._rooms.get(at[0])
        old = None if room is None else room.remove(at[1])
        if room is None or old is None:
            return None
        if not room and not self._only:
            del self._rooms[at[0]], self.namespaces[at[0]]
        self.count -= 1
        self.bytes -= len(old.raw)
        self._disown(old, at)
        for table in self._tables.values():
            table.remove(at)
        return old

    def _disown(self, old: O, at: Where) -> None:
        owner = old.metadata.controller
        if owner is not None:
            self._owners.drop(owner.uid, at)

    def index(self, index: Index[O]) -> Iterator[None]:
        """Keep that index from now on. The steps that are returned index the present content, a bounded piece each."""
        table = self._tables[index.name] = IndexTable(index)
        return self._fill(table)

    def _fill(self, table: IndexTable[O]) -> Iterator[None]:
        count = 0
        for namespace, objects in tuple(self.namespaces.items()):
            for name in tuple(objects):
                obj = objects.get(name)
                if obj is not None:
                    table.put((namespace, name), obj)
                count += 1
                if count % STEP == 0:
                    yield
                    if self._tables.get(table.index.name) is not table:
                        return

    def unindex(self, name: str) -> Iterator[None]:
        """Keep that index no more; its memory is given back a bounded piece in each step."""
        table = self._tables.pop(name, None)
        return iter(()) if table is None else table.release()

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step. Nobody may read it any more."""
        for room in self._rooms.values():
            yield from room.release()
        yield from self._owners.release()
        for table in self._tables.values():
            yield from table.release()

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
        return self._of_rooms(namespace, Room.list)

    def having(self, labels: Mapping[str, str], namespace: str = "") -> Sequence[O]:
        """The objects of one namespace (empty: all) that carry all of these labels."""
        return self._of_rooms(namespace, lambda room: room.having(labels))

    def select(self, selector: LabelSelector, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace (empty: all) that match."""
        return self._of_rooms(namespace, lambda room: room.select(selector))

    def _of_rooms(self, namespace: str, read: Callable[[Room[O]], Sequence[O]]) -> Sequence[O]:
        if namespace or len(self._rooms) == 1:
            room = self._rooms.get(namespace or next(iter(self._rooms)))
            return [] if room is None else read(room)
        return [obj for _, room in sorted(self._rooms.items()) for obj in read(room)]

    def by_index(self, name: str, value: str) -> Sequence[O]:
        """The objects that have `value` in that index. Raises `KeyError` for an index that was not declared."""
        return self._tables[name].buckets.list(value)

    def owned(self, uid: str) -> Sequence[O]:
        """The objects whose controller reference carries that uid."""
        return self._owners.list(uid)

    @property
    def index_failures(self) -> Mapping[str, int]:
        """How often each declared extractor raised."""
        return {name: table.failures for name, table in self._tables.items()}
