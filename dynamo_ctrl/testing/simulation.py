"""`Simulation`: real managers against one server in virtual time, with everything that can befall them.

    async with Simulation(lambda: [WidgetProgram()], kinds=[WIDGET]) as world:
        one, two = world.start("one"), world.start("two")
        world.core.create(...)
        one.crash()
        await world.rest()
        assert world.faults() == []

Contract:

- A replica is a process of its own: it can be frozen, thawed, crashed (nothing of it happens any more, and nobody is told) and
  stopped at any step. What it had sent is on its way all the same.
- All managers campaign for one lease, so one of them works. `rest` returns when nothing is left to be done, and fails if that
  does not come within `PATIENCE`; `faults` says what does not hold then.
- Nothing depends on real time. The same arguments, calls and seeds give the same run. It needs a `ProcessLoop`.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from random import Random
from types import TracebackType
from typing import Final, Self

import msgspec

from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.port import AnyKind
from dynamo_ctrl.manager.errors import ManagerError
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.program import Defines
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.testing.invariants import cache_faults, work_faults
from dynamo_ctrl.testing.processes import ProcessLoop, in_process
from dynamo_ctrl.testing.server import Arrival, Server
from dynamo_ctrl.testing.virtual_loop import LoopClock
from dynamo_ctrl.testing.weather import Weather
from dynamo_ctrl.testing.wire import Wire

PATIENCE: Final = 2000.0
"""Seconds that a world may take to come to rest when everything is well again: the longest wait of a key is a thousand."""

QUIET: Final = 30.0
"""Seconds without a write after which it rests."""

LOOK_EVERY: Final = 1.0

PASSES: Final = 10
"""How often every key is run again to see that nothing is written."""

RESTART_AFTER: Final = 5.0
"""Seconds until a replica that ended is started anew, where somebody keeps it."""

LEASE_KEY: Final = Key("default", "simulation")

Programs = Callable[[], Sequence[object]]


class NotAtRest(AssertionError):
    """The world did not come to rest; the text says what is left to be done."""


class Replica:
    """One manager.

    Attributes:
        name: of its process, and its identity in elections.
        wire: its connection.
        manager: it, once its process has made it.
        task: runs it; its result is the error that ended the manager, or `None`.
    """

    def __init__(self, name: str, wire: Wire, loop: ProcessLoop, make: Callable[[Replica], Manager]) -> None:
        self.name = name
        self.wire = wire
        self.manager: Manager | None = None
        self.crashed = False
        self._loop = loop
        self._make = make
        self.task: asyncio.Task[Exception | None] = in_process(name, self._live())

    async def _live(self) -> Exception | None:
        try:
            async with self._make(self) as self.manager:
                await self.manager.run()
        except ManagerError as error:
            return error
        return None

    @property
    def running(self) -> bool:
        """Whether it lives."""
        return not self.crashed and not self.task.done()

    @property
    def leading(self) -> bool:
        """Whether it lives, is awake, and leads."""
        awake = self.running and not self._loop.frozen(self.name)
        return awake and self.manager is not None and self.manager.leading

    @property
    def steps(self) -> int:
        """The steps of its process so far."""
        return self._loop.steps[self.name]

    def at_step(self, number: int, happens: Callable[[], None]) -> None:
        """Call `happens` right before that step of its process."""
        self._loop.at_step(self.name, number, happens)

    def freeze(self) -> None:
        """It stands still."""
        self._loop.freeze(self.name)

    def thaw(self) -> None:
        """It goes on; what has crashed does not."""
        if not self.crashed:
            self._loop.thaw(self.name)

    def bury(self) -> None:
        """Take it apart, the dead as well. Nobody outside can notice."""
        self.wire.silence()
        self._loop.thaw(self.name)
        self.task.cancel()

    def crash(self) -> None:
        """It is dead from this moment on."""
        self.crashed = True
        self.freeze()

    def cancel(self) -> None:
        """Its task is cancelled, as by a signal that nobody handles."""
        self.task.cancel()

    async def stop(self) -> Exception | None:
        """Stop it in good order; returns the error that ended it, if there was one."""
        if self.manager is not None:
            self.manager.stop()
        else:
            self.cancel()
        return await self.ended()

    async def ended(self) -> Exception | None:
        """Returns when its task has ended, by cancellation too; see `task`."""
        await asyncio.wait([self.task])
        return None if self.task.cancelled() else self.task.result()


class Simulation:
    """See the module.

    Args:
        programs: makes the programs of each manager.
        kinds: custom kinds that the server serves without a definition. Programs' own definitions are installed.
        seed: of everything that draws.
        options: of each manager; the identity is the replica's name.
        weather: makes the weather of each replica.
        beside: makes programs that other processes would run: a data plane. They work undisturbed.
        waits: whether a key that waits for its time is a reason not to rest; not where programs ask to be run later for ever.

    Attributes:
        core: the state of the server.
        server: what befalls it, and who wrote.
        replicas: all that were started, the dead included.
        ends: the errors that ended replicas which were kept.
    """

    def __init__(
        self,
        programs: Programs,
        *,
        kinds: Iterable[AnyKind] = (),
        seed: int = 0,
        options: ManagerOptions | None = None,
        weather: Callable[[str], Weather] = lambda name: Weather(),
        beside: Programs | None = None,
        waits: bool = True,
    ) -> None:
        self._loop = _loop()
        self._programs = programs
        self._options = options if options is not None else ManagerOptions()
        self._weather = weather
        self._random = Random(seed)  # noqa: S311  (a simulation, not a secret)
        self._beside = beside
        self._waits = waits
        self.core = Core(clock=LoopClock(), random=Random(seed))  # noqa: S311
        self.server = Server(self.core, lease=LEASE_KEY)
        self.replicas: list[Replica] = []
        self.ends: list[Exception] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._plane: list[Replica] = []
        self._collects = False
        for kind in kinds:
            self.core.register(kind)
        made = [*programs(), *(beside() if beside is not None else ())]
        documents = {
            document["metadata"]["name"]: document
            for program in made
            if isinstance(program, Defines)
            for document in program.definitions()
        }
        for document in documents.values():
            self.core.create(CUSTOM_RESOURCE_DEFINITION, "", msgspec.json.encode(document))

    async def __aenter__(self) -> Self:
        self._collects = gc.isenabled()
        gc.disable()  # it would end what dead processes left open, at moments that no seed decides
        if self._beside is not None:
            self._plane.append(Replica("beside", Wire(self.server, "beside"), self._loop, self._others))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        if self._collects:
            gc.enable()
        everybody = [*self.replicas, *self._plane]
        for replica in everybody:
            replica.bury()
        if tasks := [*self._keepers, *(replica.task for replica in everybody)]:
            await asyncio.wait(tasks)
        if self.server.streams and error is None:
            raise AssertionError(f"{self.server.streams} watches are left open")

    # -- replicas

    def start(self, name: str) -> Replica:
        """Another manager. The name must be new: an identity is never used twice."""
        if name in {replica.name for replica in self.replicas}:
            raise ValueError(f"there was a replica {name!r} already")
        replica = Replica(name, Wire(self.server, name, self._weather(name)), self._loop, self._manager)
        self.replicas.append(replica)
        return replica

    def keep(self, name: str) -> Replica:
        """A manager that is started anew, under another name, whenever an error ends it."""
        replica = self.start(name)
        self._keepers.append(asyncio.create_task(self._keep(replica), name=f"keeper of {name}"))
        return replica

    async def _keep(self, replica: Replica) -> None:
        name, number = replica.name, 1
        while (error := await replica.ended()) is not None:
            self.ends.append(error)
            await asyncio.sleep(RESTART_AFTER)
            number += 1
            replica = self.start(f"{name}.{number}")

    def _manager(self, replica: Replica) -> Manager:
        election = replace(
            self._options.leader_election,
            enabled=True,
            namespace=LEASE_KEY.namespace,
            name=LEASE_KEY.name,
            identity=replica.name,
            renewal="loop",
        )
        options = replace(self._options, garbage=False, health_address="", metrics_address="", leader_election=election)
        return Manager(
            replica.wire,
            programs=self._programs(),
            options=options,
            clock=LoopClock(),
            random=Random(self._random.getrandbits(32)),  # noqa: S311
        )

    def _others(self, replica: Replica) -> Manager:
        assert self._beside is not None  # noqa: S101
        options = ManagerOptions(name="beside", garbage=False, leader_election=LeaderElectionOptions())
        return Manager(
            replica.wire,
            programs=self._beside(),
            options=options,
            clock=LoopClock(),
            random=Random(0),  # noqa: S311
        )

    @property
    def leader(self) -> Replica | None:
        """Who leads; `None` if nobody does."""
        return next((replica for replica in self.replicas if replica.leading), None)

    # -- rest

    def calm(self) -> None:
        """Everything is well from now on."""
        self.server.heal()
        for replica in self.replicas:
            replica.wire.weather = Weather()
            replica.wire.restore()
            replica.thaw()

    async def rest(self, *, patience: float = PATIENCE) -> None:
        """Returns when somebody leads, everybody sees what the server has, and nobody has written for a while.

        Raises:
            NotAtRest: that does not come.
        """
        loop = self._loop
        deadline = loop.time() + patience
        while True:
            await asyncio.sleep(LOOK_EVERY)  # who was told to stop is about to
            quiet = loop.time() - self._last_write() >= QUIET and not self._work()
            if quiet and not self.unrest():
                return
            if loop.time() > deadline:
                last = "\n".join(str(arrival) for arrival in self.writes()[-5:])
                raise NotAtRest("\n".join([*self.unrest(), f"the last writes:\n{last}"]))

    def unrest(self) -> list[str]:
        """What is left to be done, or to be seen."""
        found = self._work()
        for replica in self._watching():
            if replica.manager is not None:
                found += [f"{replica.name}: {fault}" for fault in cache_faults(replica.manager, self.core)]
        return found

    def _work(self) -> list[str]:
        leader = self.leader
        if leader is None or leader.manager is None:
            return ["nobody leads"]
        at_work = [leader.manager, *(replica.manager for replica in self._plane if replica.manager is not None)]
        return [
            fault
            for manager in at_work
            for controller in manager.controllers
            for fault in work_faults(controller, waits=self._waits)
        ]

    def _watching(self) -> list[Replica]:
        return [replica for replica in (*self.replicas, *self._plane) if replica.running]

    def writes(self) -> list[Arrival]:
        """The writes that changed something, those to Leases left out."""
        return [arrival for arrival in self.server.arrivals if arrival.moved and arrival.asked.kind != LEASE]

    def _last_write(self) -> float:
        return next((a.at for a in reversed(self.server.arrivals) if a.moved and a.asked.kind != LEASE), 0.0)

    async def passes(self, number: int = PASSES) -> list[Arrival]:
        """Run every key of every controller of the leader so many times; the writes that came of it, refused ones included."""
        leader = self.leader
        assert leader is not None, "at rest somebody leads"  # noqa: S101
        assert leader.manager is not None  # noqa: S101
        before = len(self.server.arrivals)
        for _ in range(number):
            for controller in leader.manager.controllers:
                kind = controller.watches.primary.kind
                for obj in controller.view.list(kind):
                    controller.wake(obj.key, Cause("simulation", "looked at again"))
            await asyncio.sleep(LOOK_EVERY)
        return [arrival for arrival in self.server.arrivals[before:] if arrival.asked.kind != LEASE]

    # -- what must hold

    def faults(self) -> list[str]:
        """What does not hold of this world, which is at rest."""
        found = self.unrest()
        found += [f"written by who did not lead: {arrival}" for arrival in self.stolen()]
        for replica in self._watching():
            if replica.manager is not None:
                for controller in replica.manager.controllers:
                    if controller.numbers.panics:
                        found.append(f"{replica.name}: {controller.numbers.panics} panics of {controller.name}")
        return found

    def stolen(self) -> list[Arrival]:
        """Writes that arrived while somebody else held the lease, or nobody did.

        What its sender had given up is left out: nobody can call it back.
        """
        names = {replica.name for replica in self.replicas}
        return [
            arrival
            for arrival in self.server.arrivals
            if arrival.who in names
            and arrival.asked.kind != LEASE
            and arrival.awaited
            and arrival.holder != arrival.who
        ]


def _loop() -> ProcessLoop:
    loop = asyncio.get_running_loop()
    if not isinstance(loop, ProcessLoop):
        raise RuntimeError("a simulation needs a ProcessLoop: run_on(ProcessLoop(seed), main)")
    return loop
