"""Fifty graphs at once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from envtest.api import wait_for
from envtest.graphs import GRAPHS, SHARED, component, graph, is_ready
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

GRAPHS_AT_ONCE = 50
TIMEOUT = 180.0

CREATES = 9
"""An account, a role, a binding; for each of two components a deployment, a Deployment, a Service."""
FEWEST = CREATES + 3 + 2 + 3 + 2 * 2
"""Besides: selection, finalizer and worker hash; a finalizer of each component; three statuses of the graph (begun, observed,
ready) and two of each component."""


def cpu(manager: ManagerProcess) -> float:
    lines = manager.get("/metrics")[1].splitlines()
    return float(next(line for line in lines if line.startswith("process_cpu_seconds_total ")).split()[1])


@pytest.mark.slow
def test_fifty_graphs_become_ready_and_each_costs_what_one_costs(
    place: Place, start_manager: StartManager, record_property: Callable[[str, object], None]
) -> None:
    manager = start_manager()
    before = cpu(manager)
    began = time.monotonic()
    names = [f"g{number}" for number in range(GRAPHS_AT_ONCE)]
    parts = (component("Frontend", "frontend"), component("decode", "decode"))
    place.apply(*(graph(place.namespace, name, *parts) for name in names))
    wait_for("all graphs to be Ready", lambda: all(map(is_ready, place.all(GRAPHS))), timeout=TIMEOUT, interval=0.3)
    seconds = time.monotonic() - began
    place.comes_to_rest()
    writes = Counter(write.split("/")[1].split("-")[0] for write in place.writes())
    record_property("seconds", round(seconds, 1))
    record_property("cpu_seconds", round(cpu(manager) - before, 2))
    record_property("writes", sum(writes.values()) / GRAPHS_AT_ONCE)
    record_property("requests", len(place.requests()) / GRAPHS_AT_ONCE)
    assert Counter(place.created()).most_common(1)[0][1] == 1
    assert len(place.created()) == CREATES * GRAPHS_AT_ONCE + len(SHARED)
    assert sum(writes.values()) / GRAPHS_AT_ONCE <= FEWEST + 4, "statuses of Deployments that come up step by step"

    since = place.mark()
    place.kubectl("delete", "dgd", "--all", f"--timeout={TIMEOUT:.0f}s")
    wait_for("everything to be gone", lambda: not place.children(), timeout=TIMEOUT)
    assert len(place.writes(since)) == 3 * GRAPHS_AT_ONCE, "a finalizer of each graph and of each of its components"
    assert place.created(since) == []
    assert manager.stop() == 0
