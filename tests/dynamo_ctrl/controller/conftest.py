"""What the tests of whole controllers share: a memory engine with faults, its cache, and controllers of config maps on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.testing import FaultyEngine, LoopClock

Reconcile = Callable[[Key], Answer | Awaitable[Answer]]


class Arena:
    """A cluster, a cache that runs, and what the reconciles of its controllers saw.

    Attributes:
        runs: the names of the keys that ran, in order.
        entries: the entries that they ran for.
        answer: what every run answers, unless a test gives a reconcile of its own.
    """

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.core = Core(clock=self.clock)
        self.engine = FaultyEngine(MemoryEngine(self.core))
        self.cache = Cache(self.engine, clock=self.clock, random=Random(0))
        self.lines = LogCapture()
        self.runs: list[str] = []
        self.entries: list[Entry[Key]] = []
        self.answer: Answer = DONE

    def put(self, *names: str, kind: Kind[Any] = CONFIG_MAP, **metadata: object) -> None:
        for name in names:
            body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}}
            self.core.create(kind, "default", msgspec.json.encode(body))

    def edit(self, name: str, kind: Kind[Any] = CONFIG_MAP, **content: object) -> bytes:
        return self.core.patch(kind, Key("default", name), Patch.merge(content))

    def controller(self, watches: Watches[Any] | None = None, name: str = "test", **options: Any) -> Controller:
        log = structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger)
        return Controller(
            name=name,
            watches=watches if watches is not None else watching(CONFIG_MAP),
            cache=self.cache,
            clock=self.clock,
            options=ControllerOptions(**options),
            log=log,
        )

    def reconcile(self, controller: Controller) -> Reconcile:
        def reconcile(key: Key) -> Answer:
            self.entries += [entry for entry in controller.queue.running() if entry.key == key]
            self.runs.append(key.name)
            return self.answer

        return reconcile

    def took(self) -> list[str]:
        runs, self.runs = self.runs, []
        self.entries.clear()
        return runs

    @asynccontextmanager
    async def running(self, controller: Controller, reconcile: Reconcile | None = None) -> AsyncIterator[Controller]:
        """The cache and the controller, until the block ends."""
        async with self.caching():
            task = asyncio.create_task(controller.run(reconcile or self.reconcile(controller)))
            try:
                await asyncio.sleep(0.01)
                yield controller
            finally:
                task.cancel()
                await asyncio.wait([task])

    @asynccontextmanager
    async def caching(self) -> AsyncIterator[None]:
        """The cache alone."""
        task = asyncio.create_task(self.cache.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
def new_arena() -> Callable[[], Arena]:
    """Makes a fresh one; inside of a running loop, whose time it takes."""
    return Arena
