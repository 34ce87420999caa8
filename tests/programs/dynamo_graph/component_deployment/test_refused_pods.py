"""A Deployment whose Pods the server refuses (a missing account, a quota, a policy) tells why, up to its graph."""

from __future__ import annotations

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.testing import GraphWorld, component, graph

REFUSAL = 'pods "g-planner-7f9-" is forbidden: error looking up service account ns/planner-serviceaccount'


def refused(status: str) -> dict[str, object]:
    return {"conditions": [{"type": "ReplicaFailure", "status": status, "reason": "FailedCreate", "message": REFUSAL}]}


def test_why_pods_are_refused_reaches_the_graph_and_goes_when_they_are_taken() -> None:
    world = GraphWorld(graph(component("Planner", "planner")))
    world.converge()
    world.cache.set_status(DEPLOYMENT, "ns/g-planner", refused("True"))
    world.converge()
    available = find(world.deployment("g-planner").status.conditions, "Available")
    assert available is not None
    told = f"Deployment is not ready: {REFUSAL}"
    assert (available.status, available.reason, available.message) == ("False", "ReplicaFailure", told)
    ready = find(world.graph().status.conditions, "Ready")
    assert ready is not None
    assert (ready.reason, ready.message) == (
        "some_resources_are_not_ready",
        f"Resources not ready: g-planner: {told}",
    )
    assert world.graph().status.state == "pending"
    world.run_pods()
    assert world.graph().status.state == "successful"


def test_a_failure_that_is_over_is_not_told() -> None:
    world = GraphWorld(graph(component("Planner", "planner")))
    world.converge()
    world.cache.set_status(DEPLOYMENT, "ns/g-planner", refused("False"))
    world.converge()
    available = find(world.deployment("g-planner").status.conditions, "Available")
    assert available is not None
    assert (available.reason, available.message) == ("DeploymentNotReady", "Deployment is not ready")
