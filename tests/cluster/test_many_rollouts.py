"""Ten graphs roll at once while their manager is killed again and again: the same end as if nothing had happened."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, Tree, component, graph, is_ready

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

GRAPHS_AT_ONCE, REPLICAS, KILLS = 10, 3, 20
SEED = 20_261_130
TIMEOUT = 240.0
"""Seconds for all rollouts to end, on a machine that has other things to do."""
LONGEST = 1.5
"""Seconds that a manager lives at most, once it is ready."""

COUNTED = ("generation", "nvidia.com/last-applied-generation")
"""Fields that tell how often a child was written: in how many steps a rollout went is a matter of what was seen when."""


def wanted(place: Place, name: str, tag: int) -> Tree:
    worker = component("decode", "decode", replicas=REPLICAS, image=f"registry.example/dynamo/worker:1.4.{tag}")
    worker["podTemplate"]["metadata"] = {"annotations": {"data-plane.dynamo-ctrl.io/ready-after": "2s"}}
    return graph(place.namespace, name, component("Frontend", "frontend"), worker)


def rolling(place: Place) -> int:
    """How many graphs have more than one generation."""
    return len(place.all(COMPONENTS, selector="nvidia.com/dynamo-component=decode")) - GRAPHS_AT_ONCE


def rolled_out(place: Place, tag: int) -> bool:
    """Whether every graph is Ready with one worker deployment of that image, and tells of no rollout under way."""
    graphs = place.all(GRAPHS)
    phases = {(each.get("status", {}).get("rollingUpdate") or {}).get("phase", "Completed") for each in graphs}
    workers = place.all(COMPONENTS, selector="nvidia.com/dynamo-component=decode")
    images = {each["spec"]["podTemplate"]["spec"]["containers"][0]["image"] for each in workers}
    return (
        all(map(is_ready, graphs))
        and phases == {"Completed"}
        and len(workers) == len(graphs)
        and images == {f"registry.example/dynamo/worker:1.4.{tag}"}
    )


@pytest.mark.slow
def test_ten_graphs_that_roll_under_a_dying_manager_end_as_one_that_rolls_in_peace(
    place: Place, start_manager: StartManager
) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    names = [f"g{number}" for number in range(GRAPHS_AT_ONCE)]
    manager = start_manager()
    place.apply(*(wanted(place, name, 0) for name in names))
    wait_for("all graphs to be Ready", lambda: rolled_out(place, 0), timeout=TIMEOUT, interval=0.5)
    begun = {each["metadata"]["name"] for each in place.all(COMPONENTS)}

    place.apply(*(wanted(place, name, 1) for name in names))
    under_way = []
    for _ in range(KILLS):
        under_way.append(rolling(place))
        time.sleep(chance.uniform(0.0, LONGEST))
        manager.kill()
        manager.start()
        if chance.random() < 0.5:
            manager.wait_ready(timeout=TIMEOUT)
    manager.wait_ready(timeout=TIMEOUT)
    wait_for("all rollouts to end", lambda: rolled_out(place, 1), timeout=TIMEOUT, interval=0.5)
    print(f"graphs under way at each kill: {under_way}")
    assert sum(map(bool, under_way)) >= 3
    place.comes_to_rest()

    created = place.created()
    assert len(created) == len(set(created)), "made twice"
    left = {each["metadata"]["name"] for each in place.all(COMPONENTS)}
    made = {each.removeprefix(f"{COMPONENTS}/") for each in created if each.startswith(f"{COMPONENTS}/")}
    assert made <= left | begun, "one new generation for each graph, and no other"

    place.apply(wanted(place, "peace", 0))
    wait_for("the other to be Ready", lambda: is_ready(place.get(GRAPHS, "peace")), timeout=TIMEOUT, interval=0.5)
    place.apply(wanted(place, "peace", 1))
    wait_for("the other to roll", lambda: rolled_out(place, 1), timeout=TIMEOUT, interval=0.5)
    place.comes_to_rest()
    undisturbed = place.end_state("peace", *COUNTED)
    assert len(undisturbed) == 9
    for name in names:
        assert place.end_state(name, *COUNTED) == undisturbed, name
    assert "Traceback" not in manager.output
