"""`Sources`: all sources of one controller, as handles that can be added and closed at any time (R 4, 50).

Contract:

- Every kind that is watched or read has one selector and one projection, so that a read of it is not ambiguous.
- `run` follows them until it is cancelled, those that are added later too. It can be run again after that; while it runs, a
  second `run` only waits.
- A source that was there before the controller was let loose holds it back until it is settled; a later one holds back nobody:
  a reconcile that reads its kind too early waits for it (`SourceUnavailable`), everything else goes on (R 4, 54).
- Whenever a kind becomes readable or stops being so, `changed` is awaited with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.cache.view import CachedView
from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.controller.source import Source
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.queue.causes import Cause


class SourceHandle:
    """One source of a controller. Close it when it is not needed any more.

    Attributes:
        watch: what it watches.
    """

    def __init__(self, source: Source[Any], informer: Informer[Any], close: Callable[[SourceHandle], None]) -> None:
        self.watch: Watch[Any] = source.watch
        self.source = source
        self.informer = informer
        self.task: asyncio.Task[None] | None = None
        self._close = close
        self._look: Callable[[], None] = lambda: None

    @property
    def state(self) -> SourceState:
        """Whether its kind can be read, and if not, why and what mends it."""
        return self.informer.state

    @property
    def settled(self) -> bool:
        """Whether every initial object was mapped (or it is optional and excused, or the handle was closed)."""
        return self.source.settled.is_set()

    async def wait_settled(self) -> None:
        """Return once `settled` is true; the controller must be running."""
        await self.source.settled.wait()

    def follow(self, look: Callable[[SourceState], None]) -> None:
        """Tell `look` of each later state."""
        self._look()
        self._look = self.informer.watch_state(look)

    def unfollow(self) -> None:
        """Tell nobody any more."""
        self._look()

    def close(self) -> None:
        """Watch no more, and give the informer back. Idempotent."""
        self._close(self)


class Sources:
    """See the module.

    Args:
        name: the controller's.
        watches: what is watched from the start.
        cache: where informers come from.
        build: makes the source of a watch.
        changed: awaited when a kind became readable or stopped being so.

    Attributes:
        view: reads of everything that is watched.

    Raises:
        ValueError: one kind is watched with two selectors or projections.
    """

    def __init__(
        self,
        name: str,
        watches: Watches[Any],
        cache: Cache,
        *,
        build: Callable[[Watch[Any], Informer[Any], CachedView], Source[Any]],
        changed: Callable[[Cause], Awaitable[None]],
    ) -> None:
        self._name = name
        self._primary = watches.primary.kind
        self._cache = cache
        self._build = build
        self._on_changed = changed
        self._handles: list[SourceHandle] = []
        self._readable: dict[Kind[Any], Phase] = {}
        self._changed = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._closed = False
        for group in _by_kind(watches.all).values():
            for watch in group[1:]:
                _check_alike(group[0], watch)
        self.view: CachedView = cache.view({})
        for kind, group in _by_kind(watches.all).items():
            optional = all(watch.optional for watch in group)
            indexes = [index for index in watches.indexes if index.kind == kind]
            informer = self._open(group[0], optional, indexes)
            for watch in group:
                self._take(watch, informer)
        self.needed = tuple(self._handles)
        """Those that hold the controller back."""

    def add(self, watch: Watch[Any], indexes: Iterable[Index[Any]] = ()) -> SourceHandle:
        """Watch something else from now on.

        Raises:
            ValueError: the kind is watched already with another selector or projection, or an index cannot be kept.
            RuntimeError: the controller was closed, or the cache has ended.
        """
        if self._closed:
            raise RuntimeError(f"controller {self._name}: closed, so {watch.kind} cannot be watched")
        for handle in self._handles:
            if handle.watch.kind == watch.kind:
                _check_alike(handle.watch, watch)
        informer = self._open(watch, watch.optional, tuple(indexes))
        handle = self._take(watch, informer)
        if self._group is not None:
            self._start(self._group, handle)
        return handle

    def _open(self, watch: Watch[Any], optional: bool, indexes: Sequence[Index[Any]]) -> Informer[Any]:
        informer = self._cache.informer(watch.kind, watch.label_selector, watch.project, optional)
        try:
            for index in indexes:
                informer.add_index(index)
        except ValueError:
            informer.close()
            raise
        if watch.kind not in self._readable:
            self.view.open(informer)
            self._readable[watch.kind] = _readability(informer.state)
        return informer

    def _take(self, watch: Watch[Any], informer: Informer[Any]) -> SourceHandle:
        handle = SourceHandle(self._build(watch, informer, self.view), informer, self._drop)
        self._handles.append(handle)
        return handle

    def _drop(self, handle: SourceHandle) -> None:
        if handle not in self._handles:
            return
        self._handles.remove(handle)
        handle.unfollow()
        handle.source.settled.set()
        if handle.task is not None:
            handle.task.cancel()
            handle.task = None
        kind = handle.watch.kind
        same_kind = [other.informer for other in self._handles if other.watch.kind == kind]
        if not same_kind:
            self.view.close(kind)
            del self._readable[kind]
        elif handle.informer not in same_kind:
            self.view.open(same_kind[0])
        if handle.informer not in same_kind:
            handle.informer.close()

    # -- life

    @property
    def running(self) -> bool:
        """Whether somebody follows them."""
        return self._group is not None

    async def run(self) -> None:
        """Follow them until cancelled."""
        if self._group is not None:
            await asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for handle in self._handles:
                    self._start(group, handle)
                await self._follow_states()
        finally:
            self._group = None
            for handle in self._handles:
                handle.unfollow()
                handle.task = None
                handle.source.settled.clear()  # who begins again has to hear of everything again

    def _start(self, group: asyncio.TaskGroup, handle: SourceHandle) -> None:
        handle.follow(self._look)
        handle.task = group.create_task(
            handle.source.run(), name=f"controller {self._name}: source {handle.watch.kind}"
        )
        self._changed.set()

    async def settled(self) -> None:
        """Return once all those are settled that hold the controller back."""
        for handle in self.needed:
            await handle.wait_settled()

    def close(self) -> None:
        """Close all of them. Idempotent."""
        self._closed = True
        for handle in tuple(self._handles):
            handle.close()

    # -- states

    @property
    def primary(self) -> Informer[Any]:
        """The informer of the primary kind. Raises `RuntimeError` when that was closed."""
        for handle in self._handles:
            if handle.watch.kind == self._primary:
                return handle.informer
        raise RuntimeError(f"controller {self._name}: the source of {self._primary} was closed")

    @property
    def states(self) -> dict[str, SourceState]:
        """The state of every source, by kind."""
        return {str(handle.watch.kind): handle.state for handle in self._handles}

    @property
    def unready(self) -> dict[str, str]:
        """What cannot be read, by kind, with what is wrong and what mends it."""
        informers = [handle.informer for handle in self._handles]
        return {str(informer.kind): str(informer.state) for informer in informers if not informer.ready}

    @property
    def unsettled(self) -> Iterator[str]:
        """The kinds whose initial objects are being mapped."""
        return (str(handle.watch.kind) for handle in self.needed if not handle.settled)

    def heals(self, kind: Kind[Any]) -> bool:
        """Whether that kind is one of ours, cannot be read now, and will be told of when it can."""
        return any(handle.watch.kind == kind and not handle.informer.ready for handle in self._handles)

    def _look(self, state: SourceState) -> None:
        del state
        self._changed.set()

    async def _follow_states(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            changed: list[tuple[Kind[Any], Phase]] = []
            for handle in self._handles:
                kind, now = handle.watch.kind, _readability(handle.state)
                if now is not self._readable[kind]:
                    self._readable[kind] = now
                    changed.append((kind, now))
            if not changed:
                continue
            for handle in tuple(self._handles):
                handle.source.retry()
            kind, phase = changed[0]
            await self._on_changed(Cause(str(kind), phase.value))


def _readability(state: SourceState) -> Phase:
    """The phase, as far as it matters to a reader: a stale source is read like a live one."""
    return Phase.LIVE if state.phase is Phase.STALE else state.phase


def _by_kind(watches: Iterable[Watch[Any]]) -> dict[Kind[Any], list[Watch[Any]]]:
    by_kind: dict[Kind[Any], list[Watch[Any]]] = {}
    for watch in watches:
        by_kind.setdefault(watch.kind, []).append(watch)
    return by_kind


def _check_alike(first: Watch[Any], other: Watch[Any]) -> None:
    for what in ("label_selector", "project"):
        if getattr(other, what) != getattr(first, what):
            raise ValueError(
                f"{first.kind} is watched twice with different values of {what}: a read of it is ambiguous"
            )
