"""G 3.6.4, 11.5: what holds at every moment of every rollout, looked at on every watch event.

Available are the Pods of a component that are Ready and not on their way out; asked for is what its deployments ask for together.
Never fewer than D - U are available, never more than D + S are asked for, and in the end each worker has one deployment.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.rollout_arithmetic import DEFAULT_SHARE, budget
from dynamo_graph.testing import component, graph

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.conftest import Fleet, MakeFleet

SURGE, UNAVAILABLE = (
    "nvidia.com/deployment-rolling-update-max-surge",
    "nvidia.com/deployment-rolling-update-max-unavailable",
)
Shares = tuple[str | None, str | None]


def worker(name: str, image: int, desired: int, shares: Shares = (None, None), **annotations: str) -> dict[str, Any]:
    found = {SURGE: shares[0], UNAVAILABLE: shares[1], **annotations}
    metadata = {"annotations": {key: value for key, value in found.items() if value is not None}}
    spec = {"containers": [{"name": "main", "image": f"registry.example/w:1.4.{image}"}]}
    return component(name, "worker", replicas=desired, podTemplate={"metadata": metadata, "spec": spec})


def within(fleet: Fleet, name: str, since: int, desired: int, shares: Shares) -> None:
    """Neither bound was left since entry number `since`."""
    bounds = budget(desired, shares[0] or DEFAULT_SHARE, shares[1] or DEFAULT_SHARE)
    seen = fleet.numbers(name)[since:]
    assert min(available for _, available in seen) >= desired - bounds.unavailable, seen
    assert max(asked for asked, _ in seen) <= desired + bounds.surge, seen


@pytest.mark.parametrize(
    ("desired", "shares"),
    [
        pytest.param(4, (None, None), id="T-ROLL-31 T-E2E-02"),
        pytest.param(2, (None, None), id="T-ROLL-32"),
        pytest.param(3, ("0", "1"), id="T-ROLL-33"),
        pytest.param(2, ("100%", "0"), id="T-ROLL-34"),
        pytest.param(1, (None, None), id="one replica"),
        pytest.param(0, (None, None), id="none"),
    ],
)
def test_a_rollout_of_real_pods(fleet: MakeFleet, desired: int, shares: Shares) -> None:
    world = fleet(graph(worker("w", 0, desired, shares)))
    world.settle()
    since = len(world.numbers("w")) - 1
    before = world.deployments()
    world.edit(worker("w", 1, desired, shares))
    world.settle()
    assert world.graph().status.state == "successful"
    assert len(world.deployments()) == 1
    assert world.deployments() != before
    within(world, "w", since, desired, shares)
    assert world.numbers("w")[-1] == (desired, desired)
    assert world.told("RollingUpdateStarted", "RollingUpdateCompleted") == [
        "RollingUpdateStarted",
        "RollingUpdateCompleted",
    ]


SHARES = st.tuples(st.sampled_from([None, "0", "1", "2", "100%"]), st.sampled_from([None, "0", "1", "50%"])).filter(
    lambda shares: shares != ("0", "0")  # no server takes a Deployment that could never be rolled
)
CHANGES = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, "annotations lost"]), st.integers(0, 12), st.integers(0, 4)),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("checked", [pytest.param(True, id="T-ROLL-35 T-ROLL-62 T-ROLL-75")])
@settings(max_examples=12, deadline=None)
@given(
    names=st.sampled_from([("a",), ("a", "b")]),
    desired=st.integers(1, 4),
    shares=SHARES,
    changes=CHANGES,
    seed=st.integers(0, 2**32),
)
def test_whatever_changes_and_whenever_both_bounds_hold(
    fleet: MakeFleet,
    checked: bool,
    names: tuple[str, ...],
    desired: int,
    shares: Shares,
    changes: list[tuple[int | str, int, int]],
    seed: int,
) -> None:
    world = fleet(graph(*(worker(name, 0, desired, shares) for name in names)), random=Random(seed))
    world.settle()
    since = {name: len(world.numbers(name)) - 1 for name in names}
    for change, sweeps, seconds in changes:
        if isinstance(change, str):
            world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": None}})
        else:
            world.edit(*(worker(name, change, desired, shares) for name in names))
        for number in range(sweeps):
            world.sweep()
            if number < seconds:
                world.cache.advance(1)
    world.settle()
    assert world.graph().status.state == "successful"
    assert len(world.deployments()) == len(names)
    for name in names:
        within(world, name, since[name], desired, shares)
    assert checked
    writes = len(world.cache.writes)
    world.settle()
    assert world.wrote(writes) == []


OPERATIONS = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just("image"), st.integers(0, 2)),
            st.tuples(st.just("size"), st.integers(0, 4)),
            st.tuples(st.just("restart"), st.sampled_from(["r1", "r2", "r3"])),
            st.tuples(st.just("strategy"), st.sampled_from(["Recreate", "RollingUpdate"])),
            st.tuples(st.just("lost"), st.just(0)),
            st.tuples(st.just("deleted"), st.integers(0, 3)),
        ),
        st.integers(0, 8),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=12, deadline=None)
@given(operations=OPERATIONS, seed=st.integers(0, 2**32))
def test_whatever_happens_each_worker_ends_with_one_deployment(
    fleet: MakeFleet, operations: list[tuple[tuple[str, Any], int]], seed: int
) -> None:
    state: dict[str, Any] = {"image": 0, "size": 2, "strategy": "RollingUpdate"}

    def parts() -> list[dict[str, Any]]:
        strategy = {"nvidia.com/deployment-strategy": state["strategy"]}
        found = worker("w", state["image"], state["size"], **strategy)
        return [component("Frontend", "frontend"), {**found, "scalingAdapter": {}}, worker("x", state["image"], 1)]

    world = fleet(graph(*parts()), random=Random(seed))
    world.settle()
    for (what, value), sweeps in operations:
        if what in state:
            state[what] = value
            world.edit(*parts())
        elif what == "restart":
            world.cache.edit(DGD, "ns/g", {"spec": {"restart": {"id": value}}})
        elif what == "lost":
            world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": None}})
        else:
            there = world.deployments()
            world.cache.delete(world.deployment(there[0]).kind, f"ns/{there[value % len(there)]}")
        for _ in range(sweeps):
            world.sweep()
        world.cache.advance(1)
    world.settle()
    status = world.graph().status
    assert (status.state, status.observed_generation) == ("successful", world.graph().metadata.generation)
    assert len(world.deployments()) == 3
    assert world.phase() in (None, "Completed")
    restart = status.restart
    assert restart is None or restart.phase in ("Completed", "Superseded")
    writes = len(world.cache.writes)
    world.settle()
    assert world.wrote(writes) == []
