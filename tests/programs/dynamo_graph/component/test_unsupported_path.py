"""G 3.7: graphs that span nodes replace their workers without phases; what serves is recorded once it can be seen."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Forbidden
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.worker_hash import desired_hash
from dynamo_graph.testing import NOT_GROUPS, GraphWorld, component, graph

V1, V2 = "nvidia.com/current-worker-hash", "nvidia.com/current-worker-hash-v2"
H, X = "0123abcd", "fedc9876"
NOT_SUPPORTED = "Worker spec changed but custom rolling updates are not supported for Grove/multinode deployments"


def made(image: str = "registry.example/w:1.4.0", replicas: int = 1) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": "8"}}
    main = {"command": ["python3"], "args": ["-m", "dynamo.vllm", "-tp", "16"], "resources": limits}
    return component("decode", "decode", image=image, main=main, replicas=replicas, multinode={"nodeCount": 2})


OLD, NEW = made(), made(image="registry.example/w:1.4.1")
A, B = desired_hash(graph(OLD).spec), desired_hash(graph(NEW).spec)


def world_of(*components: Any, annotations: dict[str, str] | None = None) -> GraphWorld:
    return GraphWorld(graph(*(components or (OLD,)), annotations=annotations), absent=NOT_GROUPS)


def warnings(world: GraphWorld) -> list[str]:
    return [event.note for _, event in world.cache.events if event.reason == "RollingUpdateNotSupported"]


@pytest.mark.parametrize("stored", [pytest.param({}, id="T-ROLL-77")])
def test_the_first_pass_records_nothing(stored: dict[str, str]) -> None:
    world = world_of()
    world.pass_over_graph()
    assert world.hashes() == stored
    assert world.deployments() == [f"g-decode-{A}"]
    world.pass_over_graph()
    assert world.hashes() == {"v2": A}
    assert warnings(world) == []


@pytest.mark.parametrize("phase", [pytest.param(None, id="T-ROLL-76")])
def test_a_change_is_recorded_and_told_once_its_workload_can_be_seen(phase: str | None) -> None:
    world = world_of()
    world.finish()
    world.edit(NEW)
    world.pass_over_graph()
    assert world.hashes() == {"v2": A}
    assert world.deployments() == sorted([f"g-decode-{A}", f"g-decode-{B}"])
    world.pass_over_graph()
    assert world.hashes() == {"v2": B}
    assert warnings(world) == [NOT_SUPPORTED]
    world.finish()
    assert warnings(world) == [NOT_SUPPORTED]
    assert world.phase() == phase
    assert world.told("RollingUpdateStarted", "RollingUpdateCompleted") == []


@pytest.mark.parametrize("replicas", [pytest.param(1, id="T-ROLL-78"), pytest.param(3, id="several groups")])
def test_old_groups_drain_as_new_ones_become_ready_and_go(replicas: int) -> None:
    old, new = made(replicas=replicas), made(replicas=replicas, image="registry.example/w:1.4.1")
    world = world_of(old)
    world.finish()
    world.edit(new)
    world.converge()
    assert world.size(f"g-decode-{A}") == replicas, "nothing new is ready"
    assert world.graph().status.state == "pending"
    assert "old generation is being replaced" in world.ready()[2]
    world.step_pods()
    world.converge()
    assert world.size(f"g-decode-{A}") == replicas - 1
    world.finish()
    assert world.deployments() == [f"g-decode-{B}"]
    assert world.size(f"g-decode-{B}") == replicas


def test_a_missing_orchestrator_touches_no_generation() -> None:
    world = GraphWorld(graph(OLD))
    world.add_worker(f"g-decode-{X}", OLD)
    writes = len(world.cache.writes)
    world.pass_over_graph()
    assert world.ready()[1] == "no_multinode_orchestrator_available"
    assert not [write for write in world.cache.writes[writes:] if write.ref.kind == DCD]


def test_a_record_that_cannot_be_written_has_its_own_reason() -> None:
    world = world_of()
    world.finish()
    world.edit(NEW)
    world.pass_over_graph()
    world.cache.faults.fail(Forbidden("no"), "patch", DGD, subresource="")
    assert isinstance(world.pass_over_graph().error, Forbidden)
    assert world.ready()[1] == "rolling_update_failed"
    assert warnings(world) == []
    world.finish()
    assert warnings(world) == [NOT_SUPPORTED]


def test_the_suffix_of_an_older_release_is_kept_here_too() -> None:
    world = world_of(annotations={V1: H})
    world.add_worker(f"g-decode-{H}", OLD)
    world.finish()
    assert world.deployments() == [f"g-decode-{H}"]
    assert world.hashes() == {"v1": H, "v2": A}
    assert warnings(world) == []


@pytest.mark.parametrize(
    ("state", "kept"), [pytest.param("successful", True, id="ready"), pytest.param("pending", False, id="in doubt")]
)
def test_workers_of_another_program_are_adopted_where_no_phase_can_tell_of_a_rollout(state: str, kept: bool) -> None:
    world = world_of(annotations={V2: X})
    world.add_worker(f"g-decode-{X}", OLD)
    world.cache.set_status(DGD, "ns/g", {"observedGeneration": 1, "state": state})
    world.finish()
    assert world.deployments() == [f"g-decode-{X if kept else A}"]
    assert warnings(world) == ([] if kept else [NOT_SUPPORTED])


def test_a_rollout_that_began_on_single_nodes_ends_on_several() -> None:
    single = component("decode", "decode", replicas=1)
    world = world_of(single)
    world.finish()
    world.edit(component("decode", "decode", replicas=1, image="registry.example/w:1.4.1"))
    world.converge()
    assert world.phase() == "InProgress"
    world.edit(OLD)
    world.finish()
    assert world.phase() == "Completed"
    assert world.deployments() == [f"g-decode-{A}"]
    assert world.told("RollingUpdateCompleted") == ["RollingUpdateCompleted"]
