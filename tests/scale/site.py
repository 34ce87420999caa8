"""A cluster in this process with many graphs: the core of the embedded engine, the manager, and a data plane beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from data_plane.claim import ClaimProgram
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.program.registry import load_programs
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import component, graph
from dynamo_manager import passes
from dynamo_manager.counting import CountingEngine

LOOK = 0.05
"""Seconds between two looks."""
TIMEOUT = 600.0
"""Seconds for everything to become ready."""

THREE = (component("Frontend", "frontend"), component("decode", "decode"), component("prefill", "prefill"))
FIVE = (*THREE, component("Planner", "planner"), component("encode", "worker"))


class Site:
    """The cluster.

    Attributes:
        core: its API server.
        manager: the manager of the graph programs.
        engine: what that manager asks the server through, counted.
    """

    manager: Manager
    engine: CountingEngine

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.core = Core(clock=self._clock)
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        self.core.register(DGD)
        self._feed = self.core.watch(DGD, WatchOptions(bookmarks=False, timeout=1e9))
        self._ready: set[str] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The data plane and the manager run."""
        plane = (DeploymentProgram(), ReplicaSetProgram(), PodProgram(), ClaimProgram())
        options = ManagerOptions(garbage=False, stall_threshold=0)  # the collector is the other manager's to look after
        async with self._managed(MemoryEngine(self.core), options, *plane), self.managed():
            yield

    @asynccontextmanager
    async def managed(self) -> AsyncIterator[None]:
        """The manager runs."""
        self.engine = CountingEngine(MemoryEngine(self.core))
        programs = (loaded.program for loaded in load_programs())
        async with self._managed(self.engine, ManagerOptions(stall_threshold=0), *programs) as self.manager:
            yield

    @asynccontextmanager
    async def _managed(self, engine: Any, options: ManagerOptions, *programs: Any) -> AsyncIterator[Manager]:
        for program in programs:
            for watch in program.watches.all:
                if not watch.optional:
                    self.core.register(watch.kind)
        async with Manager(engine, programs=programs, clock=self._clock, options=options) as manager:
            task = asyncio.create_task(manager.run())
            try:
                yield manager
            finally:
                manager.stop()
                await task

    def create(self, number: int, *components: dict[str, Any]) -> None:
        """So many graphs of those components."""
        for at in range(number):
            self.core.create(DGD, "ns", msgspec.json.encode(graph(*components, name=f"g{at}").content()))

    def ready(self) -> int:
        """How many graphs are successful, as far as they have told."""
        for event in self._feed.take():
            told = DGD.decode(event.object)
            if told.status.state == "successful":
                self._ready.add(told.metadata.name)
            else:
                self._ready.discard(told.metadata.name)
        return len(self._ready)

    async def converged(self, number: int) -> float:
        """Seconds until so many graphs are successful. The manager has come to rest when this returns."""
        begun = time.perf_counter()
        async with asyncio.timeout(TIMEOUT):
            while self.ready() < number:  # noqa: ASYNC110  (as a user looks)
                await asyncio.sleep(LOOK)
        took = time.perf_counter() - begun
        await self.rests()
        return took

    async def rests(self) -> None:
        """Return when the manager has come to rest."""
        await self.manager.synced()
        await passes.settled(self.manager.controllers)

    def reconciles(self) -> int:
        """How many reconciles of the manager have ended so far."""
        return passes.reconciles(self.manager.controllers)

    async def pass_over(self, times: int) -> int:
        """Forced passes over everything; the number of reconciles."""
        return await passes.force(self.manager.controllers, passes=times)
