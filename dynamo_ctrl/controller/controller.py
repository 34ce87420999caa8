"""`Controller`: the sources, the queue and the workers of one primary kind, and the barrier between them.

Contract:

- No reconcile before every source has delivered its initial objects and they were mapped. A source that cannot be read (its API
  is missing, or the right to read it) holds the controller back, with a reason, until that heals; an optional one that is absent
  does not, and neither does one that is added later.
- Watching and working are two lives: `warm_up` follows the sources and fills the queue on a replica that does not lead, `work`
  reconciles (and follows the sources as well if nobody does). `run` is both.
- When a kind becomes readable or stops being so, every primary is woken, at low priority: what a program may read has changed.
- A reconcile that meets a kind which cannot be read waits for it quietly (see `dynamo_ctrl.controller.settle`).
- Each of them goes on until it is cancelled, and leaves no task behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.state import SourceState
from dynamo_ctrl.cache.view import CachedView, View
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.controller.answer import Reconcile
from dynamo_ctrl.controller.builder import Watch, Watches
from dynamo_ctrl.controller.echo import Echo
from dynamo_ctrl.controller.history import Changes, History, LastRun, last_run
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.controller.own import OwnWrites
from dynamo_ctrl.controller.predicate import always, body_changed
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.controller.source import SLICE, Source
from dynamo_ctrl.controller.sources import SourceHandle, Sources
from dynamo_ctrl.controller.workers import Workers
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import LOW, NORMAL
from dynamo_ctrl.queue.fifo import Fifo
from dynamo_ctrl.queue.limiters import Limiter
from dynamo_ctrl.queue.order import Order
from dynamo_ctrl.queue.priority import Priorities
from dynamo_ctrl.queue.workqueue import WorkQueue


class Controller:
    """Drives a reconcile for every primary that something happened to.

    The informers are opened at once, so that `view` can be handed to the reconcile; `run` starts the work.

    Args:
        name: in logs and metrics; unique in a manager.
        watches: the primary kind, what else wakes it, what is read.
        cache: where informers come from.
        clock: the time.
        options: see `ControllerOptions`.
        limiter: how long a key waits after a failure; the back-off of the options when `None`.
        log: a structlog logger; the default one when `None`.

    Attributes:
        queue: the keys.
        numbers: what is counted.
        written: who has to be told of the writes of the reconciles. It tells the cache.
        owns_status: asked whether the reconciles keep the primary's status. While they do, a change of it by anybody else wakes
            its key, whatever the watch says: a status that somebody overwrote would stay wrong for ever, and so would one that
            a leader before us wrote after we had looked.

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
        limiter: Limiter | None = None,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self.name = name
        self.watches = watches
        self.options = options = options if options is not None else ControllerOptions()
        self.numbers = ControllerNumbers()
        self._clock = clock if clock is not None else SystemClock()
        self._log = (log if log is not None else structlog.get_logger()).bind(controller=name)
        order: Order[Key] = Priorities(options.ageing) if options.priorities else Fifo()
        self.queue: WorkQueue[Key] = WorkQueue(
            order=order,
            failures=limiter if limiter is not None else options.failures,
            conflicts=options.conflicts,
            max_progress=options.max_progress,
        )
        self.owns_status: Callable[[], bool] = lambda: False
        self._history = History()
        self._changes = Changes()
        self._working = False
        echoes: dict[int, Echo] = {}
        self._settler = Settler(
            name,
            self.queue,
            self.numbers,
            self._log,
            lambda error: self._sources.heals(error.kind),
            echoes=echoes,
            recover=options.recover_panic,
        )
        self._workers = Workers(
            name,
            self.queue,
            self._settler,
            self._clock,
            count=options.workers,
            slice_=options.slice,
            numbers=self.numbers,
            timeout=options.timeout,
            history=self._history,
        )
        self._sources = Sources(name, watches, cache, build=self._source, changed=self._woken)
        self._own = OwnWrites(
            name,
            cache,
            self._sources.view,
            numbers=self.numbers,
            clock=self._clock,
            log=self._log,
            options=options.echo,
            echoes=echoes,
        )
        self.written: Written = self._own

    def _source(self, watch: Watch[Any], informer: Informer[Any], view: CachedView) -> Source[Any]:
        return Source(
            watch,
            informer,
            view=view,
            add=self._workers.add,
            told=self._changes.keep,
            fresh=self._fresh if watch is self.watches.primary else always if watch.mends else None,
            drifted=self._drifted if watch is self.watches.primary else None,
            debounce=self.options.debounce,
            numbers=self.numbers,
            clock=self._clock,
            log=self._log,
        )

    def _fresh(self, change: Change[Any]) -> bool:
        """Whether somebody else gave the primary a new spec, or it is going."""
        if not body_changed(change):
            return False
        return change.new is None or not self._ours(change.new)

    def _drifted(self, change: Change[Any]) -> bool:
        """Whether somebody else changed the status that the reconciles keep."""
        old, new = change.old, change.new
        if old is None or new is None or not self.owns_status() or self._ours(new):
            return False
        return bool(old.section("status") != new.section("status"))

    def _ours(self, obj: Object[Any, Any]) -> bool:
        return self._own.own(str(obj.kind), obj.key, obj.metadata.resource_version)

    # -- what others ask

    @property
    def view(self) -> View:
        """Reads of everything that the controller watches."""
        return self._sources.view

    @property
    def sources(self) -> dict[str, SourceState]:
        """The state of every source, by kind."""
        return self._sources.states

    @property
    def ready(self) -> bool:
        """Whether it works or could: all initial objects were mapped, and every source can be read."""
        return not self.reasons

    @property
    def reasons(self) -> dict[str, str]:
        """Why it is not ready: for each source that is missing, what is wrong and what mends it.

        A controller that warms up only when it leads has nothing to be ready for before.
        """
        reasons = self._sources.unready
        if not reasons and not self._sources.running:
            return {str(self.watches.primary.kind): "syncing: not started"} if self.options.warm_up else {}
        return reasons or dict.fromkeys(self._sources.unsettled, "syncing: the initial objects are being mapped")

    async def synced(self) -> None:
        """Returns when all initial objects were mapped. `warm_up`, `work` or `run` must be running, or begin to."""
        await self._sources.settled()

    def wake(self, key: Key, cause: Cause, *, priority: int = NORMAL) -> None:
        """Let the key run, for a reason that no source knows. May be called before the controller runs."""
        self._workers.add(key, cause, priority)

    def last_run(self, key: Key) -> LastRun | None:
        """Why the key last ran, and what came of it; `None` if it never did, or too long ago."""
        entry = self._history.last(key)
        if entry is None:
            return None
        return last_run(entry, self.name, self._changes, self._clock)

    # -- life

    def watch(self, watch: Watch[Any], *indexes: Any) -> SourceHandle:
        """Watch something else, from now on and until the handle is closed.

        Raises:
            ValueError: the kind is watched already with another selector or projection, or an index cannot be kept.
            RuntimeError: the controller or the cache has ended.
        """
        return self._sources.add(watch, indexes)

    async def run(self, reconcile: Reconcile) -> None:
        """Watch and work until cancelled. Gives the informers back at the end."""
        try:
            await self.work(reconcile)
        finally:
            self.close()

    async def warm_up(self) -> None:
        """Watch until cancelled, so that `work` can begin at once when it may."""
        await self._sources.run()

    async def work(self, reconcile: Reconcile) -> None:
        """Reconcile until cancelled; no key is taken after that. Whoever warmed it up must go on doing so."""
        async with asyncio.TaskGroup() as tasks:
            watching = None
            if not self._sources.running:
                watching = tasks.create_task(self._sources.run(), name=f"controller {self.name}: sources")
            await self._sources.settled()
            self._working = True
            await self._workers.run(reconcile)
            if watching is not None:
                watching.cancel()

    def close(self) -> None:
        """Give the informers back. Idempotent; a controller that was never run has to be closed too."""
        self._sources.close()

    async def _woken(self, cause: Cause) -> None:
        """Every primary that is known, and every key that waits for a source, has a reason to run.

        Also before its back-off is over: what it failed for may be what has come.
        """
        if not self._working:
            return
        pace = Pace(self._clock, SLICE)
        for key, priority in self._settler.unpark().items():
            self._workers.add(key, cause, priority=priority)
            if pace.over:
                await pace.breathe()
        informer = self._sources.primary.shared
        if not informer.readable:  # its primaries come with its initial objects, when it can be read again
            return
        present = informer.subscribe()
        try:
            while changes := present.take():
                for change in changes:
                    self._workers.add(change.key, cause, priority=LOW, fresh=True)
                    if pace.over:
                        await pace.breathe()
        finally:
            present.close()
