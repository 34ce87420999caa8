"""G 3.6.8: which worker generation one graph takes for its target, and what it does with the others."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.conditions import find
from dynamo_graph.component.worker_hash import desired_hash
from dynamo_graph.testing import GraphWorld, component, graph

V1, V2 = "nvidia.com/current-worker-hash", "nvidia.com/current-worker-hash-v2"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"
H = "0123abcd"
WORKER = component("worker", "worker", replicas=2)
A = desired_hash(graph(WORKER).spec)


def world_of(*components: Any, annotations: dict[str, str] | None = None) -> GraphWorld:
    return GraphWorld(graph(*(components or (WORKER,)), annotations=annotations))


@pytest.mark.parametrize("name", [pytest.param(f"g-worker-{A}", id="T-ROLL-54 T-HASH-24")])
def test_a_generation_that_is_there_is_the_target_and_is_recorded_when_it_is_ready(name: str) -> None:
    world = world_of()
    world.add_worker(name, WORKER, available=1)
    world.pass_over_graph()
    assert world.hashes() == {}, "it is not ready yet"
    world.finish()
    assert world.deployments() == [name]
    assert world.hashes() == {"v2": A}
    assert world.phase() is None
    assert world.told() == []


@pytest.mark.parametrize("stored", [pytest.param({V1: H, V2: A}, id="T-ROLL-55 T-HASH-22")])
def test_a_generation_with_another_name_that_serves_the_same_workers_stays(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    world.add_worker(f"g-worker-{H}", WORKER)
    world.finish()
    assert world.deployments() == [f"g-worker-{H}"]
    assert world.hashes() == {"v1": H, "v2": A}
    assert world.phase() is None
    assert world.graph().status.components["worker"].runtime_namespace == f"ns-g-{H}"


@pytest.mark.parametrize("stored", [pytest.param({V1: H, V2: A}, id="T-ROLL-56")])
def test_it_is_old_where_the_desired_one_is_there_too(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    for suffix in (H, A):
        world.add_worker(f"g-worker-{suffix}", WORKER)
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}
    assert world.phase() == "Completed"


@pytest.mark.parametrize("stored", [pytest.param({V1: H, V2: "bbbbbbbb"}, id="T-ROLL-58 T-HASH-23")])
def test_a_generation_of_other_workers_is_old(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    world.add_worker(f"g-worker-{H}", WORKER)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    assert world.deployments() == sorted([f"g-worker-{H}", f"g-worker-{A}"])
    assert world.size(f"g-worker-{H}") == 2
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}


@pytest.mark.parametrize(
    "labels", [pytest.param({HASH_LABEL: "wrong", "nvidia.com/dynamo-component": "x"}, id="T-ROLL-59")]
)
def test_a_name_and_an_owner_are_all_the_evidence(labels: dict[str, str]) -> None:
    world = world_of()
    odd = {**WORKER, "backendFramework": "sglang", "podTemplate": {"spec": {"containers": [{"name": "main"}]}}}
    world.add_worker(f"g-worker-{A}", odd, labels=labels)
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.deployment(f"g-worker-{A}").spec.backend_framework == "sglang"
    assert world.phase() is None


@pytest.mark.parametrize("owned", [pytest.param(False, id="T-ROLL-60")])
def test_a_foreign_object_with_the_name_of_a_worker_is_a_collision(owned: bool) -> None:
    world = world_of()
    before = world.add_worker(f"g-worker-{A}", WORKER, owned=owned).raw
    answer = world.pass_over_graph()
    assert answer.error is not None
    assert not answer.terminal
    _, reason, message = world.ready()
    assert reason == "rolling_update_failed"
    assert "identity collision" in message
    assert '"worker"' in message
    assert world.deployment(f"g-worker-{A}").raw == before
    assert find(world.graph().status.conditions, "OwnershipConflict") is not None
    assert world.told() == ["OwnershipConflict"]
    world.cache.delete(world.deployment(f"g-worker-{A}").kind, f"ns/g-worker-{A}")
    world.finish()


@pytest.mark.parametrize("there", [pytest.param("prefill", id="T-ROLL-61")])
def test_a_component_without_its_target_holds_the_rollout_of_all(there: str) -> None:
    prefill, decode = component("prefill", "prefill", replicas=1), component("decode", "decode", replicas=1)
    desired = desired_hash(graph(prefill, decode).spec)
    world = world_of(prefill, decode, annotations={V1: H, V2: desired})
    world.add_worker(f"g-{there}-{desired}", prefill)
    world.add_worker(f"g-decode-{H}", decode)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    assert world.size(f"g-decode-{H}") == 1
    assert f"g-decode-{desired}" in world.deployments()
    world.finish()
    assert world.deployments() == [f"g-decode-{desired}", f"g-prefill-{desired}"]


@pytest.mark.parametrize("workers", [pytest.param(0, id="T-ROLL-71")])
def test_without_workers_everything_old_drains_and_the_records_go(workers: int) -> None:
    frontend = component("Frontend", "frontend")
    world = world_of(frontend, WORKER)
    world.finish()
    world.edit(frontend)
    world.pass_over_graph()
    assert world.phase() == "InProgress"
    assert world.size(f"g-worker-{A}") == workers
    assert world.hashes() == {"v2": A}
    world.finish()
    assert world.deployments() == ["g-frontend"]
    assert world.hashes() == {}
    assert world.phase() == "Completed"


def test_a_worker_that_left_the_graph_goes_only_when_the_others_have_their_targets() -> None:
    world = world_of(WORKER, component("prefill", "prefill", replicas=1))
    world.finish()
    world.edit(WORKER)
    world.pass_over_graph()
    (gone,) = [name for name in world.deployments() if "prefill" in name]
    assert world.size(gone) == 1
    assert world.graph().status.components["prefill"].updated_replicas == 0
    world.pass_over_graph()
    assert world.size(gone) == 0
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert sorted(world.graph().status.components) == ["worker"]


def test_names_that_would_be_taken_twice_are_told_before_anything_is_made() -> None:
    world = world_of(component(f"worker-{A}", "frontend"), WORKER)
    answer = world.pass_over_graph()
    assert answer.terminal
    assert f'makes the name "g-worker-{A}", which spec.components[0] makes as well' in world.ready()[2]
    assert world.deployments() == []


def test_the_records_of_a_ready_graph_are_written_once() -> None:
    world = world_of()
    world.finish()
    writes = len(world.cache.writes)
    for _ in range(3):
        world.pass_over_graph()
    assert world.wrote(writes) == []
