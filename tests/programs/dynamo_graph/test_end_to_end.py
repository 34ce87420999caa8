"""G 11.14 on the fake cluster: crashes between writes, conflicts, deletion, and a world that has converged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynamo_ctrl.engine.errors import Unanswered
from dynamo_ctrl.engine.port import Propagation
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import GraphWorld, component, graph

COMPONENTS = (component("Frontend", "frontend", replicas=2), component("decode", "decode"))


def new_world() -> GraphWorld:
    return GraphWorld(graph(*COMPONENTS))


def successful(world: GraphWorld) -> bool:
    world.converge()
    world.run_pods()
    return world.graph().status.state == "successful"


CHILDREN = 5  # the planner's account and its binding, and three objects for discovery
FIRST_PASS = [
    ("patch", DGD),
    ("patch", DGD),
    *[("create", None)] * (CHILDREN + len(COMPONENTS)),
    ("patch", DGD),
]


@pytest.mark.parametrize("done", [False, True], ids=["not carried out", "carried out, answer lost"])
@pytest.mark.parametrize(
    "broken", [pytest.param(number, id=f"T-E2E-05 write {number + 1}") for number in range(len(FIRST_PASS))]
)
def test_a_pass_that_dies_at_any_write_is_made_good_by_the_next(broken: int, done: bool) -> None:
    world = new_world()
    count = 0

    def dies() -> None:
        nonlocal count
        count += 1
        if count == broken + 1:
            raise Unanswered("the process is gone")

    for verb in ("patch", "create"):
        world.cache.faults.interleave(dies, verb, times=len(FIRST_PASS), after=done)
    world.pass_over_graph()
    assert count >= broken + 1
    assert successful(world)
    creates = [write.ref for write in world.cache.writes if write.verb == "create" and write.error is None]
    assert len(creates) == len(set(creates))
    assert len(world.deployments()) == len(COMPONENTS)


@pytest.mark.parametrize(
    ("meanwhile", "quiet"),
    [
        pytest.param({"state": "pending"}, True, id="T-E2E-06 status changed"),
        pytest.param({}, False, id="T-E2E-06 metadata changed"),
    ],
)
def test_a_conflict_on_the_status_is_tried_again_and_no_event_is_told_twice(
    meanwhile: dict[str, str], quiet: bool
) -> None:
    world = GraphWorld(graph(*COMPONENTS), DCD.object({"metadata": {"name": "g-frontend", "namespace": "ns"}}))

    def somebody_writes() -> None:
        world.cache.edit(DGD, "ns/g", {"metadata": {"labels": {"a": "b"}}})
        world.cache.set_status(DGD, "ns/g", meanwhile)

    world.cache.faults.interleave(somebody_writes, "patch", DGD, subresource="status")
    assert world.pass_over_graph().conflict is quiet
    assert len(world.cache.events) == (0 if quiet else 1)
    for _ in range(3):
        world.pass_over_graph()
    assert [event.reason for _, event in world.cache.events] == ["OwnershipConflict"]
    assert world.graph().status.state == "failed"


@pytest.mark.parametrize(
    "propagation", [pytest.param("Foreground", id="T-E2E-07"), pytest.param("Background", id="background")]
)
def test_a_deleted_graph_is_gone_with_everything_and_nothing_is_made_again(propagation: Propagation) -> None:
    world = new_world()
    assert successful(world)
    writes = len(world.cache.writes)
    world.cache.delete(DGD, "ns/g", propagation=propagation)
    for _ in range(5):
        world.converge()
    assert [write for write in world.cache.writes[writes:] if write.verb == "create"] == []
    assert not [
        found for kind in (DGD, DCD, DEPLOYMENT, SERVICE) for found in world.cache.list(kind) if found.key.namespace
    ]


@pytest.mark.parametrize("passes", [pytest.param(10, id="T-E2E-09")])
@pytest.mark.parametrize("ready", [True, False], ids=["ready", "pending"])
def test_passes_over_a_converged_graph_write_nothing(passes: int, ready: bool) -> None:
    world = new_world()
    world.converge()
    if ready:
        world.run_pods()
    writes = len(world.cache.writes)
    for _ in range(passes):
        world.pass_over_graph()
        for name in world.deployments():
            world.pass_over_deployment(name)
        world.cache.advance(60)
    assert world.wrote(writes) == []


def test_the_writes_from_nothing_to_ready_are_the_fewest_possible() -> None:
    """Selection, finalizer, hash, the planner's account and its binding, and three discovery objects once; per component
    a deployment, its finalizer, a Deployment, a Service and two statuses; and three statuses of the graph: begun,
    observed, ready."""
    world = new_world()
    assert successful(world)
    assert len(world.cache.writes) == 8 + 6 * len(COMPONENTS) + 3


@pytest.mark.parametrize(
    "disturbance",
    [
        pytest.param(lambda world: world.cache.delete(DCD, "ns/g-frontend"), id="component deployment deleted"),
        pytest.param(lambda world: world.cache.delete(DEPLOYMENT, "ns/g-frontend"), id="Deployment deleted"),
        pytest.param(lambda world: world.cache.delete(SERVICE, "ns/g-frontend"), id="Service deleted"),
        pytest.param(
            lambda world: world.cache.edit(DCD, "ns/g-frontend", {"spec": {"replicas": 7}}), id="replicas edited"
        ),
    ],
)
def test_what_somebody_breaks_is_mended(disturbance: Callable[[GraphWorld], None]) -> None:
    world = new_world()
    assert successful(world)
    disturbance(world)
    assert successful(world)
    frontend = world.cache.get(DEPLOYMENT, "ns/g-frontend")
    assert frontend is not None
    assert frontend.spec.replicas == 2
