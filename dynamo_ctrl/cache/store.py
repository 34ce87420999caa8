"""`Store`: the objects of one informer as readers see them: what the server told, with our own writes over it.

One scope is one namespace, or "" for all of them; each is followed by a watcher of its own and is replaced by itself. No reader
ever sees a half of a replacement (`dynamo_ctrl.cache.replacement`), or an object without its index entries. What is told about
changes concerns what the server told, never our own writes (`dynamo_ctrl.cache.overlay`); but that something we made is gone is
told even if the server never told of it: readers had seen it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index, Where, where
from dynamo_ctrl.cache.overlay import OwnWrite, OwnWrites
from dynamo_ctrl.cache.replacement import Staging
from dynamo_ctrl.cache.versions import Older, older
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Changes = tuple[Change[O], ...]


class Store(Generic[O]):
    """Objects by scope. Reads take them all together; writes name their scope.

    Args:
        scopes: the namespaces that are followed; `("",)` for all, and for kinds of cluster scope.
        own_writes: the most own writes that are kept until the watch has told them.
        compare: which of two versions is older.

    Attributes:
        namespaces: the objects by namespace and name. To be read only, and anew each time.
        own: the own writes that the watch has not told yet.
    """

    def __init__(self, scopes: Sequence[str] = ("",), *, own_writes: int = 10_000, compare: Older = older) -> None:
        self._older = compare
        self._contents: dict[str, Content[O]] = {
            scope: Content(namespace=scope)
            for scope in sorted(scopes)  # so that lists come in the order of keys
        }
        self._versions: dict[str, str] = dict.fromkeys(scopes, "")
        self._indexes: dict[str, Index[O]] = {}
        self._building: dict[str, object] = {}
        self._stagings: list[Staging[O]] = []
        self._past_failures = 0  # of extractors, on contents and of indexes that are gone
        self.own: OwnWrites[O] = OwnWrites(own_writes, compare)
        self._arrange()

    def _arrange(self) -> None:
        whole = self._whole = self._contents.get("")
        self.namespaces: Mapping[str, Mapping[str, O]] = (
            whole.namespaces
            if whole is not None
            else {scope: content.namespaces[scope] for scope, content in self._contents.items()}
        )

    # --- what the server tells

    def put(self, scope: str, obj: O) -> Changes[O]:
        """A newer state of an object. A state that is not newer than the one told before changes nothing."""
        content = self._contents[scope]
        at = where(obj)
        entry = self.own.get(at)
        old = content.get(at) if entry is None else entry.told
        if old is not None:
            if not self._older(old.metadata.resource_version, obj.metadata.resource_version):
                return ()
            obj.inherit(old)
        now = obj if entry is None else self._follow(content, at, entry, obj)
        if entry is None:
            content.put(obj)
        if old is None:
            return (Change(None, now),)
        if old.metadata.uid != now.metadata.uid:
            return (Change(old, None, inferred=True), Change(None, now))
        return (Change(old, now),)

    def _follow(self, content: Content[O], at: Where, entry: OwnWrite[O], obj: O) -> O:
        """The watch told `obj` where an own write lies; the object that stands for it from now on."""
        if not self.own.caught_up(entry, obj):
            entry.told = obj
            return obj
        self.own.drop(at)
        written = content.get(at)
        if written is not None and written.metadata.resource_version == obj.metadata.resource_version:
            return written
        content.put(obj)
        return obj

    def remove(self, scope: str, at: Where, last: O | None = None) -> Changes[O]:
        """A deletion; `last` is the object's last state as the server told it, with the version of the deletion.

        A deletion that is older than the state told before (the name was taken again) changes nothing.
        """
        content = self._contents[scope]
        entry = self.own.get(at)
        old = content.get(at) if entry is None else entry.told
        version = "" if last is None else last.metadata.resource_version
        if old is not None and version and self._older(version, old.metadata.resource_version):
            return ()
        if entry is None:
            content.remove(at)
        else:
            entry.told = None
            if self.own.undone(entry, version):
                self.own.drop(at)
                content.remove(at)
        if old is None:
            return ()
        if last is None or last.metadata.uid != old.metadata.uid:
            last = old
        last.inherit(old)
        return (Change(last, None),)

    def stage(self, scope: str, *, comparable: bool = True) -> Staging[O]:
        """Begin a replacement of one scope; a replacement that was begun before is forgotten."""
        self._stagings = [staging for staging in self._stagings if staging.scope != scope]
        staging = Staging(
            scope,
            self._contents[scope],
            self.own,
            self._indexes.values(),
            comparable=comparable,
        )
        self._stagings.append(staging)
        return staging

    def replace(self, staging: Staging[O], version: str, *, since: int = -1) -> None:
        """Make a replacement visible, in one step; `staging` can tell then what it changed.

        Args:
            staging: the next content.
            version: what it stands for.
            since: the own write at which a consistent list was begun: it holds that one and all before. -1 for any other list.
        """
        self._stagings.remove(staging)
        scope, content = staging.scope, staging.content
        written = self._contents[scope]
        before: dict[Where, O | None] = {}
        for at, entry in self.own.within(scope):
            before[at] = entry.told
            told = content.get(at)
            if entry.turn <= since or self.own.overtaken(entry, told, version):
                self.own.drop(at)
                if entry.told is None and told is None:
                    before[at] = written.get(at)  # what we made came and went, and readers had seen it
                continue
            entry.told = told
            own = written.get(at)
            if own is None:
                content.remove(at)
            else:
                content.put(own)
        self._past_failures += sum(written.index_failures.values())
        self._contents[scope] = content
        self._versions[scope] = version
        self._arrange()
        staging.arrived(before)

    def advance(self, scope: str, version: str) -> None:
        """Everything up to that version that concerns us was told, apart from events on its way."""
        self._versions[scope] = version

    def reached(self, scope: str, version: str) -> None:
        """Everything up to that version was told (a bookmark): own writes up to it that were not told do not concern us."""
        self._versions[scope] = version
        if self.own:
            for at, entry in self.own.within(scope):
                if self.own.overtaken(entry, entry.told, version):
                    self._give_up(at)

    def forget_own(self, scope: str) -> None:
        """Give up all own writes of that scope."""
        for at, _ in self.own.within(scope):
            self._give_up(at)

    # --- what we write

    def wrote(self, obj: O, *, selected: bool = True) -> Changes[O]:
        """A write's answer. `selected`: whether it belongs to what the informer follows; if not, it is hidden."""
        at = where(obj)
        content = self._content(at[0])
        version = obj.metadata.resource_version
        if content is None or not self._older(self.version(at[0]), version):
            return ()
        told = self.own.told(at, content)
        if not self.own.is_news(at, told, version):
            return ()
        if selected:
            seen = content.get(at)
            if seen is not None:
                obj.inherit(seen)
            content.put(obj)
        elif told is None and self.own.get(at) is None:
            return ()
        else:
            content.remove(at)
        return self._record(at, told, obj.metadata.uid, version)

    def deleted(self, at: Where, uid: str) -> Changes[O]:
        """The object with that uid is gone."""
        content = self._content(at[0])
        if content is None:
            return ()
        told, seen = self.own.told(at, content), content.get(at)
        if any(obj is not None and obj.metadata.uid == uid for obj in (told, seen)):
            content.remove(at)
            return self._record(at, told, uid, "")
        return ()

    def _record(self, at: Where, told: O | None, uid: str, version: str) -> Changes[O]:
        """Keep an own write. What that gives up of another one is told, if nobody else will tell of it."""
        self.own.record(at, told, uid, version)
        excess = self.own.excess()
        if excess is None:
            return ()
        made = self.get(excess)
        self._give_up(excess)
        return () if made is None or self.get(excess) is not None else (Change(made, None, inferred=True),)

    def _give_up(self, at: Where) -> None:
        """Readers see again what the watch told."""
        entry, content = self.own.get(at), self._content(at[0])
        if entry is None or content is None:
            return
        self.own.drop(at)
        if entry.told is None:
            content.remove(at)
        else:
            content.put(entry.told)

    # --- indexes

    def add_index(self, index: Index[O]) -> Iterator[None]:
        """Keep that index from now on. The steps that are returned index the present content; after them it can be read.

        Raises:
            ValueError: another index has that name.
        """
        known = self._indexes.get(index.name)
        if known is not None:
            if known != index:
                raise ValueError(f"another index of {index.kind} is called {index.name!r}")
            return iter(())
        self._indexes[index.name] = index
        token = self._building[index.name] = object()
        contents = (*self._contents.values(), *(staging.content for staging in self._stagings))
        return self._build(index.name, token, [content.index(index) for content in contents])

    def _build(self, name: str, token: object, parts: Iterable[Iterator[None]]) -> Iterator[None]:
        for part in parts:
            yield from part
        if self._building.get(name) is token:
            del self._building[name]

    def drop_index(self, name: str) -> Iterator[None]:
        """Keep that index no more. The steps that are returned give its memory back."""
        del self._indexes[name]
        self._building.pop(name, None)
        self._past_failures += sum(content.index_failures[name] for content in self._contents.values())
        contents = (*self._contents.values(), *(staging.content for staging in self._stagings))
        return (step for content in [content.unindex(name) for content in contents] for step in content)

    @property
    def building(self) -> Iterable[str]:
        """The names of the indexes that cannot be read yet."""
        return self._building.keys()

    # --- reading

    def scope(self, namespace: str) -> str | None:
        """The scope that objects of `namespace` belong to; `None` if it is not followed."""
        return "" if self._whole is not None else namespace if namespace in self._contents else None

    def version(self, namespace: str) -> str:
        """The version that the content of that namespace stands for, "" if it does not follow it."""
        return self._versions.get("" if self._whole is not None else namespace, "")

    def is_older(self, namespace: str, version: str) -> bool:
        """Whether the content of that namespace stands for an older version than `version`."""
        return self._older(self.version(namespace), version)

    def get(self, at: Where) -> O | None:
        """The object at `at`."""
        objects = self.namespaces.get(at[0])
        return None if objects is None else objects.get(at[1])

    def list(self, namespace: str = "") -> Sequence[O]:
        """The objects of one namespace, or of all, in the order of their keys."""
        if self._whole is not None:
            return self._whole.list(namespace)
        return [obj for content in self._reading(namespace) for obj in content.list(namespace)]

    def having(self, labels: Mapping[str, str], namespace: str = "") -> Sequence[O]:
        """The objects that carry all of these labels, in the order of their keys."""
        if self._whole is not None:
            return self._whole.having(labels, namespace)
        return [obj for content in self._reading(namespace) for obj in content.having(labels, namespace)]

    def select(self, selector: LabelSelector, namespace: str = "") -> Sequence[O]:
        """The objects that match, in the order of their keys."""
        if self._whole is not None:
            return self._whole.select(selector, namespace)
        return [obj for content in self._reading(namespace) for obj in content.select(selector, namespace)]

    def by_index(self, name: str, value: str) -> Sequence[O]:
        """The objects with that value, in the order of their keys. Raises `KeyError` for an index nobody declared."""
        if self._whole is not None:
            return self._whole.by_index(name, value)
        return [obj for content in self._contents.values() for obj in content.by_index(name, value)]

    def owned(self, uid: str) -> Sequence[O]:
        """The objects whose controller has that uid, in the order of their keys."""
        if self._whole is not None:
            return self._whole.owned(uid)
        return [obj for content in self._contents.values() for obj in content.owned(uid)]

    def told(self) -> Sequence[O]:
        """What the server told, in no order: own writes that it has not told yet do not show."""
        found = list(chain.from_iterable(objects.values() for objects in self.namespaces.values()))
        if self.own:
            found = [obj for obj in found if self.own.get(where(obj)) is None]
            found += [entry.told for _, entry in self.own.within("") if entry.told is not None]
        return found

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
        """How often an extractor raised."""
        return self._past_failures + sum(sum(content.index_failures.values()) for content in self._contents.values())

    def release(self) -> Iterator[None]:
        """Forget everything, a bounded piece in each step. Nobody may read it any more."""
        for content in self._contents.values():
            yield from content.release()

    def _content(self, namespace: str) -> Content[O] | None:
        return self._whole if self._whole is not None else self._contents.get(namespace)

    def _reading(self, namespace: str) -> Iterable[Content[O]]:
        if not namespace:
            return self._contents.values()
        content = self._contents.get(namespace)
        return () if content is None else (content,)
