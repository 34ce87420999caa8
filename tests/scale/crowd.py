"""Many graphs and many foreign Pods on a real cluster: what the manager costs when nothing happens, and per Pod event."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envtest.api import wait_for
from envtest.graphs import GRAPHS, Tree, component, graph, is_ready, path
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

CLIENTS = 8
"""Requests of ours that are under way at once."""
TIMEOUT = 600.0
"""Seconds for all graphs to become ready."""
RECONCILES = re.compile(r'^controller_runtime_reconcile_total\{controller="([^"]+)".*\} (\S+)$', re.MULTILINE)
CPU = re.compile(r"^process_cpu_seconds_total (\S+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Crowded:
    """What was seen.

    Attributes:
        ready_seconds: from the first graph to the last one that was ready.
        ready_cpu: CPU seconds of the manager in that time.
        idle_seconds, idle_cpu: a while in which nothing happened, and its CPU seconds.
        events: how many events of foreign Pods the server sent.
        event_cpu: CPU seconds of the manager meanwhile, idle ones included.
        reconciles: what they made the manager do, by controller.
        requests: what it asked of the server.
    """

    ready_seconds: float
    ready_cpu: float
    idle_seconds: float
    idle_cpu: float
    events: int
    event_cpu: float
    reconciles: Mapping[str, int]
    requests: int


def crowded(place: Place, manager: ManagerProcess, *, graphs: int, pods: int, events: int, idle: float) -> Crowded:
    """Let `graphs` of two components become ready beside `pods` of others, and look."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        made = list(clients.map(lambda number: _create(place, "pods", foreign(number)), range(pods)))
        before, began = cpu(manager), time.monotonic()
        list(clients.map(lambda number: _create(place, GRAPHS, _graph(place, number)), range(graphs)))
        wait_for("all graphs to be ready", lambda: _all_ready(place, graphs), timeout=TIMEOUT, interval=0.5)
        ready_seconds, ready_cpu = time.monotonic() - began, cpu(manager) - before
        place.comes_to_rest(quiet=2.0)
        before, began = cpu(manager), time.monotonic()
        time.sleep(idle)
        idle_seconds, idle_cpu = time.monotonic() - began, cpu(manager) - before
        mark, ran, before = place.mark(), reconciles(manager), cpu(manager)
        list(clients.map(lambda number: _touch(place, made[number % pods], number), range(events)))
        time.sleep(2.0)  # the last events are on their way
        return Crowded(
            ready_seconds=ready_seconds,
            ready_cpu=ready_cpu,
            idle_seconds=idle_seconds,
            idle_cpu=idle_cpu,
            events=events,
            event_cpu=cpu(manager) - before,
            reconciles=dict(reconciles(manager) - ran),
            requests=len(place.requests(mark)),
        )


def foreign(number: int) -> Tree:
    """A Pod of somebody else; every second one carries the label by which ours are found. No scheduler knows it."""
    labels = {"app": "foreign", **({"nvidia.com/selector": f"foreign-{number}"} if number % 2 else {})}
    containers = [{"name": "main", "image": "registry.example/foreign:1", "env": [{"name": "A", "value": "b"}]}]
    spec = {"schedulerName": "nobody", "containers": containers}
    return {"metadata": {"name": f"foreign-{number}", "labels": labels}, "spec": spec}


def cpu(manager: ManagerProcess) -> float:
    """CPU seconds of the process so far, as it tells."""
    (found,) = CPU.findall(manager.get("/metrics")[1])
    return float(found)


def reconciles(manager: ManagerProcess) -> Counter[str]:
    """Reconciles so far, by controller."""
    found: Counter[str] = Counter()
    for controller, number in RECONCILES.findall(manager.get("/metrics")[1]):
        found[controller] += round(float(number))
    return found


def _create(place: Place, resource: str, wanted: Tree) -> str:
    place.api.create(path(place.namespace, resource), wanted)
    return str(wanted["metadata"]["name"])


def _touch(place: Place, name: str, number: int) -> None:
    condition = {"type": "Ready", "status": "False", "reason": f"Event{number}"}
    place.api.merge(path(place.namespace, "pods", name, "status"), {"status": {"conditions": [condition]}})


def _graph(place: Place, number: int) -> Tree:
    return graph(place.namespace, f"g{number}", component("Frontend", "frontend"), component("decode", "decode"))


def _all_ready(place: Place, graphs: int) -> bool:
    found = place.all(GRAPHS)
    return len(found) == graphs and all(map(is_ready, found))


def lines(seen: Crowded) -> Iterator[str]:
    """What was seen, in words."""
    yield f"ready: {seen.ready_seconds:.1f} s, {seen.ready_cpu:.1f} CPU s of the manager"
    yield f"idle: {seen.idle_cpu / seen.idle_seconds * 1000:.1f} ms of CPU in each second"
    idle = seen.idle_cpu / seen.idle_seconds
    yield f"a Pod event: {max(0.0, seen.event_cpu) / seen.events * 1e6:.0f} us of CPU (idle share {idle:.4f} included)"
    yield f"{seen.events} Pod events: reconciles {seen.reconciles}, {seen.requests} requests"
