"""Read-your-writes: what we wrote is read at once, until the watch has caught up (R 3.13).

Contract:

- A write's answer takes the place of the stored object in the content itself, and a deletion takes the object away: get, list,
  index, label and owner reads see it at no extra cost. What the watch told last is remembered beside it: subscribers are told
  about changes of that, and it comes back where a write turns out not to concern the informer. They are also told of the end of
  an object that we made and the watch never told.
- An entry goes as soon as the store stands for its version or a later one, for a deletion as soon as the uid is gone; a
  consistent list that was begun after the write overtakes it whatever the versions say (a restored server counts anew).
- Bounded: beyond `limit` entries the oldest is given up, and readers see again what the watch told of that key. If that is
  nothing, subscribers are told of the end of what readers had seen: it may be over before the watch tells anything of it.

This module holds the entries and their rules; `dynamo_ctrl.cache.store` applies them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Where
from dynamo_ctrl.cache.versions import Older, older
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Written(Protocol):
    """Who has to be told about successful writes. `Cache` is one."""

    def wrote(self, obj: Object[Any, Any]) -> None:
        """The server answered a create, update, patch, status write or a delete that is not finished with `obj`."""

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        """The server answered that the object with that uid is gone."""


@dataclass(slots=True)
class OwnWrite(Generic[O]):
    """One key that we wrote and the watch has not told yet.

    Attributes:
        told: what the watch told last of that key; `None` if nothing is known there.
        uid: of the object that was written or deleted.
        version: of the write; empty for a deletion.
        turn: when it was written, counted in own writes.
    """

    told: O | None
    uid: str
    version: str
    turn: int


class OwnWrites(Generic[O]):
    """The own writes of one informer.

    Args:
        limit: the most entries.
        compare: which of two versions is older.

    Attributes:
        turn: how many own writes there were so far.
    """

    def __init__(self, limit: int, compare: Older = older) -> None:
        self.turn = 0
        self._limit = limit
        self._older = compare
        self._entries: dict[Where, OwnWrite[O]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, at: Where) -> OwnWrite[O] | None:
        """The own write at `at`."""
        return self._entries.get(at)

    def told(self, at: Where, content: Content[O]) -> O | None:
        """What the watch told last of `at`, where `content` is what readers see."""
        entry = self._entries.get(at)
        return content.get(at) if entry is None else entry.told

    def within(self, scope: str) -> Iterator[tuple[Where, OwnWrite[O]]]:
        """The entries of one scope ("" for all), as they are now."""
        return iter([(at, entry) for at, entry in self._entries.items() if not scope or at[0] == scope])

    def record(self, at: Where, told: O | None, uid: str, version: str) -> None:
        """An own write; the youngest entry comes last."""
        self.turn += 1
        self._entries.pop(at, None)
        self._entries[at] = OwnWrite(told, uid, version, self.turn)

    def drop(self, at: Where) -> None:
        """The own write at `at` counts no more."""
        del self._entries[at]

    def excess(self) -> Where | None:
        """The oldest entry, if there are too many."""
        return next(iter(self._entries)) if len(self._entries) > self._limit else None

    # --- rules

    def is_news(self, at: Where, told: O | None, version: str) -> bool:
        """Whether a write's answer of that version is newer than everything that is known of `at`."""
        if told is not None and not self._older(told.metadata.resource_version, version):
            return False
        entry = self._entries.get(at)
        return entry is None or not entry.version or self._older(entry.version, version)

    def caught_up(self, entry: OwnWrite[O], obj: O) -> bool:
        """Whether the watch, which tells `obj` at the entry's key, has caught up with the write."""
        if entry.version:
            return not self._older(obj.metadata.resource_version, entry.version)
        return obj.metadata.uid != entry.uid

    def undone(self, entry: OwnWrite[O], version: str) -> bool:
        """Whether a deletion that the watch tells at `version` is later than the write. An empty version is the newest."""
        return not entry.version or not version or not self._older(version, entry.version)

    def overtaken(self, entry: OwnWrite[O], told: O | None, version: str) -> bool:
        """Whether the write is part of a content that stands for `version` and has `told` at the entry's key."""
        if entry.version:
            return not self._older(version, entry.version)
        return told is None or told.metadata.uid != entry.uid
