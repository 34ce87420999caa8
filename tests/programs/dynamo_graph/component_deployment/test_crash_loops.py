"""G 8.5: a Deployment that is not ready because a Pod of it crashes again and again says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET, ReplicaSet
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.orchestrators import LEADER_WORKER_SET
from dynamo_graph.pods.testing import pod, pod_status, replica_set
from dynamo_graph.testing import NOT_GROUPS, GraphWorld, component, graph

NAME = "g-frontend"
DOWN = "main:2:waiting:1"
DIAGNOSIS = "pod p: container main restarted 2 times, last exit code 1 (Error)"


Made = Callable[[ReplicaSet], Pod]


def made(*containers: str, **more: Any) -> Made:
    """A Pod that the frontend's Deployment made."""
    return lambda owner: pod(*containers, **{"selector": NAME, "component": "Frontend", "owner": owner, **more})


def world_with(*pods: Made, ready: bool = False) -> GraphWorld:
    world = GraphWorld(graph(component("Frontend", "frontend", replicas=2)))
    world.converge()
    if ready:
        world.step_pods()
    for each in pods:
        world.cache.add(each(owner(world)))
    world.pass_over_deployment(NAME)
    return world


def owner(world: GraphWorld) -> ReplicaSet:
    return world.cache.get(REPLICA_SET, "ns/r") or world.cache.add(replica_set())


def available(world: GraphWorld, name: str = NAME) -> tuple[str, str, str]:
    found = find(world.deployment(name).status.conditions, "Available")
    return ("", "", "") if found is None else (found.status, found.reason, found.message)


NOT_READY = ("False", "DeploymentNotReady", "Deployment is not ready")


@pytest.mark.parametrize(
    ("pods", "ready", "expected"),
    [
        pytest.param(
            [made(DOWN, labels={"pod-template-hash": "older"})],
            False,
            ("False", "ContainerCrashLooping", DIAGNOSIS),
            id="T-CRASH-16",
        ),
        pytest.param([made(DOWN)], True, ("True", "DeploymentReady", "Deployment is ready"), id="T-CRASH-17"),
        pytest.param([made(DOWN, selector="g-other")], False, NOT_READY, id="T-CRASH-18"),
        pytest.param([made(DOWN, owner="PodClique")], False, NOT_READY, id="a Pod of Grove with the same labels"),
        pytest.param([made("main:1:waiting:1")], False, NOT_READY, id="a first restart"),
        pytest.param(
            [made(DOWN, name="b"), made(DOWN, name="p"), made("main:0:running", name="a")],
            False,
            ("False", "ContainerCrashLooping", DIAGNOSIS.replace("pod p", "pod b")),
            id="the first of several",
        ),
    ],
)
def test_a_deployment_says_that_it_is_not_ready_for_a_crash_loop(
    pods: list[Made], ready: bool, expected: tuple[str, str, str]
) -> None:
    world = world_with(*pods, ready=ready)
    assert available(world) == expected
    status = world.deployment(NAME).status
    component_ready = find(status.conditions, "DynamoComponentReady")
    assert component_ready is not None
    assert component_ready.status == expected[0]
    assert status.observed_generation == 1
    assert status.component is not None


def test_a_crash_loop_is_told_before_pods_that_are_refused() -> None:
    world = world_with(made(DOWN))
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}
    world.cache.set_status(DEPLOYMENT, f"ns/{NAME}", {"conditions": [refused]})
    world.pass_over_deployment(NAME)
    assert available(world)[1:] == ("ContainerCrashLooping", DIAGNOSIS)


@pytest.mark.parametrize(
    ("restarts", "told"), [pytest.param(3, DIAGNOSIS.replace("2 times", "3 times"), id="T-CRASH-24")]
)
def test_the_message_follows_the_restarts(restarts: int, told: str) -> None:
    world = world_with(made(DOWN))
    since = find(world.deployment(NAME).status.conditions, "Available")
    world.cache.advance(30)
    world.cache.set_status(POD, "ns/p", pod_status(f"main:{restarts}:waiting:1"))
    world.pass_over_deployment(NAME)
    assert available(world) == ("False", "ContainerCrashLooping", told)
    now = find(world.deployment(NAME).status.conditions, "Available")
    assert since is not None
    assert now is not None
    assert now.last_transition_time == since.last_transition_time, "it was not available before either"


def test_a_crash_loop_is_over_while_the_container_runs() -> None:
    world = world_with(made(DOWN))
    world.cache.set_status(POD, "ns/p", pod_status("main:3:running:1"))
    world.pass_over_deployment(NAME)
    assert available(world) == NOT_READY


def test_a_second_look_at_the_same_crash_loop_writes_nothing() -> None:
    world = world_with(made(DOWN))
    writes = len(world.cache.writes)
    world.cache.advance(60)
    world.pass_over_deployment(NAME)
    assert world.wrote(writes) == []
    assert [event.reason for _, event in world.cache.events] == []


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-CRASH-28")])
def test_a_component_that_spans_nodes_is_not_diagnosed(nodes: int) -> None:
    arguments = {
        "command": ["python3"],
        "args": ["-m", "dynamo.vllm"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    wide = component("decode", "decode", multinode={"nodeCount": nodes}, main=arguments)
    world = GraphWorld(graph(wide, backendFramework="vllm"), absent=NOT_GROUPS)
    world.converge()
    (name,) = world.deployments()
    assert len(world.cache.list(LEADER_WORKER_SET)) == 1
    world.cache.add(pod(DOWN, owner=None, selector=None))
    world.cache.add(pod(DOWN, name="as-if", selector=name, owner=owner(world)))
    world.pass_over_deployment(name)
    assert available(world, name) == ("False", "LeaderWorkerSetNotReady", "LeaderWorkerSet is not ready")


def test_both_controllers_share_one_cache_of_pods() -> None:
    (watch,) = (watch for watch in ComponentDeploymentProgram.watches.others if watch.kind == POD)
    world = GraphWorld()
    watches = world.programs[1].watches  # type: ignore[attr-defined]
    (other,) = (other for other in watches.others if other.kind == POD)
    assert (watch.label_selector, watch.project) == (other.label_selector, other.project)
