"""What a look at a graph costs that has converged: every call is counted."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from dynamo_graph.testing import GraphWorld, component, graph

COMPONENTS = (
    component("Frontend", "frontend", replicas=2),
    component("Planner", "planner"),
    *(component(name, "worker", replicas=3, scalingAdapter={}) for name in ("decode", "prefill", "encode")),
)
DEAR = ("dynamo_graph/render/", "dynamo_graph/component/worker_hash.py", "dynamo_ctrl/program/sync.py")
"""Modules that render, hash and compare."""
BUILT_IN = ("sha256", "openssl_sha256", "validate_python", "validate_json", "validate_assignment")
"""Functions outside of Python code that hash, and that validate a model."""


def calls(act: Callable[[], object]) -> Counter[str]:
    """What `act` calls: files of Python functions, names of others."""
    found: Counter[str] = Counter()

    def take_down(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            found[frame.f_code.co_filename] += 1
        elif event == "c_call":
            found[argument.__name__] += 1

    sys.setprofile(take_down)
    try:
        act()
    finally:
        sys.setprofile(None)
    return found


def dear(found: Counter[str]) -> dict[str, int]:
    """Those of the calls that render, hash, compare or validate."""
    return {name: count for name, count in found.items() if name in BUILT_IN or any(part in name for part in DEAR)}


def passes(world: GraphWorld) -> None:
    """One forced pass over everything of the graph."""
    world.pass_over_graph()
    for name in world.deployments():
        world.pass_over_deployment(name)


@pytest.fixture
def world() -> GraphWorld:
    """A graph of five components that is Ready, and was looked at once since."""
    world = GraphWorld(graph(*COMPONENTS))
    world.finish()
    passes(world)
    return world


def test_a_look_at_a_changed_graph_is_what_is_counted_here(world: GraphWorld) -> None:
    world.edit(*COMPONENTS[:-1])
    found = dear(calls(world.pass_over_graph))
    assert {"openssl_sha256", "validate_python"} <= {*found}
    assert any("render/" in name for name in found)


@pytest.mark.parametrize("number", [pytest.param(10, id="T-E2E-09 counted")])
def test_forced_passes_render_nothing_hash_nothing_and_validate_no_model(world: GraphWorld, number: int) -> None:
    writes = len(world.cache.writes)
    for _ in range(number):
        world.cache.advance(60)
        assert dear(calls(lambda: passes(world))) == {}
    assert world.wrote(writes) == []


def test_a_pass_over_a_graph_calls_a_bounded_number_of_functions(world: GraphWorld) -> None:
    """Wall-clock times differ from machine to machine; numbers of calls do not."""
    assert sum(calls(world.pass_over_graph).values()) < 3_000
