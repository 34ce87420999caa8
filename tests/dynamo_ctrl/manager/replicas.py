"""Managers that share one cluster in memory, each with a line of its own to it that can be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import msgspec
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.errors import LeadershipLost
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import PatchPrimary
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import LoopClock

ELECTION = LeaderElectionOptions(enabled=True, name="lease", namespace="default", renewal="loop")
MINE = Key("default", "mine")


def now() -> float:
    return asyncio.get_running_loop().time()


class Line(MemoryEngine):
    """A line to the shared server on which leases can be cut off; it writes down when something else was patched."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.cut = False
        self.slow = 0.0
        self.patched: list[float] = []

    async def get(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        self._check(kind)
        return await super().get(kind, *arguments, **more)

    async def update(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        self._check(kind)
        return await super().update(kind, *arguments, **more)

    async def patch(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        if self.slow:
            await asyncio.sleep(self.slow)
        answer = await super().patch(kind, *arguments, **more)
        self.patched.append(now())
        return answer

    def _check(self, kind: Kind[Any]) -> None:
        if self.cut and kind == LEASE:
            raise Unreachable("the line is cut")


class Counter:
    """Writes into every object of its kind, twice a second."""

    def __init__(self, name: str = "counter", kind: Kind[Any] = CONFIG_MAP) -> None:
        self.name = name
        self.watches = watching(kind)
        self.runs = 0
        self._next = 0.0

    def reconcile(self, request: Request[Any]) -> Result[None]:
        if request.now.timestamp() < self._next:  # woken by its own write
            return Result(requeue_after=timedelta(seconds=0.5))
        self.runs += 1
        self._next = request.now.timestamp() + 0.4
        patch = Patch.merge({"metadata": {"annotations": {"runs": str(self.runs)}}})
        step = Step(name="write", effects=(PatchPrimary(patch=patch),))
        return Result(steps=(step,), requeue_after=timedelta(seconds=0.5))


class Replica:
    """One of several managers of one cluster."""

    def __init__(self, core: Core, number: int, *programs: object, election: LeaderElectionOptions = ELECTION) -> None:
        self.line = Line(core)
        self.program = Counter()
        self.lines = LogCapture()
        options = ManagerOptions(
            garbage=False, sync_timeout=1, leader_election=replace(election, identity=f"m{number}")
        )
        self.manager = Manager(
            self.line,
            programs=programs or (self.program,),
            options=options,
            clock=LoopClock(),
            random=Random(number),
            log=structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger),
        )
        self.task: asyncio.Task[None] | None = None

    async def elected(self) -> None:
        await asyncio.wait_for(self.manager.elected(), 100)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        async with self.manager:
            self.task = asyncio.create_task(self.manager.run())
            await asyncio.sleep(0)
            try:
                yield self.task
            finally:
                self.manager.stop()
                with suppress(LeadershipLost):
                    await self.task


def cluster(**objects: Kind[Any]) -> Core:
    core = Core(clock=LoopClock())
    for name, kind in (objects or {"mine": CONFIG_MAP}).items():
        body = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": name}}
        core.create(kind, "default", msgspec.json.encode(body))
    return core


def holder(core: Core, lease: str = "lease") -> str | None:
    return LEASE.decode(core.get(LEASE, Key("default", lease))).spec.holder_identity
