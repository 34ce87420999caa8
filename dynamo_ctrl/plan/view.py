"""`ScratchView`: what a controller would read from its cache, read from a core.

It keeps to the contract of `View`: only what was declared can be read, through the declared selectors and projections; an
optional kind that is not served reads as empty, another one raises `SourceUnavailable`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.state import absent, install_definition
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector
from dynamo_ctrl.plan.follower import Follower, Followers

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class ScratchView:
    """The read side of what `watches` declares."""

    def __init__(self, core: Core, watches: Watches[Any], followers: Followers) -> None:
        self._core = core
        self._followers: dict[Kind[Any], Follower[Any]] = {}
        self._needed: set[Kind[Any]] = set()
        for watch in watches.all:
            if watch.kind not in self._followers:
                follower = followers.of(watch.kind, watch.label_selector, watch.project)
                follower.add_indexes(watches.indexes)
                self._followers[watch.kind] = follower
            if not watch.optional:
                self._needed.add(watch.kind)

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`. Raises `SourceUnavailable`."""
        content = self._content(kind)
        return None if content is None else content.get(Key.of(key))

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects of one namespace (empty: all) that match. Raises `SourceUnavailable`, `InvalidSelector`."""
        content = self._content(kind)
        if content is None:
            return ()
        return content.select(LabelSelector.of(selector), namespace) if selector else content.list(namespace)

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`. Raises `SourceUnavailable`."""
        content = self._content(index.kind)
        if content is None:
            return ()
        try:
            return content.by_index(index.name, value)
        except KeyError:
            reason = f"no index is called {index.name!r}; declare it with indexing()"
            raise SourceUnavailable(index.kind, reason) from None

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` whose controller reference carries the uid of `owner`. Raises `SourceUnavailable`."""
        content = self._content(kind)
        return () if content is None else content.owned(owner.metadata.uid)

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the core serves the kind; `False` for one that was not declared."""
        return kind in self._followers and self._core.serves(kind)

    def _content(self, kind: Kind[O]) -> Content[O] | None:
        follower = self._followers.get(kind)
        if follower is None:
            raise SourceUnavailable(kind, "it is neither watched nor read; declare it with reading()")
        if self._core.serves(kind):
            return follower.content
        if kind in self._needed:
            raise SourceUnavailable(kind, absent(kind, install_definition(kind)).reason)
        return None
