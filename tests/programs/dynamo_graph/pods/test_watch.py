"""G 8.8, 8.9: Pod events through a real cache, as a server tells them; what was missed while nobody looked is made good."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import AnyKind, WatchEvent, WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET
from dynamo_ctrl.objects.builtin.core import NAMESPACE, POD
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import LoopClock
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.pods.testing import pod, pod_status, replica_set

DOWN, UP = "main:2:waiting:1", "main:0:running"
SELECTOR = "nvidia.com/selector"
WATCH_ENDS = 3600
"""Seconds after which every watch has been opened anew."""


class Forgetful(MemoryEngine):
    """A server that tells nothing of Pods while it is `blind`."""

    blind = False

    @asynccontextmanager
    async def watch(self, kind: AnyKind, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        async with super().watch(kind, options) as events:
            yield (event async for event in events if not (self.blind and kind == POD))


class Cluster:
    """A server with Pods, and what a controller of component deployments is woken for. There are no deployments."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.core = Core(clock=self.clock)
        self.engine = Forgetful(self.core)
        for watch in ComponentDeploymentProgram.watches.all:
            self.core.register(watch.kind)
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        self.owner = REPLICA_SET.decode(self.create(REPLICA_SET, replica_set()))
        self.woken: list[str] = []

    def create(self, kind: Any, obj: Any) -> bytes:
        return self.core.create(kind, "ns", msgspec.json.encode(obj.content()))

    def put(self, *containers: str, selector: str = "g-a", owned: bool = True, **more: Any) -> None:
        """Create a Pod, and its status."""
        made = pod(*containers, selector=selector, owner=self.owner if owned else None, **more)
        self.create(POD, made)
        self.status(made.metadata.name, made.content()["status"])

    def status(self, name: str, status: Any) -> None:
        self.core.patch(POD, Key("ns", name), Patch.merge({"status": status}), subresource="status")

    def label(self, name: str, value: str | None) -> None:
        self.core.patch(POD, Key("ns", name), Patch.merge({"metadata": {"labels": {SELECTOR: value}}}))

    def delete(self, name: str) -> None:
        self.core.delete(POD, Key("ns", name), grace_seconds=0)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[Controller]:
        """A new cache, and a controller on it."""
        cache = Cache(self.engine, clock=self.clock, random=Random(0))
        controller = Controller(name="test", watches=ComponentDeploymentProgram.watches, cache=cache, clock=self.clock)
        tasks = [asyncio.create_task(cache.run()), asyncio.create_task(controller.run(self._reconcile))]
        try:
            await asyncio.sleep(1)
            yield controller
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _reconcile(self, key: Key) -> Answer:
        self.woken.append(key.name)
        return DONE

    async def taken(self) -> list[str]:
        """Whom the events since the last look have woken."""
        await asyncio.sleep(1)
        woken, self.woken = self.woken, []
        return sorted(woken)


@pytest.mark.parametrize("containers", [pytest.param(DOWN, id="T-WATCH-02 initial list")])
async def test_a_pod_that_crashed_before_the_cache_began_is_told(containers: str) -> None:
    cluster = Cluster()
    cluster.put(containers)
    cluster.put(UP, name="healthy", selector="g-b")
    async with cluster.watched():
        assert await cluster.taken() == ["g-a"]


@pytest.mark.parametrize("times", [pytest.param(2, id="T-WATCH-14")])
async def test_a_cache_that_is_built_again_tells_it_again(times: int) -> None:
    cluster = Cluster()
    cluster.put(DOWN)
    for _ in range(times):
        async with cluster.watched():
            assert await cluster.taken() == ["g-a"]


async def test_each_event_wakes_whom_it_concerns() -> None:
    cluster = Cluster()
    async with cluster.watched():
        cluster.put(UP)
        assert await cluster.taken() == []
        cluster.status("p", pod_status(DOWN))
        assert await cluster.taken() == ["g-a"]
        cluster.label("p", "g-b")
        assert await cluster.taken() == ["g-a", "g-b"], "both, once each"
        cluster.status("p", pod_status("main:3:waiting:1"))
        assert await cluster.taken() == ["g-b"]
        cluster.status("p", {"conditions": [{"type": "Other", "status": "True"}, *pod_status()["conditions"]]})
        assert await cluster.taken() == []
        cluster.label("p", None)
        assert await cluster.taken() == ["g-b"], "it is nobody's now"
        cluster.delete("p")
        assert await cluster.taken() == []
        cluster.put(DOWN, name="q")
        assert await cluster.taken() == ["g-a"]
        cluster.delete("q")
        assert await cluster.taken() == ["g-a"]
        cluster.put(UP, name="r", ready=True)
        cluster.delete("r")
        assert await cluster.taken() == []
        cluster.put(DOWN, name="s", owned=False)
        cluster.label("s", "g-b")
        assert await cluster.taken() == []


async def test_what_the_watch_did_not_tell_is_made_good_by_the_next_list() -> None:
    cluster = Cluster()
    cluster.put(DOWN, name="goes")
    cluster.put(DOWN, name="moves", selector="g-b")
    cluster.put(UP, name="falls", selector="g-c")
    cluster.put(UP, name="stays", selector="g-d")
    async with cluster.watched():
        await cluster.taken()
        cluster.engine.blind = True
        cluster.delete("goes")
        cluster.label("moves", "g-e")
        cluster.status("falls", pod_status(DOWN))
        assert await cluster.taken() == []
        cluster.core.compact()
        await asyncio.sleep(WATCH_ENDS)
        assert await cluster.taken() == ["g-a", "g-b", "g-c", "g-e"]


def available(core: Core, name: str = "g-a") -> tuple[str, str]:
    found = find(DCD.decode(core.get(DCD, Key("ns", name))).status.conditions, "Available")
    return ("", "") if found is None else (found.reason, found.message)


@pytest.mark.parametrize("seed", range(2))
async def test_back_to_back_updates_end_with_what_the_last_one_said(seed: int) -> None:
    cluster, random = Cluster(), Random(seed)
    spec = {"name": "a", "type": "frontend", "podTemplate": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
    labels = {"nvidia.com/dynamo-namespace": "ns"}
    cluster.create(DCD, DCD.object({"metadata": {"name": "g-a", "namespace": "ns", "labels": labels}, "spec": spec}))
    cluster.put(DOWN)
    options = ManagerOptions(garbage=False)
    async with Manager(
        cluster.engine, programs=[ComponentDeploymentProgram()], clock=cluster.clock, options=options
    ) as it:
        task = asyncio.create_task(it.run())
        await asyncio.sleep(5)
        assert available(cluster.core)[0] == "ContainerCrashLooping", "it was told before the first event"
        for last in ("waiting", "running", "waiting"):
            for count in range(30):
                state = last if count == 29 else random.choice(["waiting", "running"])
                cluster.status("p", pod_status(f"main:{count + 2}:{state}:1"))
                await asyncio.sleep(random.choice([0, 0, 0.001, 0.02]))
            await asyncio.sleep(5)
            looping = ("ContainerCrashLooping", "pod p: container main restarted 31 times, last exit code 1 (Error)")
            expected = looping if last == "waiting" else ("DeploymentNotReady", "Deployment is not ready")
            assert available(cluster.core) == expected
        it.stop()
        await task
