"""Read-your-writes: what we wrote is read at once, until the watch has caught up (R 3.13).

Contract:

- A write's answer is laid over the store under its key, a deletion as a tombstone of its uid; get, list, index, label and
  owner reads see the sum.
- An entry goes as soon as the store stands for its version or a later one, for a tombstone as soon as the uid is gone; a
  consistent list that was begun after the write overtakes it whatever the versions say (a restored server counts anew).
- An answer that does not match the informer's selector hides the object; if the store never had it, nothing is kept.
- Bounded: beyond `limit` entries the oldest is given up, and the reader sees the store's state of that key again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index, Where, where
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.cache.versions import Older, older
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Written(Protocol):
    """Who has to be told about successful writes. `Cache` is one."""

    def wrote(self, obj: Object[Any, Any]) -> None:
        """The server answered a create, update, patch, status write or a delete that is not finished with `obj`."""

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        """The server answered that the object with that uid is gone."""


@dataclass(frozen=True, slots=True)
class _Entry:
    uid: str
    version: str
    """Of the write; empty for a tombstone."""
    turn: int


class Overlay(Generic[O]):
    """A store with our own writes laid over it. It is what the view reads.

    Args:
        store: what lies below.
        limit: the most entries.
        compare: which of two versions is older.
    """

    def __init__(self, store: Store[O], *, limit: int = 10_000, compare: Older = older) -> None:
        self.store = store
        self.turn = 0
        self._limit = limit
        self._older = compare
        self._entries: dict[Where, _Entry] = {}
        self._own: Content[O] = Content(store.indexes)

    def __len__(self) -> int:
        return len(self._entries)

    # --- own writes

    def wrote(self, obj: O, *, selected: bool = True) -> None:
        """Lay a write's answer over the store. `selected`: whether the informer's selector matches it."""
        at = where(obj)
        version = obj.metadata.resource_version
        stored, entry = self.store.get(at), self._entries.get(at)
        if not self._older(self.store.version(at[0]), version):
            return
        if stored is not None and not self._older(stored.metadata.resource_version, version):
            return
        if entry is not None and entry.version and not self._older(entry.version, version):
            return
        if selected:
            if stored is not None:
                obj.inherit(stored)
            self._lay(at, obj, _Entry(obj.metadata.uid, version, self._next()))
        elif stored is not None or entry is not None:
            self._lay(at, None, _Entry(obj.metadata.uid, version, self._next()))

    def deleted(self, at: Where, uid: str) -> None:
        """Hide the object with that uid."""
        stored, own = self.store.get(at), self._own.get(at)
        if any(obj is not None and obj.metadata.uid == uid for obj in (stored, own)):
            self._lay(at, None, _Entry(uid, "", self._next()))

    def _next(self) -> int:
        self.turn += 1
        return self.turn

    def _lay(self, at: Where, obj: O | None, entry: _Entry) -> None:
        self._drop(at)
        self._entries[at] = entry
        if obj is not None:
            self._own.put(obj)
        if len(self._entries) > self._limit:
            self._drop(next(iter(self._entries)))

    def _drop(self, at: Where) -> None:
        if self._entries.pop(at, None) is not None:
            self._own.remove(at)

    # --- the watch catches up

    def seen(self, obj: O) -> None:
        """The watch told this state of an object."""
        entry = self._entries.get(where(obj))
        if entry is None:
            return
        if entry.version:
            if not self._older(obj.metadata.resource_version, entry.version):
                self._drop(where(obj))
        elif obj.metadata.uid != entry.uid:
            self._drop(where(obj))

    def gone(self, at: Where, version: str) -> None:
        """The watch told a deletion at that version; an empty version counts as the newest."""
        entry = self._entries.get(at)
        if entry is not None and (not entry.version or not version or not self._older(version, entry.version)):
            self._drop(at)

    def reached(self, scope: str) -> None:
        """The store's version moved on in that scope (a bookmark)."""
        if self._entries:
            self._sweep(scope, -1)

    def replaced(self, scope: str, since: int = -1) -> None:
        """The store was replaced in that scope; `since` is the turn at which a consistent list was begun, else -1."""
        self._sweep(scope, since)

    def _sweep(self, scope: str, since: int) -> None:
        for at, entry in list(self._entries.items()):
            if scope and at[0] != scope:
                continue
            stored = self.store.get(at)
            if entry.version:
                done = not self._older(self.store.version(at[0]), entry.version)
            else:
                done = stored is None or stored.metadata.uid != entry.uid
            if done or entry.turn <= since:
                self._drop(at)

    def clear(self, scope: str) -> None:
        """Forget all entries of that scope."""
        for at in [at for at in self._entries if not scope or at[0] == scope]:
            self._drop(at)

    def add_index(self, index: Index[O]) -> None:
        """Index the store and what lies over it. Raises `ValueError` if another index has that name."""
        known = index in self.store.indexes
        self.store.add_index(index)
        if not known:
            self._own.add_index(index)

    # --- reading

    def get(self, at: Where) -> O | None:
        """The object at `at`."""
        if self._entries and at in self._entries:
            return self._own.get(at)
        return self.store.get(at)

    def list(self, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace, or of all, in the order of their keys."""
        stored = self.store.list(namespace)
        return self._over(stored, self._own.list(namespace)) if self._entries else stored

    def select(self, selector: LabelSelector, namespace: str = "") -> Sequence[O]:
        """The objects that match, in the order of their keys."""
        stored = self.store.select(selector, namespace)
        return self._over(stored, self._own.select(selector, namespace)) if self._entries else stored

    def by_index(self, name: str, value: str) -> Sequence[O]:
        """The objects with that value, in the order of their keys. Raises `KeyError` for an index nobody declared."""
        stored = self.store.by_index(name, value)
        return self._over(stored, self._own.by_index(name, value)) if self._entries else stored

    def owned(self, uid: str) -> Sequence[O]:
        """The objects whose controller has that uid, in the order of their keys."""
        stored = self.store.owned(uid)
        return self._over(stored, self._own.owned(uid)) if self._entries else stored

    def _over(self, stored: Sequence[O], own: Sequence[O]) -> Sequence[O]:
        below = [obj for obj in stored if where(obj) not in self._entries]
        return sorted([*below, *own], key=where) if own else below
