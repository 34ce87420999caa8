"""G 3.1, 3.3: one graph through the component pathway, from nothing to Ready, and what its status says on the way."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.engine.errors import Forbidden, ServerError
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import GraphWorld, component, graph

V2 = "nvidia.com/current-worker-hash-v2"
FRONTEND = component("Frontend", "frontend", replicas=2)
DECODE = component("decode", "decode")


def ready(world: GraphWorld, name: str = "g") -> tuple[str, str, str]:
    condition = find(world.graph(name).status.conditions, "Ready")
    assert condition is not None
    return condition.status, condition.reason, condition.message


def settled(*components: Any, **spec: Any) -> GraphWorld:
    world = GraphWorld(graph(*components, **spec))
    world.converge()
    world.run_pods()
    return world


def test_a_graph_becomes_one_deployment_for_each_component() -> None:
    world = settled(FRONTEND, DECODE)
    suffix = world.graph().metadata.annotations[V2]
    assert world.deployments() == [f"g-decode-{suffix}", "g-frontend"]
    assert [each.metadata.name for each in world.cache.list(DEPLOYMENT)] == world.deployments()
    worker = world.deployment(f"g-decode-{suffix}")
    assert worker.metadata.labels["nvidia.com/dynamo-worker-hash"] == suffix
    assert worker.metadata.controller is not None
    assert worker.metadata.controller.uid == world.graph().metadata.uid


@pytest.mark.parametrize("components", [pytest.param((FRONTEND, DECODE), id="T-E2E-01")])
def test_a_graph_goes_from_pending_to_successful(components: Any) -> None:
    world = GraphWorld(graph(*components))
    world.converge()
    status = world.graph().status
    assert (status.state, status.observed_generation) == ("pending", 1)
    assert ready(world)[:2] == ("False", "some_resources_are_not_ready")
    world.run_pods()
    status = world.graph().status
    assert (status.state, status.observed_generation) == ("successful", 1)
    assert ready(world) == ("True", "all_resources_are_ready", "All resources are ready")
    assert sorted(status.components) == ["Frontend", "decode"]
    assert status.components["Frontend"].ready_replicas == 2
    assert status.components["decode"].runtime_namespace == f"ns-g-{world.graph().metadata.annotations[V2]}"


def test_the_first_pass_never_calls_a_graph_ready() -> None:
    world = GraphWorld(graph(FRONTEND))
    assert world.pass_over_graph() == Answer()
    assert ready(world) == (
        "False",
        "some_resources_are_not_ready",
        "Resources not ready: g-frontend: spec not yet processed: generation=1, observedGeneration=0",
    )


def test_a_changed_graph_is_not_ready_until_its_deployments_have_seen_the_change() -> None:
    world = settled(FRONTEND)
    changed = component("Frontend", "frontend", replicas=2, image="registry.example/w:1.4.1")
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [changed]}})
    world.pass_over_graph()
    assert world.graph().status.state == "pending"
    assert world.graph().status.observed_generation == 2
    assert "spec not yet processed: generation=2, observedGeneration=1" in ready(world)[2]
    world.converge()
    world.run_pods()
    assert world.graph().status.state == "successful"


@pytest.mark.parametrize("restarted", [pytest.param("r1", id="T-HASH-18")])
def test_a_restart_annotation_on_live_deployments_makes_no_generation(restarted: str) -> None:
    world = settled(DECODE)
    (name,) = world.deployments()
    template = {"metadata": {"annotations": {"nvidia.com/restartAt": restarted}}}
    world.cache.edit(DCD, f"ns/{name}", {"spec": {"podTemplate": template}})
    world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": {V2: None}}})
    world.converge()
    assert world.deployments() == [name]
    assert world.graph().metadata.annotations[V2] == name.removeprefix("g-decode-")


def test_the_engine_of_a_live_deployment_is_never_changed() -> None:
    world = settled(DECODE)
    (name,) = world.deployments()
    world.cache.edit(DCD, f"ns/{name}", {"spec": {"backendFramework": "sglang"}})
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [component("decode", "decode", replicas=3)]}})
    world.converge()
    spec = world.deployment(name).spec
    assert (spec.backend_framework, spec.replicas) == ("sglang", 3)


def test_a_component_that_left_the_graph_loses_its_deployment() -> None:
    world = settled(FRONTEND, DECODE)
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [DECODE]}})
    world.converge()
    assert world.deployments() == [f"g-decode-{world.graph().metadata.annotations[V2]}"]
    assert sorted(world.graph().status.components) == ["decode"]


def test_a_component_that_left_and_came_back_as_another_one_is_made_anew() -> None:
    world = settled(FRONTEND, DECODE)
    before = world.deployment("g-frontend")
    workload = world.cache.get(DEPLOYMENT, "ns/g-frontend")
    world.edit(DECODE)
    world.edit(component("Frontend", "planner"), DECODE)
    world.pass_over_graph()
    assert ready(world)[2] == "Resources not ready: g-frontend: old generation is being replaced"
    (note,) = (event.note for _, event in world.cache.events if event.reason == "DeploymentReplaced")
    assert note == (
        "DynamoComponentDeployment g-frontend: spec.type: is immutable once set; it is deleted and made anew"
    )
    world.converge()
    world.run_pods()
    after = world.deployment("g-frontend")
    assert (after.metadata.uid != before.metadata.uid, after.spec.type) == (True, "planner")
    new = world.cache.get(DEPLOYMENT, "ns/g-frontend")
    assert workload is not None
    assert new is not None
    assert new.metadata.uid != workload.metadata.uid
    assert new.spec.template["metadata"]["labels"]["nvidia.com/dynamo-component-type"] == "planner"
    assert world.graph().status.state == "successful"


def test_deployments_of_another_graph_are_no_orphans() -> None:
    world = GraphWorld(graph(FRONTEND), graph(FRONTEND, name="h"))
    world.converge()
    assert world.deployments() == ["g-frontend", "h-frontend"]


def test_no_components_are_all_ready() -> None:
    world = GraphWorld(graph())
    world.converge()
    assert world.graph().status.state == "successful"
    assert V2 not in world.graph().metadata.annotations


@pytest.mark.parametrize("nodes", [pytest.param(2, id="T-CON-22")])
def test_a_graph_that_spans_nodes_gets_its_accounts_and_no_workload(nodes: int) -> None:
    world = GraphWorld(graph(FRONTEND, component("decode", "decode", multinode={"nodeCount": nodes})))
    answer = world.pass_over_graph()
    assert answer.error is not None
    assert not answer.terminal
    assert ready(world) == (
        "False",
        "no_multinode_orchestrator_available",
        "no multinode orchestrator available",
    )
    assert world.graph().status.state == "failed"
    assert world.deployments() == []
    assert world.cache.get(SERVICE_ACCOUNT, "ns/g-k8s-service-discovery") is not None
    assert V2 not in world.graph().metadata.annotations


def test_a_failed_workload_keeps_the_last_good_observation() -> None:
    world = settled(FRONTEND)
    before = world.graph().status
    changed = component("Frontend", "frontend", replicas=5)
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [changed]}})
    world.cache.faults.fail(ServerError("etcd is away"), "patch", DCD)
    answer = world.pass_over_graph()
    assert isinstance(answer.error, ServerError)
    after = world.graph().status
    assert after.components == before.components
    assert after.observed_generation == 1
    assert after.state == "failed"
    condition = find(after.conditions, "Ready")
    assert condition is not None
    assert condition.observed_generation == 2
    assert condition.reason == "failed_to_reconcile_the_resources"
    assert condition.message == "failed to reconcile Dynamo components deployments: etcd is away"


def test_a_hash_that_cannot_be_stored_has_its_own_reason() -> None:
    world = GraphWorld(graph(DECODE))
    world.converge()
    world.step_pods()
    world.pass_over_deployment(world.deployments()[0])
    world.cache.faults.fail(Forbidden("no"), "patch", DGD, subresource="")
    answer = world.pass_over_graph()
    assert isinstance(answer.error, Forbidden)
    assert ready(world)[1] == "failed_to_initialize_worker_hash"
    assert V2 not in world.graph().metadata.annotations
    world.converge()
    assert ready(world)[0] == "True"
    assert world.graph().metadata.annotations[V2] == world.deployments()[0].removeprefix("g-decode-")


def test_what_cannot_be_rendered_is_not_tried_again() -> None:
    vllm = component("a", "decode", main={"command": ["python3"], "args": ["-m", "dynamo.vllm"]})
    sglang = component("b", "prefill", main={"command": ["python3"], "args": ["-m", "dynamo.sglang"]})
    world = GraphWorld(graph(vllm, sglang))
    answer = world.pass_over_graph()
    assert answer.terminal
    assert "spec.components[1]" in str(answer.error)
    status, reason, message = ready(world)
    assert (status, reason) == ("False", "failed_to_reconcile_the_resources")
    assert message.startswith("failed to reconcile Dynamo components deployments: ")
    assert world.deployments() == []


@pytest.mark.parametrize(("name", "field"), [("g" * 64, "metadata.name"), ("g" * 55, "spec.components[0].name")])
def test_names_that_are_too_long_are_told_before_anything_is_made(name: str, field: str) -> None:
    world = GraphWorld(graph(FRONTEND, name=name))
    answer = world.pass_over_graph(name)
    assert answer.terminal
    assert field in ready(world, name)[2]
    assert world.deployments() == []


def test_a_component_that_waits_for_a_checkpoint_does_not_start() -> None:
    waiting = {"checkpoint": {"enabled": True, "startupPolicy": "WaitForCheckpoint", "checkpointRef": "c1"}}
    world = settled(FRONTEND, component("decode", "decode", replicas=3, experimental=waiting))
    name = world.deployments()[0]
    assert world.deployment(name).spec.replicas == 0
    assert world.deployment("g-frontend").spec.replicas == 2
    assert world.graph().status.state == "pending"
    assert ready(world) == ("False", "waiting_for_checkpoint", "Waiting for checkpoints: decode (c1)")


def test_discovery_objects_are_made_once_and_mended_when_they_go() -> None:
    world = settled(FRONTEND)
    binding = world.cache.get(ROLE_BINDING, "ns/g-k8s-service-discovery-binding")
    assert binding is not None
    assert binding.content()["roleRef"]["name"] == "g-k8s-service-discovery-role"
    world.cache.delete(ROLE, "ns/g-k8s-service-discovery-role")
    world.converge()
    assert world.cache.get(ROLE, "ns/g-k8s-service-discovery-role") is not None


def test_a_warning_is_told_when_the_deployment_of_its_component_is_written() -> None:
    odd = component("decode", "decode", main={"args": ["one", "two"]})
    world = GraphWorld(graph(odd))
    world.converge()
    world.converge()
    assert [(event.type, event.reason) for _, event in world.cache.events] == [("Warning", "ArgsIgnored")]
