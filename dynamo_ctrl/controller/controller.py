"""`Controller`: the sources, the queue and the workers of one primary kind, and the barrier between them.

Contract:

- No reconcile before every source has delivered its initial objects and they were mapped. A source that cannot be read (its API
  is missing, or the right to read it) holds the controller back, with a reason, until that heals; an optional one that is absent
  does not.
- When a kind becomes readable or stops being so, every primary is woken: what a program may read has changed.
- A reconcile that meets a kind which cannot be read waits for it quietly (see `dynamo_ctrl.controller.settle`).
- `run` goes on until it is cancelled, and leaves no task behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.controller.answer import Reconcile
from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.controller.source import Source
from dynamo_ctrl.controller.workers import Workers
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.workqueue import WorkQueue

_YIELD_EVERY = 1024
"""Primaries that are woken in one go."""


class Controller:
    """Drives a reconcile for every primary that something happened to.

    The informers are opened at once, so that `view` can be handed to the reconcile; `run` starts the work.

    Args:
        name: in logs and metrics; unique in a manager.
        watches: the primary kind, what else wakes it, what is read.
        cache: where informers come from.
        clock: the time.
        options: see `ControllerOptions`.
        log: a structlog logger; the default one when `None`.

    Raises:
        ValueError: one kind is watched with two selectors or projections, so that a read of it would be ambiguous.
    """

    def __init__(
        self,
        *,
        name: str,
        watches: Watches[Any],
        cache: Cache,
        clock: Clock | None = None,
        options: ControllerOptions | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.name = name
        self.watches = watches
        self.options = options if options is not None else ControllerOptions()
        self.numbers = ControllerNumbers()
        self.queue: WorkQueue[Key] = WorkQueue(
            failures=self.options.failures, conflicts=self.options.conflicts, max_progress=self.options.max_progress
        )
        clock = clock if clock is not None else SystemClock()
        log = (log if log is not None else structlog.get_logger()).bind(controller=name)
        self._informers = dict(_open(watches, cache))
        self._view = cache.view(self._informers)
        self._settler = Settler(name, self.queue, self.numbers, log, self._will_heal)
        self._workers = Workers(
            name, self.queue, self._settler, clock, count=self.options.workers, slice_=self.options.slice
        )
        self._sources = [
            Source(
                watch,
                self._informers[watch.kind],
                view=self._view,
                add=self._workers.add,
                numbers=self.numbers,
                clock=clock,
                log=log,
            )
            for watch in watches.all
        ]
        self._readable = {kind: _readability(informer.state) for kind, informer in self._informers.items()}
        self._changed = asyncio.Event()
        self._synced = asyncio.Event()

    # -- what others ask

    @property
    def view(self) -> View:
        """Reads of everything that the controller watches."""
        return self._view

    @property
    def sources(self) -> dict[str, SourceState]:
        """The state of every source, by kind."""
        return {str(kind): informer.state for kind, informer in self._informers.items()}

    @property
    def ready(self) -> bool:
        """Whether it works: all initial objects were mapped, and every needed source can be read."""
        return not self.reasons

    @property
    def reasons(self) -> dict[str, str]:
        """Why it is not ready: for each source that is missing, what is wrong and what mends it."""
        reasons = {str(kind): str(informer.state) for kind, informer in self._informers.items() if not informer.ready}
        if not reasons and not self._synced.is_set():
            return {
                str(source.watch.kind): "syncing: the initial objects are being mapped"
                for source in self._sources
                if not source.settled.is_set()
            } or {str(self.watches.primary.kind): "syncing: not started"}
        return reasons

    async def synced(self) -> None:
        """Returns when all initial objects were mapped and the workers have been let loose."""
        await self._synced.wait()

    def wake(self, key: Key, cause: Cause) -> None:
        """Let the key run, for a reason that no source knows."""
        self._workers.add(key, cause)

    # -- life

    async def run(self, reconcile: Reconcile) -> None:
        """Watch and work until cancelled. Gives the informers back at the end."""
        ends = [informer.watch_state(self._look) for informer in self._informers.values()]
        try:
            async with asyncio.TaskGroup() as tasks:
                for source in self._sources:
                    tasks.create_task(source.run(), name=f"controller {self.name}: source {source.watch.kind}")
                tasks.create_task(self._follow_states(), name=f"controller {self.name}: states")
                for source in self._sources:
                    await source.settled.wait()
                self._synced.set()
                await self._workers.run(reconcile)
        finally:
            for end in ends:
                end()
            self.close()

    def close(self) -> None:
        """Give the informers back. Idempotent; a controller that was never run has to be closed too."""
        for informer in self._informers.values():
            informer.close()

    def _look(self, state: SourceState) -> None:
        del state
        self._changed.set()

    async def _follow_states(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            now = {kind: _readability(informer.state) for kind, informer in self._informers.items()}
            changed = [kind for kind, phase in now.items() if phase is not self._readable[kind]]
            self._readable = now
            if not changed:
                continue
            for source in self._sources:
                source.retry()
            if self._synced.is_set():
                await self._wake_all(Cause(str(changed[0]), now[changed[0]].value))

    async def _wake_all(self, cause: Cause) -> None:
        """Every primary that is known, and every key that waits for a source."""
        keys = self._settler.unpark()
        with suppress(SourceUnavailable):  # its primaries come with its initial objects, when it can be read again
            keys.update(primary.key for primary in self._view.list(self.watches.primary.kind))
        for count, key in enumerate(sorted(keys), start=1):
            self._workers.add(key, cause)
            if count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)

    def _will_heal(self, error: SourceUnavailable) -> bool:
        """Whether that error comes from a source of ours that cannot be read, and will tell when it can."""
        informer = self._informers.get(error.kind)
        return informer is not None and not informer.ready


def _readability(state: SourceState) -> Phase:
    """The phase, as far as it matters to a reader: a stale source is read like a live one."""
    return Phase.LIVE if state.phase is Phase.STALE else state.phase


def _open(watches: Watches[Any], cache: Cache) -> Iterator[tuple[Kind[Any], Informer[Any]]]:
    by_kind: dict[Kind[Any], list[Watch[Any]]] = {}
    for watch in watches.all:
        by_kind.setdefault(watch.kind, []).append(watch)
    for kind, group in by_kind.items():
        first = group[0]
        for watch in group[1:]:
            for what in ("label_selector", "project"):
                if getattr(watch, what) != getattr(first, what):
                    raise ValueError(
                        f"{kind} is watched twice with different values of {what}: a read of it is ambiguous"
                    )
    for kind, group in by_kind.items():
        first = group[0]
        optional = all(watch.optional for watch in group)
        informer = cache.informer(kind, first.label_selector, first.project, optional)
        for index in watches.indexes:
            if index.kind == kind:
                informer.add_index(index)
        yield kind, informer
