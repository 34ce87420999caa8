"""G 3.6.1, 3.6.4-3.6.9: a rollout pass by pass, with its status, its events and its end."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.worker_hash import desired_hash
from dynamo_graph.testing import GraphWorld, component, graph

NEW_IMAGE = "registry.example/w:1.4.1"
WORKER = component("worker", "worker", replicas=2)
CHANGED = component("worker", "worker", replicas=2, image=NEW_IMAGE)
A, B = desired_hash(graph(WORKER).spec), desired_hash(graph(CHANGED).spec)
ROLLING = ("RollingUpdateStarted", "RollingUpdateCompleted")


def serving(*components: Any) -> GraphWorld:
    world = GraphWorld(graph(*(components or (WORKER,))))
    world.finish()
    return world


def run_only(world: GraphWorld, *images: str) -> dict[str, tuple[int, int]]:
    """Pods of these images become available, all others never do; image to what is asked for and available in the end."""
    sizes: dict[str, tuple[int, int]] = {}
    for _ in range(40):
        before = world.cache.core.version
        for each in world.cache.list(DEPLOYMENT):
            image, size = each.content()["spec"]["template"]["spec"]["containers"][0]["image"], each.spec.replicas or 0
            available = size if image in images else 0
            status = {
                "observedGeneration": each.metadata.generation,
                "conditions": [{"type": "Available", "status": str(available == size)}],
                "replicas": size,
                "updatedReplicas": size,
                "readyReplicas": available,
                "availableReplicas": available,
            }
            world.cache.set_status(DEPLOYMENT, each.key, status)
            sizes[image] = (size, available)
        world.converge()
        if world.cache.core.version == before:
            return sizes
    raise AssertionError("it does not come to rest")


def deletions(world: GraphWorld) -> list[Any]:
    return [write.error for write in world.cache.writes if write.verb == "delete" and write.ref.kind == DCD]


def test_a_changed_worker_becomes_a_new_generation() -> None:
    frontend = component("Frontend", "frontend")
    world = serving(frontend, WORKER)
    before = world.graph().status.components["worker"].runtime_namespace
    world.edit(frontend, CHANGED)
    world.pass_over_graph()
    status = world.graph().status
    assert (world.phase(), status.state, world.ready()[1]) == ("Pending", "pending", "rolling_update_in_progress")
    assert status.components["worker"].runtime_namespace == before
    assert status.components["worker"].updated_replicas == 0
    world.pass_over_graph()
    assert world.phase() == "InProgress"
    world.finish()
    assert world.deployments() == ["g-frontend", f"g-worker-{B}"]
    assert world.hashes() == {"v2": B}
    rollout = world.graph().status.rolling_update
    assert rollout is not None
    assert (rollout.phase, rollout.updated_components) == ("Completed", ("worker",))
    assert rollout.end_time is not None
    assert world.told(*ROLLING) == [*ROLLING]
    assert world.graph().status.components["worker"].runtime_namespace == f"ns-g-{B}"


@pytest.mark.parametrize(
    "patched", [pytest.param("replicas", id="T-ROLL-64 no replica patch while the target is missing")]
)
def test_the_pass_that_makes_the_target_touches_nothing_old(patched: str) -> None:
    world = serving()
    world.edit(CHANGED)
    writes = len(world.cache.writes)
    world.pass_over_graph()
    assert world.wrote(writes)[0].startswith("create")
    assert not [write for write in world.wrote(writes) if patched in write and A in write]
    assert world.phase() == "Pending"


@pytest.mark.parametrize("passes", [pytest.param(3, id="T-ROLL-65")])
def test_nothing_old_is_deleted_before_the_new_one_is_ready(passes: int) -> None:
    world = serving()
    world.edit(CHANGED)
    for _ in range(passes):
        world.converge()
    assert deletions(world) == []
    assert world.phase() == "InProgress"
    assert world.size(f"g-worker-{A}") == 2


@pytest.mark.parametrize(
    ("through", "rollout", "expected"),
    [
        pytest.param(False, "InProgress", ("pending", "False", "rolling_update_in_progress"), id="T-CON-11"),
        pytest.param(True, "Completed", ("successful", "True", "all_resources_are_ready"), id="T-CON-12"),
    ],
)
def test_the_headline_while_a_rollout_is_under_way_and_after_it(
    through: bool, rollout: str, expected: tuple[str, str, str]
) -> None:
    world = serving()
    world.edit(CHANGED)
    world.converge()
    if through:
        world.run_pods()
    assert world.phase() == rollout
    status, reason, message = world.ready()
    assert (world.graph().status.state, status, reason) == expected
    assert message == ("All resources are ready" if through else "Rolling update in progress")


@pytest.mark.parametrize("target", [pytest.param(2, id="T-REND-10")])
def test_the_size_of_a_rollout_wins_over_that_of_its_component_and_touches_no_other(target: int) -> None:
    surge = {"annotations": {"nvidia.com/deployment-rolling-update-max-surge": str(target)}}
    new = component("worker", "worker", replicas=5, podTemplate={**CHANGED["podTemplate"], "metadata": surge})
    frontend = component("Frontend", "frontend", replicas=5)
    world = serving(frontend, component("worker", "worker", replicas=5))
    world.edit(frontend, new)
    world.pass_over_graph()
    (name,) = [each for each in world.deployments() if each not in (f"g-worker-{A}", "g-frontend")]
    assert world.size(name) == target
    assert world.size("g-frontend") == 5


@pytest.mark.parametrize(
    ("meanwhile", "deletes"),
    [
        pytest.param("gone", 1, id="T-ROLL-66 not found is fine"),
        pytest.param("another", 1, id="T-ROLL-66 another one of that name is not meant"),
        pytest.param("moved", 2, id="one that moved is decided anew"),
    ],
)
def test_an_old_generation_is_deleted_as_what_it_was_seen_to_be(meanwhile: str, deletes: int) -> None:
    world = serving()
    world.edit(CHANGED)
    old = f"ns/g-worker-{A}"

    def happens() -> None:
        if meanwhile == "moved":
            world.cache.edit(DCD, old, {"metadata": {"labels": {"moved": "yes"}}})
            return
        world.cache.edit(DCD, old, {"metadata": {"finalizers": None}})
        world.cache.delete(DCD, old)
        if meanwhile == "another":
            world.add_worker(f"g-worker-{A}", WORKER, owned=False)

    world.cache.faults.interleave(happens, "delete", DCD)
    world.finish()
    left = [f"g-worker-{A}"] if meanwhile == "another" else []
    assert world.deployments() == sorted([*left, f"g-worker-{B}"])
    assert len(deletions(world)) == deletes
    assert world.phase() == "Completed"


@pytest.mark.parametrize("order", [pytest.param("deletion, then completion", id="T-ROLL-62 one pass later")])
def test_what_completes_does_so_one_pass_after_the_deletion(order: str) -> None:
    world = serving()
    world.edit(CHANGED)
    for _ in range(30):
        world.step_pods()
        for name in world.deployments():
            world.pass_over_deployment(name)
        world.pass_over_graph()
        if deletions(world):
            break
    assert world.phase() == "InProgress", order
    assert world.hashes() == {"v2": A}
    world.pass_over_deployment(f"g-worker-{A}")
    world.pass_over_graph()
    assert world.phase() == "Completed"
    assert world.hashes() == {"v2": B}


@pytest.mark.parametrize("lost", [pytest.param(True, id="T-ROLL-63 T-E2E-08 B4 B6"), pytest.param(False, id="kept")])
def test_lost_annotations_hide_no_old_generation(lost: bool) -> None:
    world = serving()
    if lost:
        world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": None}})
    world.edit(CHANGED)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    assert world.size(f"g-worker-{A}") == 2
    world.finish()
    assert world.deployments() == [f"g-worker-{B}"]
    assert world.hashes() == {"v2": B}


def test_lost_annotations_alone_change_nothing_but_annotations() -> None:
    world = serving()
    before = len(world.cache.writes)
    world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": None}})
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}
    assert all(write.ref.kind == DGD for write in world.cache.writes[before:])
    assert world.phase() is None


@pytest.mark.parametrize("reverted", [pytest.param(WORKER, id="T-ROLL-62")])
def test_a_revert_serves_on_until_what_it_goes_back_to_is_ready(reverted: Any) -> None:
    world = serving()
    world.edit(CHANGED)
    world.finish()
    world.edit(reverted)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    for _ in range(3):
        world.converge()
    assert world.size(f"g-worker-{B}") == 2, "the other one is not ready yet"
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.hashes() == {"v2": A}
    assert world.phase() == "Completed"


@pytest.mark.parametrize("reverted", [pytest.param(WORKER, id="B5")])
def test_a_revert_in_mid_rollout_deletes_nothing_at_once_and_completes_as_the_first(reverted: Any) -> None:
    world = serving()
    world.edit(CHANGED)
    world.converge()
    world.step_pods()
    world.converge()
    assert world.size(f"g-worker-{A}") == 1
    world.edit(reverted)
    world.pass_over_graph()
    assert world.phase() == "InProgress"
    assert deletions(world) == []
    world.finish()
    assert world.deployments() == [f"g-worker-{A}"]
    assert world.told(*ROLLING) == [*ROLLING]


@pytest.mark.parametrize("image", [pytest.param("registry.example/w:1.4.2", id="T-ROLL-75")])
def test_a_change_in_mid_rollout_makes_the_target_old_and_completes_only_the_last(image: str) -> None:
    world = serving()
    world.edit(CHANGED)
    world.converge()
    last = component("worker", "worker", replicas=2, image=image)
    world.edit(last)
    world.pass_over_graph()
    assert world.phase() == "Pending"
    assert len(world.deployments()) == 3
    world.finish()
    suffix = desired_hash(graph(last).spec)
    assert world.deployments() == [f"g-worker-{suffix}"]
    completed = [event.note for _, event in world.cache.events if event.reason == "RollingUpdateCompleted"]
    assert completed == [f"Rolling update completed, worker hash {suffix}"]
    assert world.told("RollingUpdateStarted") == ["RollingUpdateStarted"] * 2


@pytest.mark.parametrize("phases", [pytest.param(("Pending", "InProgress", "Completed"), id="T-ROLL-74")])
def test_every_phase_is_seen_and_each_end_of_it_is_told_once(phases: tuple[str, ...]) -> None:
    world = serving()
    world.edit(CHANGED)
    seen: list[str | None] = []
    for _ in range(20):
        world.step_pods()
        for name in world.deployments():
            world.pass_over_deployment(name)
        world.pass_over_graph()
        if world.phase() not in seen[-1:]:
            seen.append(world.phase())
    assert tuple(seen) == phases
    assert world.told(*ROLLING) == [*ROLLING]


def recreated(image: str = "registry.example/w:1.4.0") -> Any:
    found = component("worker", "worker", replicas=2, image=image)
    found["podTemplate"]["metadata"] = {"annotations": {"nvidia.com/deployment-strategy": "Recreate"}}
    return found


@pytest.mark.parametrize(
    "phase_of_pod",
    [pytest.param("Running", id="T-ROLL-67 T-ROLL-68"), pytest.param("Failed", id="T-ROLL-69 ended")],
)
def test_recreate_waits_for_the_last_pod(phase_of_pod: str) -> None:
    world = serving(recreated())
    (old,) = world.deployments()
    labels = {
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-component": "worker",
        "nvidia.com/dynamo-component-type": "worker",
        "nvidia.com/selector": old,
    }
    metadata, spec = (
        {"name": "last", "namespace": "ns", "labels": labels},
        {"containers": [{"name": "c", "image": "i"}]},
    )
    world.cache.add(POD.object({"metadata": metadata, "spec": spec, "status": {"phase": phase_of_pod}}))
    world.edit(recreated(NEW_IMAGE))
    world.pass_over_graph()
    (new,) = [name for name in world.deployments() if name != old]
    assert (world.size(new), world.size(old)) == (0, 2), "made at zero, the old one untouched"
    world.pass_over_graph()
    assert (world.size(new), world.size(old)) == (0, 0)
    world.converge()
    world.run_pods()
    if phase_of_pod == "Running":
        assert (world.size(new), world.size(old)) == (0, 0)
        world.cache.delete(POD, "ns/last")
    world.finish()
    assert world.deployments() == [new]
    assert world.size(new) == 2


def test_a_generation_that_is_wanted_again_was_not_edited_by_hand(logs: list[Any]) -> None:
    world = serving()
    world.edit(CHANGED)
    world.converge()
    world.step_pods()
    world.converge()
    assert world.size(f"g-worker-{A}") == 1
    world.edit(WORKER)
    world.finish()
    assert [line["event"] for line in logs if "hand" in line["event"]] == []


def test_what_serves_outlives_any_number_of_changes_that_never_do() -> None:
    """A generation in between that never serves has no share in what may be missing (ai-dynamo/dynamo#10184)."""
    changes = [component("worker", "worker", replicas=3, image=image) for image in "abc"]
    world = GraphWorld(graph(changes[0]))
    assert run_only(world, "a") == {"a": (3, 3)}
    world.edit(changes[1])
    assert run_only(world, "a") == {"a": (3, 3), "b": (1, 0)}
    world.edit(changes[2])
    assert run_only(world, "a") == {"a": (3, 3), "b": (0, 0), "c": (1, 0)}
    run_only(world, "a", "c")
    assert run_only(world, "c") == {"c": (3, 3)}
    assert world.phase() == "Completed"
