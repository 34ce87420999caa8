"""`Store`: the objects of one informer, replaced atomically.

One scope is one namespace, or "" for all of them; each is followed by a watcher of its own and is replaced by itself. A
replacement is laid aside page by page (`Staging`), with all its indexes, and becomes visible in one step; only then is it told
what changed: deletions, then updates, then additions (R 3.3). No reader ever sees a half of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index, Where, where
from dynamo_ctrl.cache.versions import Older, older
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Changes = tuple[Change[O], ...]


class Staging(Generic[O]):
    """The next content of one scope while it is being fetched. Nobody reads it.

    Objects that have not changed stay the same objects, so that what was decoded of them stays decoded. That rests on equal
    versions; `comparable=False` says that they prove nothing.
    """

    def __init__(self, scope: str, live: Content[O], indexes: Iterable[Index[O]], *, comparable: bool = True) -> None:
        self.scope = scope
        self.content: Content[O] = Content(indexes)
        self._live = live
        self._comparable = comparable
        self._changed: dict[Where, O] = {}

    def add(self, obj: O) -> None:
        """Lay one object aside."""
        if self._live.count:
            at = where(obj)
            old = self._live.get(at)
            if old is not None and self._comparable and _same(old, obj):
                self._changed.pop(at, None)
                self.content.put(old)
                return
            if old is not None:
                obj.inherit(old)
            self._changed[at] = obj
        self.content.put(obj)

    def keep(self, at: Where) -> None:
        """The object at `at` exists and cannot be read: its last readable state stays, if there is one."""
        old = self._live.get(at)
        if old is not None and self.content.get(at) is None:
            self.content.put(old)

    def changes(self) -> Iterator[Change[O]]:
        """What differs from the content that is replaced: deletions, updates, additions. Read it before the next write."""
        live, changed = self._live, self._changed
        if not live.count:
            yield from (Change(None, obj) for obj in self.content)
            return
        for namespace, objects in live.namespaces.items():
            for name in objects.keys() - self.content.namespaces.get(namespace, {}).keys():
                yield Change(objects[name], None, inferred=True)
        before = {at: old for at in changed if (old := live.get(at)) is not None}
        for at, old in before.items():
            if old.metadata.uid != changed[at].metadata.uid:
                yield Change(old, None, inferred=True)
        for at, old in before.items():
            if old.metadata.uid == changed[at].metadata.uid:
                yield Change(old, changed[at])
        for at, new in changed.items():
            if at not in before or before[at].metadata.uid != new.metadata.uid:
                yield Change(None, new)


class Store(Generic[O]):
    """Objects by scope. Reads take them all together; writes name their scope.

    Args:
        scopes: the namespaces that are followed; `("",)` for all, and for kinds of cluster scope.
        compare: which of two versions is older.
    """

    def __init__(self, scopes: Sequence[str] = ("",), *, compare: Older = older) -> None:
        self._older = compare
        self._contents: dict[str, Content[O]] = {scope: Content() for scope in scopes}
        self._versions: dict[str, str] = dict.fromkeys(scopes, "")
        self._indexes: dict[str, Index[O]] = {}
        self._stagings: list[Staging[O]] = []
        self._whole = self._contents.get("")

    # --- writing

    def put(self, scope: str, obj: O) -> Changes[O]:
        """Store a newer state of an object. A state that is not newer than the stored one changes nothing."""
        content = self._contents[scope]
        old = content.get(where(obj))
        if old is None:
            content.put(obj)
            return (Change(None, obj),)
        if not self._older(old.metadata.resource_version, obj.metadata.resource_version):
            return ()
        if old.metadata.uid != obj.metadata.uid:
            content.put(obj)
            return (Change(old, None, inferred=True), Change(None, obj))
        obj.inherit(old)
        content.put(obj)
        return (Change(old, obj),)

    def remove(self, scope: str, at: Where, last: O | None = None) -> Changes[O]:
        """Forget an object; `last` is its last state as the server told it.

        A deletion that is older than the stored state (the name was taken again) changes nothing.
        """
        content = self._contents[scope]
        old = content.get(at)
        if old is None:
            return ()
        if last is None:
            last = old
        elif self._older(last.metadata.resource_version, old.metadata.resource_version):
            return ()
        elif last.metadata.uid != old.metadata.uid:
            last = old
        content.remove(at)
        last.inherit(old)
        return (Change(last, None),)

    def stage(self, scope: str, *, comparable: bool = True) -> Staging[O]:
        """Begin a replacement of one scope; a replacement that was begun before is forgotten."""
        self._stagings = [staging for staging in self._stagings if staging.scope != scope]
        staging = Staging(scope, self._contents[scope], self._indexes.values(), comparable=comparable)
        self._stagings.append(staging)
        return staging

    def replace(self, staging: Staging[O], version: str) -> Iterator[Change[O]]:
        """Make a replacement visible, in one step.

        Returns what it changed, found out while it is read: read it before the next write to that scope, or not at all.
        """
        self._stagings.remove(staging)
        self._contents[staging.scope] = staging.content
        self._versions[staging.scope] = version
        self._whole = self._contents.get("")
        return staging.changes()

    def advance(self, scope: str, version: str) -> None:
        """The content stands for that version now."""
        self._versions[scope] = version

    def clear(self, scope: str) -> list[Change[O]]:
        """Forget everything in one scope, because the API is gone."""
        return list(self.replace(self.stage(scope), ""))

    def add_index(self, index: Index[O]) -> None:
        """Index the present content and all later content. Raises `ValueError` if another index has that name."""
        known = self._indexes.get(index.name)
        if known == index:
            return
        if known is not None:
            raise ValueError(f"another index of {index.kind} is called {index.name!r}")
        for content in (*self._contents.values(), *(staging.content for staging in self._stagings)):
            content.add_index(index)
        self._indexes[index.name] = index

    # --- reading

    def scope(self, namespace: str) -> str | None:
        """The scope that objects of `namespace` belong to; `None` if it is not followed."""
        return "" if self._whole is not None else namespace if namespace in self._contents else None

    def version(self, namespace: str) -> str:
        """The version that the content of that namespace stands for, "" if it does not follow it."""
        return self._versions.get("" if self._whole is not None else namespace, "")

    def get(self, at: Where) -> O | None:
        """The object at `at`."""
        content = self._whole or self._contents.get(at[0])
        if content is None:
            return None
        objects = content.namespaces.get(at[0])
        return None if objects is None else objects.get(at[1])

    def list(self, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace, or of all, in the order of their keys."""
        if self._whole is not None:
            return self._whole.list(namespace)
        return _ordered([content.list(namespace) for content in self._reading(namespace)])

    def select(self, selector: LabelSelector, namespace: str = "") -> Sequence[O]:
        """The objects that match, in the order of their keys."""
        if self._whole is not None:
            return self._whole.select(selector, namespace)
        return _ordered([content.select(selector, namespace) for content in self._reading(namespace)])

    def by_index(self, name: str, value: str) -> Sequence[O]:
        """The objects with that value, in the order of their keys. Raises `KeyError` for an index nobody declared."""
        if self._whole is not None:
            return self._whole.by_index(name, value)
        return _ordered([content.by_index(name, value) for content in self._contents.values()])

    def owned(self, uid: str) -> Sequence[O]:
        """The objects whose controller has that uid, in the order of their keys."""
        if self._whole is not None:
            return self._whole.owned(uid)
        return _ordered([content.owned(uid) for content in self._contents.values()])

    def __iter__(self) -> Iterator[O]:
        for content in self._contents.values():
            yield from content

    def __len__(self) -> int:
        return sum(content.count for content in self._contents.values())

    @property
    def indexes(self) -> Sequence[Index[O]]:
        """The declared indexes."""
        return tuple(self._indexes.values())

    @property
    def bytes(self) -> int:
        """The length of all JSON texts together."""
        return sum(content.bytes for content in self._contents.values())

    @property
    def index_failures(self) -> int:
        """How often an extractor raised on the present content."""
        return sum(sum(content.index_failures.values()) for content in self._contents.values())

    def _reading(self, namespace: str) -> Iterable[Content[O]]:
        if not namespace:
            return self._contents.values()
        content = self._contents.get(namespace)
        return () if content is None else (content,)


def _same(old: Object[Any, Any], new: Object[Any, Any]) -> bool:
    before, after = old.metadata, new.metadata
    return before.resource_version == after.resource_version and before.uid == after.uid


def _ordered(parts: list[Sequence[O]]) -> Sequence[O]:
    if len(parts) == 1:
        return parts[0]
    return sorted((obj for part in parts for obj in part), key=where)
