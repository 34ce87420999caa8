"""What graphs cost on the embedded engine, in one process and on one core: server, manager and data plane together."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_graph.pods.projection import slim_pod
from dynamo_graph.testing import GraphWorld, graph
from tests.scale.site import FIVE, THREE, Site

BATCH: Final = 100
"""Events that happen at once."""
SELECTOR: Final = "nvidia.com/selector"
TURNS: Final = 20
"""Turns of the loop in which a change goes from the cache to the controllers."""


@dataclass(frozen=True, kw_only=True)
class Convergence:
    """From nothing to ready.

    Attributes:
        graphs: how many, of three components.
        seconds, cpu: until the last one was successful.
        writes, requests: of the manager for each graph, without those of its caches (list, watch, discover).
        forced: seconds of CPU for each reconcile of a forced pass: the first one, which looks at everything, and another.
        wrote: writes of those passes.
    """

    graphs: int
    seconds: float
    cpu: float
    writes: float
    requests: float
    forced: tuple[float, float]
    wrote: int


async def converge(graphs: int, clock: Clock | None = None) -> Convergence:
    """`graphs` of three components become ready, with their Pods; then two forced passes."""
    site = Site(clock)
    async with site.running():
        began = time.process_time()
        site.create(graphs, *THREE)
        seconds = await site.converged(graphs)
        cpu = time.process_time() - began
        writes = sum(site.engine.writes.values())
        requests = sum(site.engine.requests[verb] for verb in ("get", "create", "update", "patch", "delete"))
        forced = [await _forced(site) for _ in range(2)]
        return Convergence(
            graphs=graphs,
            seconds=seconds,
            cpu=cpu,
            writes=writes / graphs,
            requests=requests / graphs,
            forced=(forced[0], forced[1]),
            wrote=sum(site.engine.writes.values()) - writes,
        )


async def _forced(site: Site) -> float:
    began = time.process_time()
    reconciles = await site.pass_over(1)
    return (time.process_time() - began) / reconciles


def look(times: int = 200) -> tuple[float, float]:
    """Seconds for one pass over a converged graph of five components: nobody needs to be asked; everything is looked at anew.

    The controllers alone, without queue and loop, over an uncached world: its reads cost more than those of a cache.
    """
    world = GraphWorld(graph(*FIVE))
    world.finish()
    world.pass_over_graph()
    began = time.process_time()
    for _ in range(times):
        world.pass_over_graph()
    settled = (time.process_time() - began) / times
    whole = 0.0
    for number in range(times):
        world.cache.edit(world.graph().kind, "ns/g", {"metadata": {"labels": {"looked": str(number)}}})
        began = time.process_time()
        world.pass_over_graph()
        whole += time.process_time() - began
    return settled, whole / times


async def pod_events(pods: int, events: int = 1_000) -> tuple[float, int]:
    """Seconds of CPU for one event of a foreign Pod among so many, and how many reconciles all of them made."""
    site = Site()
    for number in range(pods):
        site.core.create(POD, "ns", msgspec.json.encode(_foreign(number)))
    async with site.managed():
        site.create(1, *THREE)
        await site.rests()
        followed = site.manager.cache.informer(POD, label_selector=SELECTOR, project=slim_pod)
        ran, took = site.reconciles(), 0.0
        for first in range(0, events, BATCH):
            for number in range(first, first + BATCH):
                version = _touch(site, f"foreign-{number % pods}", number)
            began = time.process_time()
            await followed.wait_version(version)
            for _ in range(TURNS):
                await asyncio.sleep(0)
            took += time.process_time() - began
        followed.close()
        return took / events, site.reconciles() - ran


def _foreign(number: int) -> dict[str, object]:
    labels = {"app": "foreign", SELECTOR: f"foreign-{number}", "nvidia.com/dynamo-graph-deployment-name": "other"}
    containers = [{"name": "main", "image": "registry.example/foreign:1"}]
    return {"metadata": {"name": f"foreign-{number}", "labels": labels}, "spec": {"containers": containers}}


def _touch(site: Site, name: str, number: int) -> str:
    ready = {"type": "Ready", "status": "False", "reason": f"Event{number}"}
    patch = Patch.merge({"status": {"phase": "Running", "conditions": [ready]}})
    answer = site.core.patch(POD, Key("ns", name), patch, subresource="status")
    return POD.decode(answer).metadata.resource_version
