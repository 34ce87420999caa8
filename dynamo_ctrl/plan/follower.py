"""`Follower`: the objects of one kind of a core, kept as a cache keeps them, without a loop.

Contract: whoever reads `content` reads the core's present state, through the selector and the projection that an informer would
have. Objects that have not changed stay the same objects, so that what was decoded of them stays decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.content import Content
from dynamo_ctrl.cache.index import Index, where
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.projection import Projection
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.history import Feed
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Follower(Generic[O]):
    """Follows one served kind.

    Args:
        core: where its objects are.
        kind: what is followed.
        label_selector: which of them, as an informer asks for them.
        project: what is kept of each.
    """

    def __init__(
        self, core: Core, kind: Kind[O], *, label_selector: str = "", project: Projection | None = None
    ) -> None:
        self._core = core
        self._kind = kind
        self._options = WatchOptions(label_selector=label_selector, bookmarks=False, timeout=0)
        self._intake = Intake(kind, project)
        self._indexes: dict[str, Index[O]] = {}
        self._content: Content[O] = Content()
        self._feed: Feed | None = None

    @property
    def content(self) -> Content[O]:
        """The objects as they are now, with every index. Raises `NotFound` if the kind is not served."""
        if self._feed is None or not self._drain(self._feed):
            self._content = Content(self._indexes.values())
            self._feed = self._core.watch(self._kind, self._options)
            self._drain(self._feed)
        return self._content

    def add_indexes(self, indexes: Iterable[Index[Any]]) -> None:
        """Keep those of the kind from now on. Raises `ValueError` for a name that another index has."""
        for index in indexes:
            if index.kind != self._kind or self._indexes.get(index.name) == index:
                continue
            if index.name in self._indexes:
                raise ValueError(f"another index of {index.kind} is called {index.name!r}")
            self._indexes[index.name] = index
            self._feed = None

    def _drain(self, feed: Feed) -> bool:
        """Whether the feed has told everything; one that fell behind has not."""
        for event in feed.take():
            obj = self._intake.read(event.object)
            if obj is None:
                continue
            if event.type == "DELETED":
                self._content.remove(where(obj))
                continue
            old = self._content.get(where(obj))
            if old is not None:
                obj.inherit(old)
            self._content.put(obj)
        return not feed.closed


class Followers:
    """The followers of one core, shared by (kind, selector, projection) as informers are."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._followers: dict[tuple[Kind[Any], str, Projection | None], Follower[Any]] = {}

    def of(self, kind: Kind[O], label_selector: str = "", project: Projection | None = None) -> Follower[O]:
        """The follower with that selector and projection."""
        sharing = (kind, label_selector, project)
        found = self._followers.get(sharing)
        if found is None:
            found = Follower(self._core, kind, label_selector=label_selector, project=project)
            self._followers[sharing] = found
        return found
