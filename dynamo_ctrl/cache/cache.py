"""`Cache`: the informers of one manager, over one engine.

Informers are shared by (kind, label selector, projection) and counted by reference; they can come and go while it runs. One
task follows each scope of each informer; all of them belong to `run`, and none outlives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from dynamo_ctrl.cache.budget import Budget
from dynamo_ctrl.cache.diagnosis import Diagnosis
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.options import CacheOptions as CacheOptions
from dynamo_ctrl.cache.options import KindOptions as KindOptions
from dynamo_ctrl.cache.projection import Projection
from dynamo_ctrl.cache.reflector import Reflector
from dynamo_ctrl.cache.selection import Selection
from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.cache.turns import Turns
from dynamo_ctrl.cache.view import CachedView
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import FieldSelector, LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

_Sharing = tuple[Kind[Any], str, str, Projection | None]


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
        self._turns = Turns(clock, self._options.slice_seconds)
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
        *,
        field_selector: str = "",
    ) -> Informer[O]:
        """A handle on the informer with those selectors and that projection; close it when done.

        What the options say about the kind comes on top: namespaces, and further selectors.

        Raises:
            InvalidSelector: a selector cannot be read.
            RuntimeError: the cache has ended.
        """
        if self._ended:
            raise RuntimeError("the cache has ended; a new one has to be made")
        selection = self._selection(kind, label_selector, field_selector)
        sharing = (kind, str(selection.labels), str(selection.fields), project)
        shared = self._informers.get(sharing)
        if shared is None:
            shared = self._informers[sharing] = self._new(kind, selection, project)
            self._by_kind.setdefault(kind, []).append(shared)
            if self._group is not None:
                self._start(self._group, shared)
        informer = Informer(shared, optional=optional, release=self._release)
        shared.users.add(informer)
        return informer

    def _selection(self, kind: Kind[Any], label_selector: str, field_selector: str) -> Selection:
        own = self._options.of(kind)
        labels = (LabelSelector.parse(text).requirements for text in (label_selector, own.label_selector))
        fields = (FieldSelector.parse(text).terms for text in (field_selector, own.field_selector))
        return Selection(
            LabelSelector(tuple(dict.fromkeys(requirement for part in labels for requirement in part))),
            FieldSelector(tuple(dict.fromkeys(term for part in fields for term in part))),
            namespaces=own.namespaces or (),
            excluded=own.except_namespaces or (),
        )

    def _new(self, kind: Kind[O], selection: Selection, project: Projection | None) -> SharedInformer[O]:
        options = self._options
        watching = replace(options.watcher, initial=options.of(kind).initial or options.watcher.initial)
        shared = SharedInformer(
            kind,
            selection,
            Intake(kind, project),
            chore=self._chore,
            own_writes=options.own_writes,
            batch=options.batch,
        )
        for scope in selection.scopes:
            watcher = Watcher(
                self._random,
                watching,
                namespace=scope,
                label_selector=str(selection.labels),
                field_selector=selection.field_query,
            )
            reflector = Reflector(
                scope,
                shared,
                self._engine,
                watcher,
                shared.intake,
                clock=self._clock,
                lists=self._lists,
                turns=self._turns,
                diagnosis=Diagnosis(self._engine, kind, scope, options.remedy, beyond=options.beyond(kind)),
            )
            shared.reflectors.append(reflector)
        return shared

    def _chore(self, steps: Iterator[object]) -> None:
        """Take the steps of a long work: in the task group while the cache runs, else at once. At the end they do not matter."""
        if self._group is not None:
            self._group.create_task(self._turns.work(steps), name="cache: a long work")
        elif not self._ended:
            for _ in steps:
                pass

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
                try:
                    await Budget(self._options.memory_budget).watch(lambda: self.informers)  # until cancelled
                finally:
                    self._group, self._ended = None, True  # no further task in a group that ends
        finally:
            self._ended = True
            self._tasks.clear()
            for shared in self._informers.values():
                shared.stop()

    def view(self, informers: Mapping[Kind[Any], Informer[Any]]) -> CachedView:
        """The read side of those informers."""
        return CachedView(informers, clock=self._clock)

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
