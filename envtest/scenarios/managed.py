"""Tells a story to the simulated data plane in a manager of its own: concurrent controllers, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, TypeVar

from data_plane.annotations import CRASH
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodOptions, PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.engine.port import AnyKind, ListOptions, WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import NAMESPACE, POD
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch, merge
from dynamo_ctrl.testing.virtual_loop import VirtualLoop
from envtest.nodes import is_ready
from envtest.scenarios.catalogue import DEADLINE, Story
from envtest.scenarios.observed import Rest, Seen, Told
from envtest.scenarios.teller import tell

T = TypeVar("T")

WAVE: Final = timedelta(seconds=100)
"""How long Pods take to become ready. Longer than the deadline of the story about deadlines, which is not told here."""

REST: Final = 20.0
"""Seconds after which everything must be at rest: enough for every back-off after a conflict."""

STORY: Final = Key("stories", "story")


class _LoopTime:
    """The time of one loop, also between its runs."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._loop.time())

    def monotonic(self) -> float:
        return self._loop.time()


class ManagedStage:
    """One Deployment on a memory engine, with a manager that runs beside it. A context manager.

    Args:
        seed: the order in which everything runs that is ready at the same moment.
        workers: of each controller.
    """

    def __init__(self, story: Story, *, seed: int, workers: int = 2) -> None:
        self._loop = VirtualLoop(seed)
        clock = _LoopTime(self._loop)
        self._core = Core(clock=clock, random=Random(seed))
        options = ManagerOptions(controller=ControllerOptions(workers=workers), garbage=False)
        pods = PodProgram(PodOptions(ready_after=WAVE, gone_after=timedelta(0)))
        programs = (DeploymentProgram(), ReplicaSetProgram(), pods)
        self._manager = Manager(MemoryEngine(self._core), programs=programs, options=options, clock=clock)
        self._spec = merge({}, story.spec)
        self._statuses: list[Seen] = []
        self._open = ExitStack()

    def __enter__(self) -> ManagedStage:
        self._open.callback(self._loop.close)
        self._run(self._start())
        self._open.callback(lambda: self._run(self._stop()))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def change(self, patch: Any) -> None:
        """Merge `patch` into the Deployment."""
        self._run(self._change(patch))

    def ready(self) -> None:
        """Let the time pass that Pods need."""
        self._run(asyncio.sleep(WAVE.total_seconds()))

    def expire(self) -> None:
        """Let the progress deadline pass."""
        self._run(asyncio.sleep(DEADLINE + 2))

    def rest(self) -> Rest:
        """Let a little time pass, in which everything must come to rest."""
        self._run(asyncio.sleep(REST))
        self._statuses += [Seen.of(json.loads(event.object)) for event in self._feed.take()]
        return Rest.of(json.loads(self._core.get(DEPLOYMENT, STORY)), self._list(REPLICA_SET))

    @property
    def waits(self) -> bool:
        """Whether a Pod will become ready."""
        return any(not is_ready(pod) for pod in self._list(POD) if CRASH not in pod["metadata"].get("annotations", {}))

    @property
    def statuses(self) -> list[Seen]:
        """Every status that was written."""
        return self._statuses

    async def _start(self) -> None:
        await self._manager.__aenter__()
        self._core.create(NAMESPACE, "", NAMESPACE.object({"metadata": {"name": STORY.namespace}}).raw)
        content = {"metadata": {"name": STORY.name}, "spec": self._spec}
        self._core.create(DEPLOYMENT, STORY.namespace, DEPLOYMENT.object(content).raw)
        self._feed = self._core.watch(DEPLOYMENT, WatchOptions(timeout=1e9, bookmarks=False))
        self._running = asyncio.create_task(self._manager.run())

    async def _stop(self) -> None:
        self._manager.stop()
        await self._running
        await self._manager.__aexit__(None, None, None)

    async def _change(self, patch: Any) -> None:
        self._core.patch(DEPLOYMENT, STORY, Patch.merge(patch))

    def _list(self, kind: AnyKind) -> list[Any]:
        return [json.loads(raw) for raw in self._core.list(kind, ListOptions()).items]

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)


def managed(story: Story, *, seed: int) -> Told:
    """The story as the data plane has it in a manager, with that order of concurrent events."""
    with ManagedStage(story, seed=seed) as stage:
        return tell(story, stage)
