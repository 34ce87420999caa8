"""A fight with another field manager on a real API server: found, and the other one is called by its name (R 4, 39)."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random

import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from envtest import Cluster

RIVAL = "rival-operator"
PATIENCE = 30.0


@pytest.mark.cluster
@pytest.mark.real_loop
async def test_r4_39_the_other_manager_of_a_fight_is_named(cluster: Cluster, namespace: str) -> None:
    path = CONFIG_MAP.path(namespace, "contested")
    cluster.api.create(CONFIG_MAP.path(namespace), {"metadata": {"name": "contested"}, "data": {"size": "1"}})
    await asyncio.sleep(1.1)  # times of field managers are whole seconds
    lines, clock = LogCapture(), SystemClock()
    log = structlog.wrap_logger(None, processors=[lines], wrapper_class=structlog.BoundLogger)
    async with open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine:
        options = CacheOptions(namespaces=(namespace,))
        cache = Cache(engine, clock=clock, random=Random(0), options=options)
        controller = Controller(name="ours", watches=watching(CONFIG_MAP), cache=cache, clock=clock, log=log)

        async def reconcile(key: Key) -> Answer:
            live = controller.view.get(CONFIG_MAP, key)
            if key.name == "contested" and live is not None and live.data["size"] != "3":
                answer = await engine.patch(CONFIG_MAP, key, Patch.merge({"data": {"size": "3"}}))
                controller.written.wrote(CONFIG_MAP.decode(answer))
            return DONE

        def rival(note: int) -> None:
            theirs = f"{path}?fieldManager={RIVAL}"
            wanted = {"data": {"size": "1", "note": str(note)}}  # a field of its own keeps a manager in the list
            cluster.api.request("PATCH", theirs, wanted, content_type="application/merge-patch+json")

        tasks = [asyncio.create_task(cache.run()), asyncio.create_task(controller.run(reconcile))]
        try:
            async with asyncio.timeout(PATIENCE):
                for note in count():
                    if controller.numbers.echoes:
                        break
                    await asyncio.sleep(0.3)
                    await asyncio.to_thread(rival, note)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    line = next(line for line in lines.entries if "times" in line)
    assert (line["loop"], line["paths"], line["manager"], line["times"]) == ("reverted", ["data.size"], RIVAL, 5)
