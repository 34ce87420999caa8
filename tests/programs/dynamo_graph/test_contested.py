"""Decision 0006: of two graphs that want one name the second fails, and goes on by itself as soon as the first one is gone."""

from __future__ import annotations

import asyncio
from random import Random

from dynamo_ctrl import Key, Manager, apply
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.readiness import readiness
from dynamo_ctrl.program.registry import load_programs
from dynamo_ctrl.testing import LoopClock, data_plane
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.testing import component, graph

WAITED = 3600.0
"""Seconds of conflict: the next attempt would come up to 1000 s later."""


async def test_the_second_graph_goes_on_at_once_however_long_it_waited() -> None:
    clock = LoopClock()
    engine = MemoryEngine(Core(clock=clock, random=Random(7)))

    async def live(name: str) -> DynamoGraphDeployment:
        return DGD.decode(await engine.get(DGD, Key("ns", name)))

    async def ready(name: str) -> None:
        while not readiness(await live(name)).ready:  # noqa: ASYNC110  (as a user looks)
            await asyncio.sleep(0.1)

    async with Manager(engine, programs=[*(one.program for one in load_programs()), *data_plane()], clock=clock) as it:
        await it.install()
        running = asyncio.create_task(it.run())
        await apply(engine, NAMESPACE.object({"metadata": {"name": "ns"}}))
        await apply(engine, graph(component("b-frontend", "frontend"), name="a"))
        async with asyncio.timeout(60):
            await ready("a")
        await apply(engine, graph(component("frontend", "frontend"), component("planner", "planner"), name="a-b"))
        await asyncio.sleep(WAITED)
        conflict = find((await live("a-b")).status.conditions, "OwnershipConflict")
        assert conflict is not None
        assert conflict.status == "True"
        assert "DynamoComponentDeployment ns/a-b-frontend is controlled by DynamoGraphDeployment a " in conflict.message
        await engine.get(DCD, Key("ns", "a-b-planner"))  # what does not conflict is there
        await engine.delete(DGD, Key("ns", "a"))
        async with asyncio.timeout(10):
            await ready("a-b")
        conflict = find((await live("a-b")).status.conditions, "OwnershipConflict")
        assert conflict is not None
        assert conflict.status == "False"
        it.stop()
        await running
