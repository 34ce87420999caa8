"""`Manager`: one engine, one cache, the controllers of all programs, and everything that runs beside them.

    async with Manager(engine="kubernetes") as manager:
        manager.add(WidgetProgram())
        await manager.run()

Contract (R 3.9):

- Start: event recorder, HTTP servers, webhooks, caches, others, warm-up, then what only a leader may do (the work of
  controllers): at once, or when the lease is won. Each group is ready before the next begins.
- Stop, after `stop`, cancellation or the first error: the same groups backwards, then the event recorder, then the lease is given
  back, all inside one budget. Whatever is left over then is named, with the place where it hangs. Otherwise no task is left.
- With leader election nothing is written through `engine` unless we lead, and writes end before the lease does. A lost lease ends
  `run` with `LeadershipLost`, and nothing is waited for.
- The first error that a runnable raises ends `run`, which raises it. Cancellation is not an error, and is passed on.
- `add` works before, during and after the start; once the manager stops it raises `Stopping`.
- No state is shared with other managers in the process, but for the garbage collector's settings (see `ManagerOptions.garbage`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, ExitStack
from random import Random
from types import TracebackType
from typing import Any, Self

import structlog
from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.apply import apply
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.manager import garbage, metrics
from dynamo_ctrl.manager.connection import Connection
from dynamo_ctrl.manager.debug import DebugPages, is_loopback
from dynamo_ctrl.manager.elector import THREAD, OpenEngine
from dynamo_ctrl.manager.electorate import Electorate, became_leader
from dynamo_ctrl.manager.errors import LeadershipLost, ManagerError, Stopping, cause, raise_failures
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.groups import Order, Runnable
from dynamo_ctrl.manager.health import Checks
from dynamo_ctrl.manager.hiring import Hiring, Opened
from dynamo_ctrl.manager.http import Handler
from dynamo_ctrl.manager.life import Life, Phase
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.pages import Pages, Where
from dynamo_ctrl.manager.request_numbers import RequestNumbers
from dynamo_ctrl.manager.roster import Roster
from dynamo_ctrl.manager.stages import GRACE, Stages
from dynamo_ctrl.manager.sync import caches_known
from dynamo_ctrl.manager.watchdog import Watchdog
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.program.definition import custom_resources


class Manager:
    """See the module's contract. An asynchronous context manager: inside, the engine is open.

    Args:
        engine: the name of an installed engine, which is opened and closed here, or an engine, which stays open.
        programs: the first programs; `add` takes more.
        options: see `ManagerOptions`.
        config: how a named engine reaches its cluster.
        clock: the time of everything in the manager.
        random: spreads reconnects and retries, and makes the identity in leader elections: never the same for two replicas.
        log: a structlog logger; the default one when `None`. Nothing here configures logging.
        requests: where the requests of the engine are counted.
        lease_engine: opens an engine for the leader election alone, on its own thread; needed there if `engine` is no name. The
            clock is then read by both threads.

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
        requests: RequestNumbers | None = None,
        lease_engine: OpenEngine | None = None,
    ) -> None:
        self.options = options if options is not None else ManagerOptions()
        self._pages = Pages(self.options.health_address, self.options.metrics_address)
        self._clock: Clock = clock if clock is not None else config.clock if config is not None else SystemClock()
        self._log: FilteringBoundLogger = log if log is not None else structlog.get_logger()
        self._random = random
        if requests is None:
            requests = RequestNumbers(histograms=self.options.request_histograms)
        self.requests = requests
        threshold = self.options.stall_threshold if isinstance(self._clock, SystemClock) else 0.0
        self._watchdog = Watchdog(threshold, self._log) if threshold else None
        self._life = Life(self._log)
        self._connection = Connection(
            engine,
            config if config is not None else EngineConfig(clock=self._clock),
            self.requests,
            lease_engine,
        )
        self._electorate = Electorate(
            self.options.leader_election,
            clock=self._clock,
            random=random,
            opened=self._connection.for_leases,
            lost=self._life.failed,
            failed=self._life.failed,
        )
        self._inside: Opened | None = None
        self._exits = AsyncExitStack()
        self._stages = Stages(self._electorate.leases, self._life.failed)
        self._started = asyncio.Event()
        self._led = asyncio.Event()
        self.healthz = Checks("healthz")
        self.healthz.add_source(self._electorate.checks)
        self.readyz = Checks("readyz")
        self.readyz.add_source(self._readiness)
        self._debug = DebugPages(
            informers=self._informers,
            clock=self._clock,
            served=self.options.debug or is_loopback(self._pages.host("health")),
        )
        hiring = Hiring(
            self.options,
            opened=self._opened,
            electorate=self._electorate,
            stages=self._stages,
            debug=self._debug,
            clock=self._clock,
            log=self._log,
        )
        self._roster = Roster(hiring.hire, hiring.launch)
        self.registry = metrics.new_registry(
            metrics.ManagerCollector(
                controllers=lambda: self.controllers,
                informers=self._informers,
                requests=self.requests,
                recorder=lambda: self._inside.recorder if self._inside is not None else None,
                clock=self._clock,
                standings=self._electorate.standings,
                watchdog=self._watchdog,
            )
        )
        self.serve("healthz", self.healthz.respond, on="health")
        self.serve("readyz", self.readyz.respond, on="health")
        self.serve("debug", self._debug.respond, on="health")
        self.serve("metrics", lambda path, query: metrics.respond(self.registry))
        for program in programs:
            self.add(program)

    # -- the context

    async def __aenter__(self) -> Self:
        self._life.open()
        engine = await self._exits.enter_async_context(self._connection.opened())
        cache = Cache(engine, clock=self._clock, random=self._random, options=self.options.cache)
        recorder = EventRecorder(
            self._electorate.jointly_guarded(engine),
            self._clock,
            controller=self.options.name,
            instance=socket.gethostname(),
            capacity=self.options.event_capacity,
            random=self._random,
            log=self._log,
        )
        self._inside = Opened(engine, cache, recorder)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._life.phase in (Phase.RUNNING, Phase.STOPPING):
                self.stop()  # `run` belongs to another task, which gets its errors
                await self._life.stopped.wait()
        finally:
            self._life.phase = Phase.STOPPED
            await self._exits.aclose()

    # -- what others ask

    @property
    def engine(self) -> Engine:
        """The open engine; with leader election, it writes only while we lead. Raises `ManagerError` outside of the context."""
        return self._electorate.guarded(self.unguarded_engine, self._electorate.leases[0])

    @property
    def unguarded_engine(self) -> Engine:
        """The open engine as it is, for what every replica may write. Raises `ManagerError` outside of the context."""
        return self._opened().engine

    @property
    def cache(self) -> Cache:
        """The cache that all controllers share. Raises `ManagerError` outside of the context."""
        return self._opened().cache

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """The controllers, in the order in which they were defined; none before the start."""
        return self._roster.controllers

    @property
    def reasons(self) -> dict[str, str]:
        """Why the manager is not ready, by what is missing: `controller/kind`. Empty when it is ready."""
        return {name: reason for name, reason in self._readiness() if reason is not None}

    @property
    def leading(self) -> bool:
        """Whether this manager leads; always without leader election."""
        return self._electorate.leading()

    async def elected(self) -> None:
        """Returns when this manager may lead; without leader election when it has started. It may take for ever: bound it.

        Raises:
            Stopping: the manager stops before.
        """
        await self._life.unless_stopped(self._led.wait(), "the manager stops; it was not elected")

    async def synced(self) -> None:
        """Returns when every controller has seen its initial objects. It may take for ever: bound it.

        Raises:
            Stopping: the manager stops before.
        """
        await self._life.unless_stopped(self._all_synced(), "the manager stops; not everything was synced")

    def _readiness(self) -> Iterable[tuple[str, str | None]]:
        phase = self._life.phase
        started = phase is Phase.RUNNING and self._started.is_set()
        doing = "starting" if phase is Phase.RUNNING else phase.value
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
        if self._life.over:
            raise Stopping(f"the program {getattr(program, 'name', program)!r} cannot be added: the manager stops")
        self._roster.add(program)

    async def install(self) -> None:
        """Make the server serve the kinds that the programs added so far bring (`definitions`), and wait until it does.

        For the embedded engine, which starts with built-in kinds only, and for clusters whose definitions are the process's to
        keep. Asked of every replica alike, whoever leads.

        Raises:
            ManagerError: outside of the context.
            NotEstablished, EngineError: see `dynamo_ctrl.apply`.
        """
        documents = custom_resources(self._roster.programs)
        await apply(self.unguarded_engine, *[CUSTOM_RESOURCE_DEFINITION.object(document) for document in documents])

    def add_runnable(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        *,
        group: Order = Order.LEADER,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Add something that runs as long as the manager does, or as long as it leads. See `Order`. Raises `Stopping`."""
        self._stages.add(Runnable(name=name, run=run, ready=ready), group)

    def serve(self, route: str, handler: Handler, *, on: Where = "metrics") -> None:
        """Answer `/route` and everything below, beside the metrics or beside the health checks.

        Raises:
            ValueError: the route is taken there.
            AlreadyStarted: the servers run.
        """
        self._pages.add(on, route, handler)

    # -- life

    def stop(self) -> None:
        """Ask `run` to stop everything and return. Idempotent; may be called before the start."""
        self._life.stop_wanted.set()

    async def run(self) -> None:
        """Start everything, and run until `stop`, cancellation or the first error; then stop everything.

        Raises:
            AlreadyStarted: it ran before. ManagerError: outside of the context.
            LeadershipLost: the lease was lost; what had not ended yet still runs, so exit hard then as well.
            StopOverrun: something did not stop; it still runs, so a process can only exit hard (`os._exit`) after this.
            ExceptionGroup: an error, and a stop that overran on top of it.
            Exception: the first error of a runnable.
        """
        with ExitStack() as process:
            if self.options.garbage:
                process.enter_context(garbage.relaxed())
            hanging = await self._life.run(self._start, self._stop)
        raise_failures(self._life.error, hanging, self.options.stop_budget)

    async def _start(self) -> None:
        try:
            self._opened().recorder.start(self._life.failed)
            self._roster.open()
            for server in self._pages.servers():
                self.add_runnable(f"http {server.address}", server.run, group=Order.HTTP, ready=server.ready)
            if self._watchdog is not None:
                self.add_runnable("loop watchdog", self._watchdog.run, group=Order.HTTP)
            self.add_runnable("cache", self.cache.run, group=Order.CACHES, ready=self._caches_known)
            if self.options.garbage:
                self.add_runnable("garbage collector", self._freeze, group=Order.OTHERS)
            await self._stages.start()
            self._log.info("manager started", engine=self.engine.name, controllers=[c.name for c in self.controllers])
            if self.options.leader_election.enabled:
                self._started.set()
                self._electorate.start(self.unguarded_engine)
            async with asyncio.TaskGroup() as tasks:
                for lease in self._electorate.leases:
                    tasks.create_task(self._lead(lease), name=f"manager: lead {lease}".strip())
            self._started.set()
        except Exception as error:  # noqa: BLE001  (handed to `run`, which stops what has been started)
            if not (isinstance(error, Stopping) and self._life.over):
                self._life.failed(cause(error))

    async def _lead(self, lease: str) -> None:
        await self._electorate.elected(lease)
        if (key := self._electorate.key(lease)) is not None:
            self._log.info("leading", lease=str(key), identity=self._electorate.identity)
            self._opened().recorder.event(*became_leader(key, self._electorate.identity))
        if lease == self._electorate.leases[0]:
            self._led.set()
        await self._stages.lead(lease)

    async def _stop(self) -> tuple[str, ...]:
        """Stop everything. Returns what hangs, and where."""
        loop = asyncio.get_running_loop()
        lost = isinstance(self._life.error, LeadershipLost)
        budget = 0.0 if lost else self.options.stop_budget
        deadline = loop.time() + budget
        self._electorate.resign()
        hanging = await self._stages.stop(budget)
        self._roster.close()
        await self._opened().recorder.end(min(self.options.event_flush, max(deadline - loop.time(), GRACE)))
        left = max(deadline - loop.time(), GRACE)
        if not await self._electorate.end(release=not (lost or hanging), timeout=left):
            hanging += (f"thread {THREAD}",)
        if hanging:
            self._log.error("the manager did not stop in time", hanging=hanging)
        return hanging

    def _opened(self) -> Opened:
        if self._inside is None:
            raise ManagerError("the manager is not open; use it inside `async with Manager(...) as manager:`")
        return self._inside

    def _informers(self) -> Iterable[SharedInformer[Any]]:
        return self._inside.cache.informers if self._inside is not None else ()

    async def _caches_known(self) -> None:
        if syncing := await caches_known(self.cache, self.options.sync_timeout):
            self._log.warning("the start goes on without some caches", syncing=syncing)

    async def _freeze(self) -> None:
        await self._all_synced()
        garbage.freeze()
