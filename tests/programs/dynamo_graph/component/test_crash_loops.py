"""G 8.6: a component in a crash loop fails its graph, whatever else the graph is in the middle of."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import ServerError
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.component.crash_loops import crash_looping
from dynamo_graph.graph.status import outcome
from dynamo_graph.pods.testing import pod, pod_status, replica_set
from dynamo_graph.testing import GraphWorld, component, graph

FRONTEND, DECODE = component("Frontend", "frontend", replicas=2), component("decode", "decode")
DOWN = "main:2:waiting:1"
PENDING = outcome([], {})


def told(name: str, restarts: int = 2) -> str:
    return f"pod {name}-0: container main restarted {restarts} times, last exit code 1 (Error)"


def crash(world: GraphWorld, name: str, *containers: str) -> None:
    """A Pod of that Deployment crashes again and again; one that does so already does it in another way."""
    if world.cache.get(REPLICA_SET, "ns/r") is None:
        world.cache.add(replica_set())
    if world.cache.get(POD, f"ns/{name}-0") is not None:
        world.cache.set_status(POD, f"ns/{name}-0", pod_status(*(containers or (DOWN,))))
    else:
        owner = world.cache.get(REPLICA_SET, "ns/r")
        world.cache.add(pod(*(containers or (DOWN,)), name=f"{name}-0", selector=name, owner=owner))
    world.converge()


def new_world(*components: Any) -> GraphWorld:
    world = GraphWorld(graph(*components))
    world.converge()
    return world


def deployment(component: str, message: str = "it crashes", **changes: Any) -> tuple[str, Any]:
    told = {"generation": 2, "observed": 2, "status": "False", "reason": "ContainerCrashLooping", **changes}
    condition = {
        "type": "Available",
        "status": told["status"],
        "reason": told["reason"],
        "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    content = {
        "metadata": {"name": f"g-{component.lower()}", "namespace": "ns", "generation": told["generation"]},
        "spec": {"name": component},
        "status": told.get("content", {"observedGeneration": told["observed"], "conditions": [condition]}),
    }
    return component, DCD.object(content)


@pytest.mark.parametrize(
    ("deployments", "expected"),
    [
        pytest.param([deployment("a", generation=3)], None, id="T-CRASH-19"),
        pytest.param(
            [deployment("b", "second"), deployment("a", "first")],
            "Components are crash-looping: a: first; b: second",
            id="T-CRASH-20",
        ),
        pytest.param([deployment("a")], "Components are crash-looping: a: it crashes", id="one of one"),
        pytest.param(
            [deployment("a"), deployment("b", reason="DeploymentNotReady")],
            "Components are crash-looping: a: it crashes",
            id="one of two",
        ),
        pytest.param([deployment("a", status="True")], None, id="available all the same"),
        pytest.param([deployment("a", content={"conditions": 1})], None, id="a status that cannot be read"),
        pytest.param([deployment("a", content={})], None, id="nothing said yet"),
        pytest.param([], None, id="no components"),
    ],
)
def test_what_deployments_say_fails_their_graph(deployments: list[Any], expected: str | None) -> None:
    found = crash_looping(PENDING, deployments)
    if expected is None:
        assert found is PENDING
    else:
        assert (found.state, found.reason, found.message) == ("failed", "component_crash_looping", expected)
        assert found.components is PENDING.components


@pytest.mark.parametrize("components", [pytest.param((FRONTEND, DECODE), id="B1")])
def test_a_graph_fails_with_pod_container_and_exit_code_and_recovers(components: Any) -> None:
    world = new_world(*components)
    crash(world, "g-frontend")
    status = world.graph().status
    message = f"Components are crash-looping: Frontend: {told('g-frontend')}"
    assert (status.state, world.ready()) == ("failed", ("False", "component_crash_looping", message))
    assert sorted(status.components) == ["Frontend", "decode"], "the numbers are kept"
    assert world.pass_over_graph().error is None, "nothing is tried again"
    assert [event for _, event in world.cache.events if event.type == "Warning"] == []
    world.run_pods()
    assert (world.graph().status.state, world.ready()[0]) == ("successful", "True")


@pytest.mark.parametrize("restarts", [pytest.param(2, id="T-CRASH-23")])
def test_a_graph_waits_again_while_the_container_runs(restarts: int) -> None:
    world = new_world(FRONTEND)
    world.edit({**FRONTEND, "replicas": 3})
    crash(world, "g-frontend", f"main:{restarts}:waiting:1")
    assert (world.graph().status.state, world.graph().status.observed_generation) == ("failed", 2)
    world.edit({**FRONTEND, "replicas": 4})
    crash(world, "g-frontend", f"main:{restarts + 1}:running:1")
    assert (world.graph().status.state, world.graph().status.observed_generation) == ("pending", 3)
    world.run_pods()
    assert (world.graph().status.state, world.graph().status.observed_generation) == ("successful", 3)


def test_the_message_of_the_graph_follows_the_restarts() -> None:
    world = new_world(FRONTEND)
    crash(world, "g-frontend")
    crash(world, "g-frontend", "main:3:waiting:1")
    assert world.ready()[2] == f"Components are crash-looping: Frontend: {told('g-frontend', 3)}"


@pytest.mark.parametrize("image", [pytest.param("registry.example/w:1.4.1", id="T-CRASH-21")])
def test_a_crash_loop_outranks_a_rollout_and_does_not_stop_it(image: str) -> None:
    world = new_world(DECODE)
    world.run_pods()
    (old,) = world.deployments()
    world.edit(component("decode", "decode", image=image))
    world.converge()
    assert world.ready()[1] == "rolling_update_in_progress"
    phase = world.phase()
    (new,) = set(world.deployments()) - {old}
    crash(world, new)
    assert (world.graph().status.state, world.ready()[:2]) == ("failed", ("False", "component_crash_looping"))
    assert phase == world.phase() == "InProgress"
    world.run_pods()
    assert (world.graph().status.state, world.phase(), world.deployments()) == ("successful", "Completed", [new])


def test_an_old_generation_that_crashes_does_not_fail_the_graph() -> None:
    world = new_world(DECODE)
    world.run_pods()
    (old,) = world.deployments()
    world.edit(component("decode", "decode", image="registry.example/w:1.4.1"))
    world.converge()
    world.cache.set_status(DCD, f"ns/{old}", deployment("decode", observed=9)[1].content()["status"])
    world.pass_over_graph()
    assert world.ready()[1] == "rolling_update_in_progress"


CHECKPOINT = {"checkpoint": {"enabled": True, "startupPolicy": "WaitForCheckpoint", "checkpointRef": "c1"}}


@pytest.mark.parametrize("experimental", [pytest.param(CHECKPOINT, id="T-CRASH-22")])
def test_a_crash_loop_outranks_a_checkpoint_that_is_waited_for(experimental: Any) -> None:
    world = new_world(FRONTEND, component("decode", "decode", experimental=experimental))
    assert world.ready()[1] == "waiting_for_checkpoint"
    crash(world, "g-frontend")
    assert (world.graph().status.state, world.ready()[1]) == ("failed", "component_crash_looping")


def test_a_crash_loop_outranks_a_component_whose_attempt_failed() -> None:
    world = new_world(FRONTEND, component("Planner", "planner"))
    crash(world, "g-frontend")
    failing = deployment("Planner", "no right to write", reason="Reconciling")[1].content()["status"]
    failing["conditions"][0]["observedGeneration"] = 1
    world.cache.set_status(DCD, "ns/g-planner", failing)
    world.pass_over_graph()
    assert world.ready()[1] == "component_crash_looping"


def test_an_error_of_the_attempt_outranks_a_crash_loop() -> None:
    world = new_world(FRONTEND)
    crash(world, "g-frontend")
    world.cache.faults.fail(ServerError("out of order"), "patch", DCD, times=1)
    world.edit(component("Frontend", "frontend", replicas=5))
    world.pass_over_graph()
    assert (world.graph().status.state, world.ready()[1]) == ("failed", "failed_to_reconcile_the_resources")
