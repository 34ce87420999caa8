"""`Staging`: the next content of one scope while it is being fetched; and what its arrival changes.

A replacement is laid aside piece by piece, with all its indexes, and becomes visible in one step. Only then is it found out what
it changed, while it is told: deletions, then updates, then additions (R 3.3). Nothing here takes longer than a bounded step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import NAMES, STEP, Index, Where, popped, where
from dynamo_ctrl.cache.overlay import OwnWrites
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741
T = TypeVar("T")

Batch = Sequence[Change[O]]


class Staging(Generic[O]):
    """The next content of one scope. Nobody reads it.

    Objects that have not changed stay the same objects, so that what was decoded of them stays decoded. That rests on equal
    versions; `comparable=False` says that they prove nothing.

    Attributes:
        scope: the namespace that is replaced, "" for all.
        content: what was laid aside so far.
    """

    def __init__(
        self,
        scope: str,
        live: Content[O],
        own: OwnWrites[O],
        indexes: Iterable[Index[O]],
        *,
        comparable: bool,
    ) -> None:
        self.scope = scope
        self.content: Content[O] = Content(indexes, namespace=scope)
        self._live = live
        self._own = own
        self._comparable = comparable
        self._fresh = not live.count and all(entry.told is None for _, entry in own.within(scope))
        self._changed: dict[Where, O] = {}
        self._before: Mapping[Where, O | None] = {}

    # --- filling

    def add(self, obj: O) -> None:
        """Lay one object aside. Of two states of one object the later call counts."""
        if self._fresh:
            self.content.put(obj)
            return
        at = where(obj)
        old = self._own.told(at, self._live)
        if old is not None and self._comparable and _same(old, obj):
            self._changed.pop(at, None)
            self.content.put(old)
            return
        if old is not None:
            obj.inherit(old)
        self._changed[at] = obj
        self.content.put(obj)

    def drop(self, at: Where) -> None:
        """Forget what was laid aside at `at`."""
        self._changed.pop(at, None)
        self.content.remove(at)

    def keep(self, at: Where) -> None:
        """The object at `at` exists and cannot be read: its last readable state stays, if there is one."""
        old = self._own.told(at, self._live)
        if old is not None and self.content.get(at) is None:
            self.content.put(old)

    def arrived(self, before: Mapping[Where, O | None]) -> None:
        """It is what readers see now.

        `before`: what had been told of the keys that we had written ourselves until then, and instead of nothing what we had made
        there and is gone.
        """
        self._before = before

    # --- what it changed

    def changes(self) -> Iterator[Batch[O]]:
        """What differs from the content that was replaced, a bounded batch in each step.

        To be read after the replacement and before the next event of that scope; own writes may come in between.
        """
        if self._fresh:
            yield self._written_and_gone()
            yield from self._everything()
            return
        yield from self._missing()
        for pairs in self._pairs():
            yield [
                Change(old, None, inferred=True) for old, new in pairs if old is not None and not _lives_on(old, new)
            ]
        for pairs in self._pairs():
            yield [Change(old, new) for old, new in pairs if old is not None and _lives_on(old, new)]
        for pairs in self._pairs():
            yield [Change(None, new) for old, new in pairs if old is None or not _lives_on(old, new)]

    def _everything(self) -> Iterator[Batch[O]]:
        own, content = self._own, self.content
        for namespace, objects in tuple(content.namespaces.items()):
            for part in parts(tuple(objects), STEP):
                told = (own.told((namespace, name), content) for name in part)
                yield [Change(None, obj) for obj in told if obj is not None]

    def _missing(self) -> Iterator[Batch[O]]:
        own, content, before = self._own, self.content, self._before
        nothing: dict[str, O] = {}
        for namespace, objects in self._live.namespaces.items():
            for part in parts(objects, NAMES):
                now = content.namespaces.get(namespace, nothing)
                gone = [name for name in part if name not in now]
                yield [
                    Change(objects[name], None, inferred=True)
                    for name in gone
                    if (namespace, name) not in before and own.told((namespace, name), content) is None
                ]
        yield self._written_and_gone()

    def _written_and_gone(self) -> Batch[O]:
        """What is missing of the keys that we had written ourselves, also what we made there and nobody ever told of."""
        return [
            Change(old, None, inferred=True)
            for at, old in self._before.items()
            if old is not None and self._own.told(at, self.content) is None
        ]

    def _pairs(self) -> Iterator[Sequence[tuple[O | None, O]]]:
        live, before = self._live, self._before
        for part in parts(self._changed, STEP):
            yield [(before[at] if at in before else live.get(at), self._changed[at]) for at in part]

    def release(self) -> Iterator[None]:
        """Give back what was replaced, a bounded piece in each step."""
        yield from popped(self._changed)
        yield from self._live.release()


def parts(items: Iterable[T], step: int) -> Iterator[Sequence[T]]:
    """`items` in pieces of at most `step`."""
    iterator = iter(items)
    while part := tuple(islice(iterator, step)):
        yield part


def _same(old: Object[Any, Any], new: Object[Any, Any]) -> bool:
    before, after = old.metadata, new.metadata
    return before.resource_version == after.resource_version and before.uid == after.uid


def _lives_on(old: Object[Any, Any], new: Object[Any, Any]) -> bool:
    return old.metadata.uid == new.metadata.uid
