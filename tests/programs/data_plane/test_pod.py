"""A Pod's life without a kubelet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from data_plane.annotations import CRASH, GONE_AFTER, IMAGE_ERROR, READY_AFTER, RESTART_AFTER, RESTARTS
from data_plane.pod import FINALIZER
from dynamo_ctrl.objects.builtin.core import PERSISTENT_VOLUME_CLAIM, POD
from dynamo_ctrl.objects.errors import InvalidObject

CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def status_of(world: Any, name: str = "pod") -> Any:
    return world.pod(name).status.container_statuses[0]


def ready(world: Any) -> str:
    condition = world.pod().status.condition("Ready")
    return condition.status if condition is not None else "absent"


def test_a_pod_runs_at_once_and_is_ready_after_its_time(world: Any) -> None:
    world.bare_pod()
    world.settle()
    pod = world.pod()
    assert (pod.spec.node_name, pod.status.phase, ready(world)) == ("data-plane", "Running", "False")
    assert pod.status.condition("Ready").reason == "ContainersNotReady"
    assert pod.content()["status"]["podIP"].startswith("10.244.")
    world.pass_time(1)
    assert ready(world) == "False"
    world.pass_time(1)
    assert ready(world) == "True"
    assert world.pod().status.condition("Ready").last_transition_time == world.cache.now


def test_what_the_server_said_about_a_pod_stays(world: Any) -> None:
    world.bare_pod()
    world.settle()
    assert world.pod().content()["status"]["qosClass"] == "BestEffort"


def test_a_pod_asks_to_be_looked_at_when_its_next_step_is_due(world: Any) -> None:
    world.bare_pod(annotations={READY_AFTER: "90s"})
    world.settle()
    assert world.cache.reconcile(world.programs[POD], "ns/pod").requeue_after == 90
    world.pass_time(90)
    assert world.cache.reconcile(world.programs[POD], "ns/pod").requeue_after is None


def test_a_crashing_pod_starts_again_ever_more_slowly(world: Any) -> None:
    world.bare_pod(annotations={CRASH: "true"})
    world.settle()
    waited = []
    for restarts in range(7):
        world.pass_time(2)
        status = status_of(world)
        assert status.state.waiting.reason == "CrashLoopBackOff"
        assert (status.restart_count, status.last_state.terminated.exit_code) == (restarts, 1)
        answer = world.cache.reconcile(world.programs[POD], "ns/pod")
        waited.append(answer.requeue_after)
        world.pass_time(answer.requeue_after)
        assert status_of(world).state.running is not None
        assert status_of(world).restart_count == restarts + 1
        assert status_of(world).last_state.terminated.exit_code == 1
    assert waited == [10, 20, 40, 80, 160, 300, 300]
    assert ready(world) == "False"


def test_a_crashing_pod_can_be_told_how_fast_and_how_often_it_starts_again(world: Any) -> None:
    world.bare_pod(annotations={CRASH: "true", RESTART_AFTER: "5s", RESTARTS: "2"})
    world.settle()
    for _ in range(2):
        world.pass_time(2)
        assert world.cache.reconcile(world.programs[POD], "ns/pod").requeue_after == 5
        world.pass_time(5)
    world.pass_time(2)
    assert world.cache.reconcile(world.programs[POD], "ns/pod").requeue_after is None
    world.pass_time(10_000)
    assert (status_of(world).state.waiting.reason, status_of(world).restart_count) == ("CrashLoopBackOff", 2)
    world.cache.edit(POD, "ns/pod", {"metadata": {"annotations": {CRASH: None}}})
    world.settle()
    world.pass_time(2)
    assert (ready(world), status_of(world).restart_count) == ("True", 3)


def test_a_pod_that_is_cured_becomes_ready_after_its_back_off(world: Any) -> None:
    world.bare_pod(annotations={CRASH: "true"})
    world.settle()
    world.pass_time(2)
    world.cache.edit(POD, "ns/pod", {"metadata": {"annotations": {CRASH: None}}})
    world.pass_time(10)
    world.pass_time(2)
    assert (ready(world), status_of(world).restart_count) == ("True", 1)


def test_a_ready_pod_can_be_made_to_crash(world: Any) -> None:
    world.bare_pod()
    world.settle()
    world.pass_time(2)
    world.cache.edit(POD, "ns/pod", {"metadata": {"annotations": {CRASH: "true"}}})
    world.settle()
    assert (ready(world), status_of(world).state.waiting.reason) == ("False", "CrashLoopBackOff")


def test_an_image_that_cannot_be_pulled_keeps_the_pod_pending_until_it_can(world: Any) -> None:
    world.bare_pod(annotations={IMAGE_ERROR: "true"})
    world.settle()
    world.pass_time(1000)
    assert (world.pod().status.phase, status_of(world).state.waiting.reason) == ("Pending", "ImagePullBackOff")
    world.cache.edit(POD, "ns/pod", {"metadata": {"annotations": {IMAGE_ERROR: None}}})
    world.settle()
    assert world.pod().status.phase == "Running"


def test_init_containers_end_and_sidecars_run(world: Any) -> None:
    init = [{"name": "once", "image": "i"}, {"name": "side", "image": "s", "restartPolicy": "Always"}]
    world.bare_pod(initContainers=init)
    world.settle()
    once, side = world.pod().status.init_container_statuses
    assert once.state.terminated.reason == "Completed"
    assert side.state.running is not None


def test_a_missing_claim_keeps_the_pod_unscheduled_until_it_is_bound(world: Any) -> None:
    world.bare_pod(volumes=[CLAIM])
    world.settle()
    condition = world.pod().status.condition("PodScheduled")
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert condition.message == 'persistentvolumeclaim "data" not found'
    assert (world.pod().spec.node_name, world.pod().status.phase) == ("", "Pending")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    bound = world.cache.add(
        PERSISTENT_VOLUME_CLAIM.object({"metadata": {"name": "data", "namespace": "ns"}, "spec": claim})
    )
    (watch,) = (w for w in world.programs[POD].watches.all if w.kind == PERSISTENT_VOLUME_CLAIM)
    assert [str(key) for key in watch.mapper(bound, world.cache)] == ["ns/pod"]
    world.cache.reconcile(world.programs[POD], "ns/pod")
    assert world.pod().status.condition("PodScheduled").message == "pod has unbound immediate PersistentVolumeClaims"
    world.settle()
    assert world.pod().status.phase == "Running"
    assert world.cache.get(PERSISTENT_VOLUME_CLAIM, "ns/data").content()["status"] == {
        "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
    }  # fmt: skip


def test_a_pod_that_claims_devices_stays_pending_since_no_node_has_any(world: Any) -> None:
    world.bare_pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpus"}])
    world.settle()
    condition = world.pod().status.condition("PodScheduled")
    assert (condition.status, condition.reason) == ("False", "Unschedulable")
    assert condition.message == "cannot allocate all claims"
    assert (world.pod().spec.node_name, world.pod().status.phase) == ("", "Pending")


def test_a_deleted_pod_ends_after_its_time_and_not_before(world: Any) -> None:
    world.bare_pod()
    world.settle()
    assert FINALIZER in world.pod().metadata.finalizers
    world.cache.delete(POD, "ns/pod")
    world.settle()
    assert world.pod().metadata.deletion_grace_period_seconds == 30
    world.pass_time(2)
    assert world.cache.get(POD, "ns/pod") is not None
    world.pass_time(1)
    assert world.cache.get(POD, "ns/pod") is None


def test_how_long_the_end_takes_can_be_asked_for(world: Any) -> None:
    world.bare_pod(annotations={GONE_AFTER: "0s"})
    world.settle()
    world.cache.delete(POD, "ns/pod")
    world.settle()
    assert world.cache.get(POD, "ns/pod") is None


def test_a_pod_that_no_node_has_goes_at_once(world: Any) -> None:
    world.bare_pod(volumes=[CLAIM])
    world.cache.delete(POD, "ns/pod")
    assert world.cache.get(POD, "ns/pod") is None


def test_somebody_elses_finalizer_keeps_a_pod_that_has_ended(world: Any) -> None:
    world.bare_pod()
    world.cache.edit(POD, "ns/pod", {"metadata": {"finalizers": ["example.com/other"]}})
    world.settle()
    world.cache.delete(POD, "ns/pod")
    world.pass_time(3)
    assert world.pod().metadata.finalizers == ("example.com/other",)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_left_alone(world: Any, phase: str) -> None:
    world.bare_pod()
    world.cache.set_status(POD, "ns/pod", {"phase": phase})
    world.settle()
    assert world.pod().status.phase == phase


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        (READY_AFTER, "soon", "not a duration: 'soon'"),
        (RESTART_AFTER, "", "not a duration: ''"),
        (RESTARTS, "-1", "not a number: '-1'"),
        (RESTARTS, "9" * 10, "not a number: '9999999999'"),
    ],
)
def test_what_an_annotation_cannot_say_is_named(world: Any, name: str, text: str, rule: str) -> None:
    world.bare_pod(annotations={name: text})
    answer = world.cache.reconcile(world.programs[POD], "ns/pod")
    assert isinstance(answer.error, InvalidObject)
    assert answer.error.path == f"metadata.annotations[{name}]"
    assert rule in answer.error.rule


def test_a_data_plane_that_starts_late_picks_up_where_a_pod_is(world: Any) -> None:
    world.bare_pod()
    world.settle()
    world.cache.advance(timedelta(hours=1).total_seconds())
    world.settle()
    assert ready(world) == "True"
