"""G 8.1, 11.14: a graph whose workers crash at start, from the crash to the fix, under managers that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from data_plane.annotations import CRASH, GONE_AFTER, READY_AFTER, RESTART_AFTER, RESTARTS
from data_plane.claim import ClaimProgram
from data_plane.deployment import DeploymentProgram
from data_plane.pod import PodProgram
from data_plane.replica_set import ReplicaSetProgram
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE, POD
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import LoopClock
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.testing import component, graph

SEEN = 15.0
"""Seconds from the second restart until the graph is failed, at most."""
FIXED = 5.0
"""Seconds from the fix until the graph is successful, at most."""
LATE = 300.0
"""Seconds in which everything happens that will."""
LOOK = 0.02
"""Seconds between two looks."""


def worker(image: str, **annotations: str) -> dict[str, Any]:
    quick = {READY_AFTER: "200ms", GONE_AFTER: "200ms", **annotations}
    containers = [{"name": "main", "image": f"registry.example/w:{image}"}]
    template = {"metadata": {"annotations": quick}, "spec": {"containers": containers}}
    return component("decode", "decode", replicas=2, podTemplate=template)


FRONTEND = component("Frontend", "frontend")
CRASHES = worker("1.4.0", **{CRASH: "true"})
DOWN = worker("1.4.0", **{CRASH: "true", RESTART_AFTER: "2s", RESTARTS: "2"})
SOUND = worker("1.4.1")


class Site:
    """A cluster with the graph `g`.

    Attributes:
        states: every state of the graph that was written, without repetitions.
    """

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.core = Core(clock=self.clock)
        self.core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
        self.core.register(DGD)
        self._feed = self.core.watch(DGD, WatchOptions(bookmarks=False, timeout=1e9))
        self.states: list[str] = []

    def data_plane(self) -> Any:
        return self._managed(DeploymentProgram(), ReplicaSetProgram(), PodProgram(), ClaimProgram())

    def manager(self) -> Any:
        return self._managed(GraphProgram(), ComponentProgram(), ComponentDeploymentProgram())

    @asynccontextmanager
    async def _managed(self, *programs: Any) -> AsyncIterator[None]:
        for program in programs:
            for watch in program.watches.all:
                self.core.register(watch.kind)
        options = ManagerOptions(garbage=False)
        async with Manager(MemoryEngine(self.core), programs=programs, clock=self.clock, options=options) as manager:
            task = asyncio.create_task(manager.run())
            yield
            manager.stop()
            await task

    def create(self, *components: dict[str, Any]) -> None:
        self.core.create(DGD, "ns", msgspec.json.encode(graph(*components).content()))

    def edit(self, *components: dict[str, Any]) -> None:
        self.core.patch(DGD, Key("ns", "g"), Patch.merge({"spec": {"components": list(components)}}))

    def ready(self) -> tuple[str, str]:
        found = find(DGD.decode(self.core.get(DGD, Key("ns", "g"))).status.conditions, "Ready")
        return ("", "") if found is None else (found.reason, found.message)

    def is_(self, state: str) -> Callable[[], bool]:
        def looks() -> bool:
            for event in self._feed.take():
                now = DGD.decode(event.object).status.state
                if self.states[-1:] != [now]:
                    self.states.append(now)
            return self.states[-1:] == [state]

        return looks

    def down(self, restarts: int) -> bool:
        """Whether a container is down after that many restarts."""
        statuses = [
            status
            for item in self.core.list(POD, ListOptions(namespace="ns")).items
            for status in POD.decode(item).status.container_statuses
        ]
        return any(each.restart_count >= restarts and each.state.waiting is not None for each in statuses)

    async def until(self, happens: Callable[[], bool], most: float = LATE) -> float:
        """Seconds until that is so. Raises `TimeoutError`."""
        begun = self.clock.monotonic()
        async with asyncio.timeout(most):
            while not happens():  # noqa: ASYNC110  (as a user looks)
                await asyncio.sleep(LOOK)
        return self.clock.monotonic() - begun


@pytest.mark.parametrize("broken", [pytest.param(CRASHES, id="T-E2E-03"), pytest.param(DOWN, id="T-E2E-03 stays down")])
async def test_a_crash_at_start_fails_the_graph_and_the_fix_mends_it(broken: dict[str, Any]) -> None:
    site = Site()
    async with site.data_plane(), site.manager():
        site.create(FRONTEND, broken)
        await site.until(lambda: site.down(2))
        assert await site.until(site.is_("failed")) <= SEEN
        reason, message = site.ready()
        assert reason == "component_crash_looping"
        assert message.startswith("Components are crash-looping: decode: pod g-decode-")
        assert message.endswith("container main restarted 2 times, last exit code 1 (Error)")
        site.edit(FRONTEND, SOUND)
        assert await site.until(site.is_("successful")) <= FIXED


@pytest.mark.parametrize("broken", [pytest.param(DOWN, id="T-E2E-04")])
async def test_a_failed_graph_stays_failed_while_its_manager_starts_again(broken: dict[str, Any]) -> None:
    site = Site()
    async with site.data_plane():
        async with site.manager():
            site.create(FRONTEND, broken)
            await site.until(lambda: site.down(2) and site.is_("failed")())
            await asyncio.sleep(SEEN)
        site.states = ["failed"]
        for _ in range(3):
            async with site.manager():
                await asyncio.sleep(LATE)
                assert site.is_("failed")()
        assert site.states == ["failed"]
        async with site.manager():
            site.edit(FRONTEND, SOUND)
            assert await site.until(site.is_("successful")) <= FIXED


async def test_a_crash_loop_that_begins_while_no_manager_runs_is_told_by_the_next() -> None:
    site = Site()
    async with site.data_plane():
        async with site.manager():
            site.create(FRONTEND, DOWN)
            await site.until(lambda: site.down(0))
            assert site.is_("pending")()
        await site.until(lambda: site.down(2))
        async with site.manager():
            assert await site.until(site.is_("failed")) <= FIXED
        assert site.states[-2:] == ["pending", "failed"]


async def test_a_graph_follows_its_crash_loop_for_as_long_as_it_lasts() -> None:
    site = Site()
    async with site.data_plane(), site.manager():
        site.create(FRONTEND, worker("1.4.0", **{CRASH: "true", RESTART_AFTER: "5s", RESTARTS: "4"}))
        for restarts in (2, 3, 4):
            await site.until(lambda: site.down(restarts))  # noqa: B023  (awaited at once)
            await site.until(site.is_("failed"), SEEN)
            assert f"restarted {restarts} times" in site.ready()[1]
        assert site.states[-6:] == ["pending", "failed"] * 3, "it waits while the container runs"
