"""G 7.1: the adapters of a graph, as the graph keeps them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.api.scaling_adapter import DynamoGraphDeploymentScalingAdapter
from dynamo_graph.testing import GraphWorld, component, graph

LABELS = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": "Decode"}
EVENTS = ("AdapterCreated", "AdapterUpdated", "AdapterDeleted")
WAITING = {"checkpoint": {"enabled": True, "startupPolicy": "WaitForCheckpoint", "checkpointRef": "c1"}}


def scaled(name: str = "Decode", **fields: Any) -> dict[str, Any]:
    return component(name, "decode", scalingAdapter={}, **fields)


def world_of(*components: Any) -> GraphWorld:
    return GraphWorld(graph(*components))


def adapters(world: GraphWorld) -> list[str]:
    return [each.metadata.name for each in world.cache.list(DGDSA)]


def adapter(world: GraphWorld, name: str = "g-decode") -> DynamoGraphDeploymentScalingAdapter:
    return world.cache.request(DGDSA, f"ns/{name}").object


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param({"replicas": 3}, 3, id="T-SA-01"),
        pytest.param({}, 1, id="T-SA-01 of a component that says nothing"),
    ],
)
def test_a_component_gets_its_adapter(replicas: Any, expected: int) -> None:
    world = world_of(scaled(**replicas), component("Frontend", "frontend"))
    world.pass_over_graph()
    assert adapters(world) == ["g-decode"]
    found = adapter(world)
    assert found.spec.replicas == expected
    assert dict(found.metadata.labels) == LABELS
    assert (found.spec.dgd_ref.name, found.spec.dgd_ref.component_name) == ("g", "Decode")
    assert found.metadata.controller is not None
    assert found.metadata.controller.uid == world.graph().metadata.uid
    assert world.told(*EVENTS) == ["AdapterCreated"]


@pytest.mark.parametrize("replicas", [pytest.param(5, id="T-SA-02 B8")])
def test_a_graph_never_writes_its_own_number_back(replicas: int) -> None:
    world = world_of(scaled(replicas=2))
    world.pass_over_graph()
    world.cache.edit(DGDSA, "ns/g-decode", {"spec": {"replicas": replicas}})
    for _ in range(3):
        world.pass_over_graph()
    assert adapter(world).spec.replicas == replicas
    assert world.graph().spec.components[0].replicas == 2
    assert world.told(*EVENTS) == ["AdapterCreated"]


@pytest.mark.parametrize("left", [pytest.param([], id="T-SA-05")])
def test_a_component_that_opts_out_loses_its_adapter(left: list[str]) -> None:
    world = world_of(scaled(replicas=2))
    world.finish()
    world.edit(component("Decode", "decode", replicas=2))
    world.finish()
    assert adapters(world) == left
    assert world.told(*EVENTS) == ["AdapterCreated", "AdapterDeleted"]


@pytest.mark.parametrize("left", [pytest.param(["g-decode"], id="T-SA-06")])
def test_an_adapter_of_a_component_that_left_the_graph_goes(left: list[str]) -> None:
    world = world_of(scaled(), scaled("Other"))
    world.pass_over_graph()
    assert adapters(world) == ["g-decode", "g-other"]
    world.edit(scaled())
    world.finish()
    assert adapters(world) == left


def test_adapters_of_others_are_left_alone() -> None:
    world = GraphWorld(graph(scaled()), graph(scaled(), name="h"))
    reference = {"name": "g", "componentName": "Decode"}
    metadata = {"name": "mine", "namespace": "ns", "labels": LABELS}
    world.cache.add(DGDSA.object({"metadata": metadata, "spec": {"replicas": 1, "dgdRef": reference}}))
    world.converge()
    world.edit(component("Decode", "decode"))
    world.converge()
    assert adapters(world) == ["h-decode", "mine"]


@pytest.mark.parametrize("passes", [pytest.param(3, id="T-SA-11 T-CON-17")])
def test_no_adapter_is_touched_while_a_component_waits_for_its_checkpoint(passes: int) -> None:
    world = world_of(scaled(experimental=WAITING))
    for _ in range(passes):
        world.converge()
    assert adapters(world) == []
    assert world.ready()[1] == "waiting_for_checkpoint"


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"labels": None}},
        {"metadata": {"ownerReferences": None}},
        {"spec": {"dgdRef": {"name": "x", "componentName": "y"}}},
        {"metadata": {"labels": {"nvidia.com/dynamo-component": "decode"}}},
    ],
)
def test_labels_reference_and_owner_are_brought_back(patch: dict[str, Any]) -> None:
    world = world_of(scaled(replicas=2))
    world.pass_over_graph()
    before = adapter(world).content()
    world.cache.edit(DGDSA, "ns/g-decode", {"metadata": {"labels": {"mine": "x"}}, "spec": {"replicas": 4}})
    world.cache.edit(DGDSA, "ns/g-decode", patch)
    world.pass_over_graph()
    after = adapter(world).content()
    assert after["metadata"]["ownerReferences"] == before["metadata"]["ownerReferences"]
    assert after["metadata"]["labels"].items() >= LABELS.items()
    assert after["spec"] == {**before["spec"], "replicas": 4}
    assert world.told(*EVENTS) == ["AdapterCreated", "AdapterUpdated"]


def test_another_owner_that_controls_nothing_stays_an_owner() -> None:
    world = world_of(scaled())
    owner = world.cache.add(CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}}))
    other = msgspec.to_builtins(owner_reference(owner, controller=False))
    reference = {"name": "g", "componentName": "Decode"}
    metadata = {"name": "g-decode", "namespace": "ns", "ownerReferences": [other]}
    world.cache.add(DGDSA.object({"metadata": metadata, "spec": {"replicas": 7, "dgdRef": reference}}))
    world.pass_over_graph()
    owners = [owner.name for owner in adapter(world).metadata.owner_references]
    assert owners == ["c", "g"]
    assert adapter(world).spec.replicas == 7


def test_an_adapter_that_somebody_else_controls_is_a_conflict() -> None:
    world = GraphWorld(graph(scaled()), graph(name="h"))
    owner = msgspec.to_builtins(owner_reference(world.graph("h")))
    reference = {"name": "h", "componentName": "Decode"}
    metadata = {"name": "g-decode", "namespace": "ns", "ownerReferences": [owner]}
    before = world.cache.add(DGDSA.object({"metadata": metadata, "spec": {"replicas": 7, "dgdRef": reference}})).raw
    assert world.pass_over_graph().error is not None
    assert world.ready()[2].startswith("failed to reconcile scaling adapters: ")
    assert adapter(world).raw == before
    assert world.told() == ["OwnershipConflict"]


def test_a_failing_adapter_fails_the_attempt_and_keeps_what_was_done_before() -> None:
    world = world_of(scaled())
    world.finish()
    world.cache.edit(DGD, "ns/g", {"spec": {"restart": {"id": "r1"}}})
    world.cache.delete(DGDSA, "ns/g-decode")
    world.cache.faults.fail(Forbidden("no right"), "create", DGDSA)
    assert isinstance(world.pass_over_graph().error, Forbidden)
    assert world.ready()[1:] == (
        "failed_to_reconcile_the_resources",
        "failed to reconcile scaling adapters: no right",
    )
    restart = world.graph().status.restart
    assert restart is not None
    assert restart.phase == "Restarting", "the workload that carries it was written"
    assert world.told(*EVENTS) == ["AdapterCreated"]
    world.finish()
    assert adapters(world) == ["g-decode"]


def test_a_converged_graph_writes_no_adapter() -> None:
    world = world_of(scaled(replicas=2))
    world.finish()
    writes = len(world.cache.writes)
    world.finish()
    assert world.wrote(writes) == []
