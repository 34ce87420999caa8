"""Deployments: what is written, and what is told."""

from __future__ import annotations

from typing import Any

from data_plane.annotations import (
    CRASH,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    READY_AFTER,
    REVISION,
    REVISION_HISTORY,
)
from data_plane.template import HASH_LABEL, replica_set_name, template_hash
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import BuiltinCondition
from dynamo_ctrl.testing.fake_cache import FakeCache


def condition(world: Any, type_: str) -> BuiltinCondition:
    found: BuiltinCondition | None = world.deployment.status.condition(type_)
    assert found is not None
    return found


def test_the_first_replica_set_carries_everything(world: Any) -> None:
    world.deploy(
        4, annotations={"team": "a", "kubectl.kubernetes.io/last-applied-configuration": "{}"}, minReadySeconds=2
    )
    world.settle()
    (rs,) = world.sets
    hash_ = rs.metadata.labels[HASH_LABEL]
    assert rs.metadata.name == f"web-{hash_}"
    assert rs.metadata.controller.name == "web"
    assert dict(rs.metadata.labels) == {"app": "web", HASH_LABEL: hash_}
    assert rs.spec.selector == {"matchLabels": {"app": "web", HASH_LABEL: hash_}}
    assert rs.spec.min_ready_seconds == 2
    assert dict(rs.metadata.annotations) == {
        "team": "a", REVISION: "1", DESIRED_REPLICAS: "4", MAX_REPLICAS: "5",
    }  # fmt: skip


def test_a_complete_deployment_says_so_and_writes_nothing_more(world: Any) -> None:
    world.deploy()
    world.settle()
    world.pass_time(2)
    status = world.deployment.status
    assert (status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3, 3)
    assert status.observed_generation == world.deployment.metadata.generation == 1
    assert condition(world, "Available").message == "Deployment has minimum availability."
    name = world.sets[0].metadata.name
    assert condition(world, "Progressing").message == f'ReplicaSet "{name}" has successfully progressed.'
    writes = len(world.cache.writes)
    world.pass_time(10_000)
    assert len(world.cache.writes) == writes


def test_numbers_that_are_zero_are_left_out(world: Any) -> None:
    world.deploy(0)
    world.settle()
    status = world.deployment.content()["status"]
    assert set(status) == {"observedGeneration", "terminatingReplicas", "conditions"}


def test_events_tell_every_change_of_a_size(world: Any) -> None:
    world.deploy(2)
    world.settle()
    world.pass_time(2)
    world.edit(replicas=1)
    world.settle()
    name = world.sets[0].metadata.name
    notes = [event.note for _, event in world.cache.events if event.reason == "ScalingReplicaSet"]
    assert notes == [f"Scaled up replica set {name} from 0 to 2", f"Scaled down replica set {name} from 2 to 1"]


def test_a_replica_set_that_comes_back_gets_a_new_revision_and_remembers_the_old_one(world: Any) -> None:
    world.deploy(1)
    world.settle()
    for image in ("2", "1"):
        world.edit(template=world.template(image))
        world.settle()
        for _ in range(3):
            world.pass_time(3)
    older, newer = world.sets
    assert older.metadata.annotations[REVISION] == "2"
    assert newer.metadata.annotations[REVISION] == "3"
    assert newer.metadata.annotations[REVISION_HISTORY] == "1"
    assert (older.spec.replicas, newer.spec.replicas) == (0, 1)


def test_a_taken_name_is_a_collision_and_gives_another_hash(world: Any) -> None:
    world.deploy(1)
    template = world.deployment.spec.template
    taken = replica_set_name("web", template_hash(template))
    spec = {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": world.template()}
    spec["template"]["metadata"]["labels"] = {"x": "y"}
    world.cache.add(REPLICA_SET.object({"metadata": {"name": taken, "namespace": "ns"}, "spec": spec}))
    world.cache.reconcile(world.programs[DEPLOYMENT], "ns/web")
    assert world.deployment.status.collision_count == 1
    owned = [rs for rs in world.cache.list(REPLICA_SET) if rs.metadata.controller is not None]
    assert [rs.metadata.name for rs in owned] == [replica_set_name("web", template_hash(template, 1))]


def test_a_paused_deployment_creates_nothing_and_says_so(world: Any) -> None:
    world.deploy(paused=True)
    world.settle()
    assert world.sets == []
    assert condition(world, "Progressing") == BuiltinCondition(
        "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", world.cache.now, world.cache.now
    )
    world.edit(paused=False)
    world.settle()
    assert len(world.sets) == 1


def test_a_rollout_without_progress_times_out_when_its_deadline_has_passed(world: Any) -> None:
    world.deploy(1, template=world.template(annotations={CRASH: "true", READY_AFTER: "0s"}), progressDeadlineSeconds=60)
    world.settle()
    world.pass_time(60)
    assert condition(world, "Progressing").reason == "ReplicaSetUpdated"
    world.pass_time(1)
    progressing = condition(world, "Progressing")
    assert (progressing.status, progressing.reason) == ("False", "ProgressDeadlineExceeded")
    assert progressing.message == f'ReplicaSet "{world.sets[0].metadata.name}" has timed out progressing.'


def test_the_deadline_wakes_the_deployment_by_itself(world: Any) -> None:
    world.deploy(1, template=world.template(annotations={READY_AFTER: "1h"}), progressDeadlineSeconds=60)
    world.settle()
    answer = world.cache.reconcile(world.programs[DEPLOYMENT], "ns/web")
    assert answer.requeue_after == 61


def test_progress_that_is_seen_again_only_moves_the_time_of_the_update(world: Any) -> None:
    world.deploy(2, template=world.template(annotations={READY_AFTER: "5s"}), minReadySeconds=5)
    world.settle()
    before = condition(world, "Progressing")
    world.pass_time(5)
    after = condition(world, "Progressing")
    assert (before.reason, after.reason) == ("ReplicaSetUpdated", "ReplicaSetUpdated")
    assert after.last_transition_time == before.last_transition_time
    assert (after.last_update_time - before.last_update_time).total_seconds() == 5  # type: ignore[operator]


def test_ready_pods_are_available_only_after_their_minimum(world: Any) -> None:
    world.deploy(1, minReadySeconds=10)
    world.settle()
    world.pass_time(2)
    assert (world.deployment.status.ready_replicas, world.deployment.status.available_replicas) == (1, 0)
    assert world.cache.reconcile(world.programs[REPLICA_SET], world.sets[0].key).requeue_after == 10
    world.pass_time(10)
    assert world.deployment.status.available_replicas == 1


def test_a_failing_replica_set_is_told_by_its_deployment(world: Any) -> None:
    world.deploy(1, template=world.template(serviceAccountName="absent"))
    world.settle(failing=True)
    failure = condition(world, "ReplicaFailure")
    assert (failure.status, failure.reason) == ("True", "FailedCreate")
    assert failure.message.endswith('serviceaccount "absent" not found')


def test_a_replica_set_that_cannot_be_created_is_told(world: Any) -> None:
    world.deploy(1)
    world.cache.faults.fail(Forbidden("quota is used up"), "create", REPLICA_SET)
    answer = world.cache.reconcile(world.programs[DEPLOYMENT], "ns/web")
    assert isinstance(answer.error, Forbidden)
    progressing = condition(world, "Progressing")
    assert (progressing.status, progressing.reason) == ("False", "ReplicaSetCreateError")
    assert progressing.message.endswith(": quota is used up")
    world.settle()
    assert condition(world, "Progressing").reason == "ReplicaSetUpdated"


def test_recreate_waits_for_the_end_of_the_last_old_pod(world: Any) -> None:
    world.deploy(2, strategy={"type": "Recreate"})
    world.settle()
    world.pass_time(2)
    world.edit(template=world.template("2"))
    world.settle()
    assert [rs.spec.replicas for rs in world.sets] == [0]
    assert all(pod.metadata.deletion_timestamp is not None for pod in world.pods)
    world.pass_time(3)
    assert [rs.spec.replicas for rs in world.sets] == [0, 2]


def test_of_the_history_only_the_newest_empty_ones_are_kept(world: Any) -> None:
    world.deploy(1, revisionHistoryLimit=1)
    world.settle()
    for image in ("2", "3", "4"):
        world.edit(template=world.template(image))
        world.settle()
        for _ in range(4):
            world.pass_time(3)
    assert [rs.metadata.annotations[REVISION] for rs in world.sets] == ["3", "4"]


def test_a_revision_never_goes_back_when_the_history_is_forgotten(world: Any) -> None:
    world.deploy(1, revisionHistoryLimit=0)
    world.settle()
    world.edit(template=world.template("2"))
    world.settle()
    for _ in range(4):
        world.pass_time(3)
    assert [rs.metadata.annotations[REVISION] for rs in world.sets] == ["2"]


def test_a_deployment_deleted_takes_everything_with_it(world: Any) -> None:
    world.deploy(2)
    world.settle()
    cache: FakeCache = world.cache
    cache.delete(DEPLOYMENT, "ns/web")
    world.settle()
    assert world.sets == []
    world.pass_time(3)
    assert world.pods == []
