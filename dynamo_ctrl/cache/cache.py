"""`Cache`: the informers of one manager, over one engine.

Informers are shared by (kind, label selector, projection) and counted by reference; they can come and go while it runs. One
task follows each scope of each informer; all of them belong to `run`, and none outlives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from dynamo_ctrl.cache.informer import Informer, SharedInformer
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.projection import Projection
from dynamo_ctrl.cache.reflector import Reflector, Remedy
from dynamo_ctrl.cache.state import install_definition
from dynamo_ctrl.cache.view import CachedView
from dynamo_ctrl.cache.watcher import Watcher, WatcherOptions
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """The bounds of a cache.

    Attributes:
        namespaces: which namespaces are followed; empty for all. Kinds of cluster scope are always followed whole.
        lists_at_once: how many lists may be under way at the same time.
        own_writes: the most own writes of one informer that are kept until the watch has told them.
        batch: the most changes that a subscriber gets at once.
        slice_seconds: how long the cache keeps the loop before it gives it back.
        watcher: what governs listing and watching.
        remedy: says what to do about a kind that the cluster does not serve, e.g. the command that installs it.
    """

    namespaces: tuple[str, ...] = ()
    lists_at_once: int = 8
    own_writes: int = 10_000
    batch: int = 256
    slice_seconds: float = 0.005
    watcher: WatcherOptions = field(default_factory=WatcherOptions)
    remedy: Remedy = install_definition


_Sharing = tuple[Kind[Any], str, Projection | None]


class Cache:
    """Hands out informers and runs them.

    It is also who is told about own writes (`dynamo_ctrl.cache.overlay.Written`).
    """

    def __init__(
        self, engine: Engine, *, clock: Clock, random: Random | None = None, options: CacheOptions | None = None
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._random = random or Random()  # noqa: S311  (spreads reconnects, guards nothing)
        self._options = options or CacheOptions()
        self._lists = asyncio.Semaphore(self._options.lists_at_once)
        self._informers: dict[_Sharing, SharedInformer[Any]] = {}
        self._by_kind: dict[Kind[Any], list[SharedInformer[Any]]] = {}
        self._tasks: dict[SharedInformer[Any], list[asyncio.Task[None]]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._ended = False

    def informer(
        self,
        kind: Kind[O],
        label_selector: str = "",
        project: Projection | None = None,
        optional: bool = False,
    ) -> Informer[O]:
        """A handle on the informer with that selector and projection; close it when done.

        Raises:
            InvalidSelector: the selector cannot be read.
            RuntimeError: the cache has ended.
        """
        if self._ended:
            raise RuntimeError("the cache has ended; a new one has to be made")
        selector = LabelSelector.parse(label_selector)
        sharing = (kind, str(selector), project)
        shared = self._informers.get(sharing)
        if shared is None:
            shared = self._informers[sharing] = self._new(kind, selector, project)
            self._by_kind.setdefault(kind, []).append(shared)
            if self._group is not None:
                self._start(self._group, shared)
        informer = Informer(shared, optional=optional, release=self._release)
        shared.users.add(informer)
        return informer

    def _new(self, kind: Kind[O], selector: LabelSelector, project: Projection | None) -> SharedInformer[O]:
        options = self._options
        scopes = options.namespaces if kind.namespaced and options.namespaces else ("",)
        shared = SharedInformer(
            kind,
            selector,
            Intake(kind, project),
            scopes=tuple(dict.fromkeys(scopes)),
            overlay_limit=options.own_writes,
            batch=options.batch,
        )
        for scope in dict.fromkeys(scopes):
            watcher = Watcher(self._random, options.watcher, namespace=scope, label_selector=str(selector))
            pace = Pace(self._clock, options.slice_seconds)
            shared.reflectors.append(
                Reflector(
                    scope,
                    shared,
                    self._engine,
                    watcher,
                    shared.intake,
                    clock=self._clock,
                    lists=self._lists,
                    pace=pace,
                    remedy=options.remedy,
                )
            )
        return shared

    def _start(self, group: asyncio.TaskGroup, shared: SharedInformer[Any]) -> None:
        self._tasks[shared] = [
            group.create_task(reflector.run(), name=f"reflector {shared.kind} {reflector.watcher.scope or '(all)'}")
            for reflector in shared.reflectors
        ]

    def _release(self, informer: Informer[Any]) -> None:
        shared = informer.shared
        shared.users.discard(informer)
        if shared.users:
            return
        for sharing in [sharing for sharing, known in self._informers.items() if known is shared]:
            del self._informers[sharing]
        same_kind = self._by_kind[shared.kind]
        same_kind.remove(shared)
        if not same_kind:
            del self._by_kind[shared.kind]
        for task in self._tasks.pop(shared, ()):
            task.cancel()
        shared.stop()

    async def run(self) -> None:
        """Follow everything until cancelled, informers that are added later too. It can be run once.

        Raises:
            RuntimeError: it has been run before.
        """
        if self._group is not None or self._ended:
            raise RuntimeError("a cache can be run once")
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for shared in self._informers.values():
                    self._start(group, shared)
                await asyncio.get_running_loop().create_future()  # until cancelled
        finally:
            self._group = None
            self._ended = True
            self._tasks.clear()
            for shared in self._informers.values():
                shared.stop()

    def view(self, informers: Mapping[Kind[Any], Informer[Any]]) -> CachedView:
        """The read side of those informers."""
        return CachedView(informers)

    @property
    def informers(self) -> Iterator[SharedInformer[Any]]:
        """Everything that is followed, for metrics and health."""
        return iter(tuple(self._informers.values()))

    # --- own writes

    def wrote(self, obj: Object[Any, Any]) -> None:
        """The server answered a write with `obj`: it is read at once."""
        for shared in self._by_kind.get(obj.kind, ()):
            shared.wrote(obj)

    def deleted(self, kind: Kind[Any], key: Key, uid: str) -> None:
        """The server answered that the object with that uid is gone: it is not read any more."""
        for shared in self._by_kind.get(kind, ()):
            shared.deleted(key, uid)
