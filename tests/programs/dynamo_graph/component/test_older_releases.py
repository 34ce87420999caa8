"""G 3.5.3, 3.5.4, D2: worker generations that another program left are migrated, replaced or adopted."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Conflict, Forbidden
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.worker_hash import desired_hash
from dynamo_graph.testing import GraphWorld, component, graph

V1, V2 = "nvidia.com/current-worker-hash", "nvidia.com/current-worker-hash-v2"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"
H, X = "0123abcd", "fedc9876"
WORKER = component("worker", "worker", replicas=2)
CHANGED = component("worker", "worker", replicas=2, image="registry.example/w:1.4.1")
A = desired_hash(graph(WORKER).spec)
B = desired_hash(graph(CHANGED).spec)
SELECTED = {"nvidia.com/workload-provider": "component"}
FINALIZER = ("nvidia.com/finalizer",)


def world_of(*components: Any, annotations: dict[str, str] | None = None) -> GraphWorld:
    found = {**SELECTED, **(annotations or {})}
    return GraphWorld(graph(*(components or (WORKER,)), annotations=found, finalizers=FINALIZER))


def left_by_another(annotations: dict[str, str], *suffixes: str, **status: Any) -> GraphWorld:
    """A graph that another program called good, with a deployment of each suffix."""
    world = world_of(annotations=annotations)
    for suffix in suffixes:
        world.add_worker(f"g-worker-{suffix}", WORKER)
    world.cache.set_status(DGD, "ns/g", {"observedGeneration": 1, "state": "successful", **status})
    return world


@pytest.mark.parametrize("count", [pytest.param(2, id="T-HASH-26 T-HASH-25")])
def test_workers_without_a_hash_are_marked_and_replaced(count: int) -> None:
    parts = (component("decode", "decode", replicas=1), component("prefill", "prefill", replicas=1))
    world = world_of(*parts)
    for part in parts:
        world.add_worker(f"g-{part['name']}", part, labels={HASH_LABEL: ""})
    world.pass_over_graph()
    marks = [world.deployment(f"g-{part['name']}").metadata.labels[HASH_LABEL] for part in parts]
    assert marks == ["legacy", "legacy"]
    assert world.hashes() == {"v1": "legacy"}
    started = [event.note for _, event in world.cache.events if event.reason == "LegacyMigrationStarted"]
    assert len(started) == 1
    assert f"{count} worker deployments" in started[0]
    assert world.phase() == "Pending"
    world.finish()
    desired = desired_hash(graph(*parts).spec)
    assert world.deployments() == [f"g-decode-{desired}", f"g-prefill-{desired}"]
    assert world.hashes() == {"v2": desired}
    assert world.told("LegacyMigrationStarted") == ["LegacyMigrationStarted"]


@pytest.mark.parametrize(
    ("kind", "marked"), [pytest.param(DCD, False, id="marking"), pytest.param(DGD, True, id="recording")]
)
def test_a_marking_that_fails_has_its_own_reason_and_is_made_good(kind: Any, marked: bool) -> None:
    world = world_of()
    world.add_worker("g-worker", WORKER, labels={HASH_LABEL: ""})
    world.cache.faults.fail(Forbidden("no"), "patch", kind, subresource="")
    assert isinstance(world.pass_over_graph().error, Forbidden)
    assert world.ready()[1] == "failed_to_initialize_worker_hash"
    assert (HASH_LABEL in world.deployment("g-worker").metadata.labels) is marked
    assert world.deployments() == ["g-worker"]
    world.finish()
    assert world.told("LegacyMigrationStarted") == ["LegacyMigrationStarted"]
    assert world.deployments() == [f"g-worker-{A}"]


@pytest.mark.parametrize("mark", [pytest.param("legacy", id="B22")])
def test_pods_of_marked_workers_stay_as_they_are(mark: str) -> None:
    world = world_of()
    world.add_worker("g-worker", WORKER, labels={HASH_LABEL: ""})
    world.pass_over_deployment("g-worker")
    before = world.cache.request(DEPLOYMENT, "ns/g-worker").object.spec.template
    world.pass_over_graph()
    assert world.deployment("g-worker").metadata.labels[HASH_LABEL] == mark
    world.pass_over_deployment("g-worker")
    assert world.cache.request(DEPLOYMENT, "ns/g-worker").object.spec.template == before
    status = world.deployment("g-worker").status.component
    assert status is not None
    assert status.runtime_namespace == "ns-g"


@pytest.mark.parametrize("stored", [pytest.param({V1: H}, id="T-HASH-20")])
def test_the_suffix_of_an_older_release_is_kept_and_its_hash_recorded(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    world.add_worker(f"g-worker-{H}", WORKER)
    world.pass_over_graph()
    assert world.hashes() == {"v1": H, "v2": A}
    assert world.told() == ["WorkerHashMigrated"]
    assert world.deployments() == [f"g-worker-{H}"]
    world.finish()
    assert world.deployments() == [f"g-worker-{H}"]
    assert world.told() == ["WorkerHashMigrated"]


@pytest.mark.parametrize("stored", [pytest.param({V1: H}, id="T-HASH-21 T-ROLL-57")])
def test_no_hash_is_recorded_for_an_older_suffix_during_a_rollout(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    world.add_worker(f"g-worker-{H}", WORKER)
    world.cache.set_status(DGD, "ns/g", {"rollingUpdate": {"phase": "InProgress"}})
    world.pass_over_graph()
    assert world.hashes() == {"v1": H}
    assert world.phase() == "Pending"
    assert f"g-worker-{A}" in world.deployments()
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}


@pytest.mark.parametrize("stored", [pytest.param({V1: H}, id="T-HASH-27")])
def test_a_migration_that_fails_has_its_own_reason(stored: dict[str, str]) -> None:
    world = world_of(annotations=stored)
    world.add_worker(f"g-worker-{H}", WORKER)
    world.cache.faults.fail(Forbidden("no"), "patch", DGD, subresource="")
    assert isinstance(world.pass_over_graph().error, Forbidden)
    assert world.ready()[1] == "failed_to_migrate_worker_hash"
    assert world.deployments() == [f"g-worker-{H}"]
    world.finish()
    assert world.hashes() == {"v1": H, "v2": A}


@pytest.mark.parametrize(
    ("stored", "suffix", "recorded"),
    [
        pytest.param({V2: X}, X, {"v2": X, "own": A}, id="B21 a hash that is not ours"),
        pytest.param({V1: H, V2: X}, H, {"v1": H, "v2": X, "own": A}, id="with an older suffix"),
        pytest.param({}, X, {"v2": X, "own": A}, id="annotations that were lost"),
    ],
)
def test_workers_of_another_program_are_adopted_and_not_rolled(
    stored: dict[str, str], suffix: str, recorded: dict[str, str]
) -> None:
    world = left_by_another(stored, suffix)
    world.finish()
    assert world.deployments() == [f"g-worker-{suffix}"]
    assert world.hashes() == recorded
    assert world.phase() is None
    writes = len(world.cache.writes)
    world.finish()
    assert world.wrote(writes) == []
    world.edit(component("worker", "worker", replicas=3))
    world.finish()
    assert world.deployments() == [f"g-worker-{suffix}"], "another size makes no generation"
    assert world.size(f"g-worker-{suffix}") == 3
    world.edit(CHANGED)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    world.finish()
    assert world.deployments() == [f"g-worker-{B}"]
    assert world.hashes() == {"v2": B}


@pytest.mark.parametrize(
    ("suffixes", "status"),
    [
        pytest.param((X, H), {}, id="two generations"),
        pytest.param((H,), {}, id="not the recorded one"),
        pytest.param((X,), {"observedGeneration": 0}, id="the spec was changed since"),
        pytest.param((X,), {"rollingUpdate": {"phase": "InProgress"}}, id="a rollout is under way"),
    ],
)
def test_what_may_serve_something_else_is_not_adopted(suffixes: tuple[str, ...], status: dict[str, Any]) -> None:
    world = left_by_another({V2: X}, *suffixes, **status)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}


def test_workers_of_which_one_is_missing_are_not_adopted() -> None:
    world = GraphWorld(graph(WORKER, component("prefill", "prefill"), annotations={V2: X}, finalizers=FINALIZER))
    world.add_worker(f"g-worker-{X}", WORKER)
    world.cache.set_status(DGD, "ns/g", {"observedGeneration": 1, "state": "successful"})
    world.pass_over_graph()
    assert "own" not in world.hashes()
    assert world.phase() == "Pending"


def test_an_adoption_that_comes_too_late_is_none() -> None:
    world = left_by_another({V2: X}, X)
    world.cache.faults.interleave(lambda: world.edit(CHANGED), "patch", DGD, subresource="")
    assert world.pass_over_graph().conflict
    assert world.hashes() == {"v2": X}
    world.finish()
    assert world.deployments() == [f"g-worker-{B}"]


def test_an_adoption_that_fails_is_tried_again() -> None:
    world = left_by_another({V2: X}, X)
    world.cache.faults.fail(Conflict("somebody was faster"), "patch", DGD, subresource="")
    world.finish()
    assert world.hashes() == {"v2": X, "own": A}
    assert world.told() == ["WorkerHashMigrated"]
