"""`Manager`: one engine, one cache, the controllers of all programs, and everything that runs beside them.

    async with Manager(engine="kubernetes") as manager:
        manager.add(WidgetProgram())
        await manager.run()

Contract (R 3.9):

- Start: event recorder, HTTP servers, webhooks, caches, others, then what only a leader may do (controllers). Each group is
  ready before the next begins.
- Stop, after `stop`, cancellation or the first error: the same groups backwards, then the event recorder, all inside one budget.
  Whatever is left over then is named, with the place where it hangs. Otherwise no task is left.
- The first error that a runnable raises ends `run`, which raises it. Cancellation is not an error, and is passed on.
- `add` works before, during and after the start; once the manager stops it raises `Stopping`.
- No state is shared with other managers in the process, but for the garbage collector's settings (see `ManagerOptions.garbage`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from enum import Enum
from random import Random
from types import TracebackType
from typing import Self, TypeVar

import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.controller.answer import Reconcile
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager import garbage, metrics
from dynamo_ctrl.manager.errors import AlreadyStarted, ManagerError, StopOverrun, Stopping
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.groups import Group, Order, Runnable
from dynamo_ctrl.manager.hang import describe
from dynamo_ctrl.manager.health import Checks
from dynamo_ctrl.manager.http import Handler, parse_address, servers
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.roster import Roster
from dynamo_ctrl.manager.sync import caches_known
from dynamo_ctrl.program.definition import Definition
from dynamo_ctrl.program.outer import Outer

T = TypeVar("T")

GRACE = 0.1
"""Seconds that a group gets to stop even if those before it used up the budget: it may be innocent."""


class Phase(Enum):
    """Where a manager is in its life. It goes forward only."""

    NEW = "new"
    OPEN = "open"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Manager:
    """See the module's contract. An asynchronous context manager: inside, the engine is open.

    Args:
        engine: the name of an installed engine, which is opened and closed here, or an engine, which stays open.
        programs: the first programs; `add` takes more.
        options: see `ManagerOptions`.
        config: how a named engine reaches its cluster.
        clock: the time of everything in the manager.
        random: spreads the cache's reconnects.
        log: a structlog logger; the default one when `None`. Nothing here configures logging.
        requests: where the requests of the engine are counted.

    Attributes:
        healthz, readyz: the health checks; more may be added at any time.
        requests: counts the requests of an engine that is opened here; who opens one himself makes the counter first, and hands
            its `count` to the engine as the hook and the counter to the manager.
        registry: the metrics; more may be registered at any time.
    """

    def __init__(
        self,
        engine: str | Engine = "memory",
        *,
        programs: Iterable[object] = (),
        options: ManagerOptions | None = None,
        config: EngineConfig | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        log: FilteringBoundLogger | None = None,
        requests: metrics.RequestNumbers | None = None,
    ) -> None:
        self.options = options if options is not None else ManagerOptions()
        for option in ("health_address", "metrics_address"):
            parse_address(option, getattr(self.options, option))
        self._clock: Clock = clock if clock is not None else config.clock if config is not None else SystemClock()
        self._config = config if config is not None else EngineConfig(clock=self._clock)
        self._random = random
        self._log: FilteringBoundLogger = log if log is not None else structlog.get_logger()
        self._asked_engine = engine
        self._engine: Engine | None = None
        self._cache: Cache | None = None
        self._recorder: EventRecorder | None = None
        self._open = AsyncExitStack()
        self._phase = Phase.NEW
        self._groups = {order: Group(order, self._failed) for order in Order}
        self._roster = Roster(self._hire, self._groups[Order.LEADER].add)
        self._error: Exception | None = None
        self._stop_wanted = asyncio.Event()
        self._started = asyncio.Event()
        self._stopped = asyncio.Event()
        self.requests = requests if requests is not None else metrics.RequestNumbers()
        self.healthz = Checks("healthz")
        self.readyz = Checks("readyz")
        self.readyz.add_source(self._readiness)
        self.registry = metrics.new_registry(
            metrics.ManagerCollector(
                controllers=lambda: self.controllers,
                informers=lambda: self._cache.informers if self._cache is not None else (),
                requests=self.requests,
                recorder=lambda: self._recorder,
                clock=self._clock,
            )
        )
        for program in programs:
            self.add(program)

    # -- the context

    async def __aenter__(self) -> Self:
        if self._phase is not Phase.NEW:
            raise AlreadyStarted("a manager can be opened once")
        self._phase = Phase.OPEN
        if isinstance(self._asked_engine, str):
            self._engine = await self._open.enter_async_context(open_engine(self._asked_engine, self._counting()))
        else:
            self._engine = self._asked_engine
        self._cache = Cache(self._engine, clock=self._clock, random=self._random, options=self.options.cache)
        self._recorder = EventRecorder(
            self._engine,
            self._clock,
            controller=self.options.name,
            instance=socket.gethostname(),
            capacity=self.options.event_capacity,
            log=self._log,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._phase in (Phase.RUNNING, Phase.STOPPING):  # `run` belongs to another task, which gets its errors
                self.stop()
                await self._stopped.wait()
        finally:
            self._phase = Phase.STOPPED
            await self._open.aclose()

    def _counting(self) -> EngineConfig:
        theirs = self._config.on_request

        def on_request(method: str, host: str, code: int, seconds: float) -> None:
            self.requests.count(method, host, code, seconds)
            if theirs is not None:
                theirs(method, host, code, seconds)

        return replace(self._config, on_request=on_request)

    # -- what others ask

    @property
    def engine(self) -> Engine:
        """The open engine. Raises `ManagerError` outside of the context."""
        return _opened(self._engine)

    @property
    def cache(self) -> Cache:
        """The cache that all controllers share. Raises `ManagerError` outside of the context."""
        return _opened(self._cache)

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """The controllers, in the order in which they were defined; none before the start."""
        return self._roster.controllers

    @property
    def reasons(self) -> dict[str, str]:
        """Why the manager is not ready, by what is missing: `controller/kind`. Empty when it is ready."""
        return {name: reason for name, reason in self._readiness() if reason is not None}

    async def synced(self) -> None:
        """Returns when every controller has seen its initial objects and works. It may take for ever: bound it.

        Raises:
            Stopping: the manager stops before.
        """
        waiter = asyncio.create_task(self._all_synced(), name="manager: synced")
        stop = asyncio.create_task(self._stop_wanted.wait(), name="manager: synced or stopped")
        try:
            await asyncio.wait([waiter, stop], return_when=asyncio.FIRST_COMPLETED)
            if not waiter.done():
                raise Stopping("the manager stops; not everything was synced")
        finally:
            waiter.cancel()
            stop.cancel()
            await asyncio.wait([waiter, stop])

    def _readiness(self) -> Iterable[tuple[str, str | None]]:
        started = self._phase is Phase.RUNNING and self._started.is_set()
        doing = "starting" if self._phase is Phase.RUNNING else self._phase.value
        yield "manager", None if started else f"the manager is {doing}"
        yield from self._roster.readiness()

    async def _all_synced(self) -> None:
        await self._started.wait()
        await self._roster.synced()

    # -- adding

    def add(self, program: object) -> None:
        """Add a program. Programs of a kind that they share (`Provides`, `Selects`) must all be there before the start.

        Raises:
            NotAProgram, DefinitionError: see `dynamo_ctrl.program.definition`.
            AlreadyStarted: it would change a controller that runs.
            Stopping: the manager stops.
        """
        if self._phase in (Phase.STOPPING, Phase.STOPPED):
            raise Stopping(f"the program {getattr(program, 'name', program)!r} cannot be added: the manager stops")
        self._roster.add(program)

    def add_runnable(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        *,
        group: Order = Order.LEADER,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Add something that runs as long as the manager does. See `Runnable` and `Order`. Raises `Stopping`."""
        self._groups[group].add(Runnable(name=name, run=run, ready=ready))

    def _hire(self, definition: Definition) -> tuple[Controller, Reconcile]:
        controller = Controller(
            name=definition.name,
            watches=definition.watches,
            cache=self.cache,
            clock=self._clock,
            options=self.options.for_controller(definition.name),
            log=self._log,
        )
        outer = Outer(
            definition,
            engine=self._writer(),
            view=controller.view,
            written=self.cache,
            recorder=_opened(self._recorder),
            clock=self._clock,
            log=self._log,
        )
        return controller, outer.reconcile

    def _writer(self) -> Engine:
        """What controllers write through. A guard that refuses writes without the lease goes around the engine here."""
        return self.engine

    # -- life

    def stop(self) -> None:
        """Ask `run` to stop everything and return. Idempotent; may be called before the start."""
        self._stop_wanted.set()

    def _failed(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        else:
            self._log.warning("a further error while the manager stops", error=repr(error))
        self.stop()

    async def run(self) -> None:
        """Start everything, and run until `stop`, cancellation or the first error; then stop everything.

        Raises:
            AlreadyStarted: it ran before. ManagerError: outside of the context.
            StopOverrun: something did not stop; it still runs, so a process can only exit hard (`os._exit`) after this.
            ExceptionGroup: an error, and a stop that overran on top of it.
            Exception: the first error of a runnable.
        """
        if self._phase is not Phase.OPEN:
            raise (ManagerError if self._phase is Phase.NEW else AlreadyStarted)(
                f"run: the manager is {self._phase.value}"
            )
        self._phase = Phase.RUNNING
        overrun: StopOverrun | None = None
        with ExitStack() as process:
            if self.options.garbage:
                process.enter_context(garbage.relaxed())
            recording = asyncio.create_task(self._record(), name="manager: events")
            starter = asyncio.create_task(self._start(), name="manager: start")
            try:
                await self._stop_wanted.wait()
            finally:
                overrun = await _unbroken(asyncio.create_task(self._stop(starter, recording), name="manager: stop"))
                if overrun is not None:
                    self._log.error("the manager did not stop in time", hanging=overrun.hanging)
        errors = [error for error in (self._error, overrun) if error is not None]
        if len(errors) > 1:
            raise ExceptionGroup("the manager failed and did not stop in time", errors)
        if errors:
            raise errors[0]

    async def _start(self) -> None:
        try:
            self._roster.open()
            for server in servers(
                ("health_address", self.options.health_address, self._health_routes()),
                ("metrics_address", self.options.metrics_address, self._metrics_routes()),
            ):
                self.add_runnable(f"http {server.address}", server.run, group=Order.HTTP, ready=server.ready)
            self.add_runnable("cache", self.cache.run, group=Order.CACHES, ready=self._caches_known)
            if self.options.garbage:
                self.add_runnable("garbage collector", self._freeze, group=Order.OTHERS)
            for group in self._groups.values():
                await group.start()
            self._started.set()
            self._log.info("manager started", engine=self.engine.name, controllers=[c.name for c in self.controllers])
        except Exception as error:  # noqa: BLE001  (handed to `run`, which stops what has been started)
            self._failed(error)

    async def _stop(self, starter: asyncio.Task[None], recording: asyncio.Task[None]) -> StopOverrun | None:
        self._phase = Phase.STOPPING
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.options.stop_budget
        starter.cancel()
        await asyncio.wait([starter], timeout=GRACE)
        hanging: list[str] = []
        for order in reversed(Order):
            left = await self._groups[order].stop(max(deadline, loop.time() + GRACE))
            hanging += [describe(task) for task in left]
        self._roster.close()
        _opened(self._recorder).close()
        flush = min(self.options.event_flush, max(deadline - loop.time(), GRACE))
        await asyncio.wait([recording], timeout=flush)
        recording.cancel()
        await asyncio.wait([recording], timeout=GRACE)
        self._phase = Phase.STOPPED
        self._stopped.set()
        return StopOverrun(self.options.stop_budget, hanging) if hanging else None

    def _health_routes(self) -> dict[str, Handler]:
        return {"healthz": self.healthz.respond, "readyz": self.readyz.respond}

    def _metrics_routes(self) -> dict[str, Handler]:
        return {"metrics": lambda path, query: metrics.respond(self.registry)}

    async def _record(self) -> None:
        try:
            await _opened(self._recorder).run()
        except Exception as error:  # noqa: BLE001  (handed on like the error of any runnable)
            self._failed(error)

    async def _caches_known(self) -> None:
        if syncing := await caches_known(self.cache, self.options.sync_timeout):
            self._log.warning("the start goes on without some caches", syncing=syncing)

    async def _freeze(self) -> None:
        await self._all_synced()
        garbage.freeze()


def _opened(value: T | None) -> T:
    if value is None:
        raise ManagerError("the manager is not open; use it inside `async with Manager(...) as manager:`")
    return value


async def _unbroken(task: asyncio.Task[T]) -> T:
    """The result of `task`, which is bounded by itself; cancellation meanwhile is passed on only when it has ended."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
