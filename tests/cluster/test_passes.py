"""A graph that has converged costs no write, however often it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dynamo_ctrl.cache.cache import CacheOptions
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.program.registry import load_programs
from dynamo_manager import passes
from dynamo_manager.counting import CountingEngine
from envtest.graphs import graph
from envtest.installation import Installation

if TYPE_CHECKING:
    import asyncio

    from tests.cluster.conftest import Place, StartManager


@pytest.mark.real_loop
@pytest.mark.parametrize("number", [pytest.param(10, id="T-E2E-09 ten passes")])
async def test_passes_over_a_converged_graph_write_nothing(
    installation: Installation, place: Place, number: int
) -> None:
    import asyncio

    options = ManagerOptions(cache=CacheOptions(namespaces=(place.namespace,)), garbage=False)
    programs = [loaded.program for loaded in load_programs()]
    async with open_engine("kubernetes", EngineConfig(kubeconfig=installation.kubeconfig())) as engine:
        counted = CountingEngine(engine)
        async with Manager(counted, programs=programs, options=options) as manager:
            running: asyncio.Task[None] = asyncio.create_task(manager.run())
            await asyncio.to_thread(place.apply, graph(place.namespace), graph(place.namespace, "h"))
            await asyncio.to_thread(place.wait_ready, "g", "h")
            await asyncio.to_thread(place.comes_to_rest)
            before = counted.writes.copy()
            runs = {controller.name: controller.numbers.success for controller in manager.controllers}
            await passes.force(manager.controllers, passes=number)
            assert counted.writes - before == {}
            more = {each.name: each.numbers.success - runs[each.name] for each in manager.controllers}
            assert (more["dynamo-graph"], more["dynamo-component-deployment"]) == (number * 2, number * 4)
            manager.stop()
            await running


def test_a_manager_that_starts_over_converged_graphs_writes_nothing(place: Place, start_manager: StartManager) -> None:
    first = start_manager()
    place.apply(graph(place.namespace))
    place.wait_ready()
    place.comes_to_rest()
    assert first.stop() == 0
    since = place.mark()
    second = start_manager()
    place.comes_to_rest()
    assert place.writes(since) == []
    assert second.stop() == 0
