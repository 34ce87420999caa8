"""ReplicaSets keep their Pods."""

from __future__ import annotations

from typing import Any

from data_plane.replica_set import BURST
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.apps import REPLICA_SET, ReplicaSet
from dynamo_ctrl.objects.builtin.core import POD, SERVICE_ACCOUNT
from dynamo_ctrl.objects.patch import Patch


def create(world: Any, replicas: int, **template: Any) -> None:
    made = world.template(annotations={"note": "kept"}, **template)
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": made}
    world.cache.add(REPLICA_SET.object({"metadata": {"name": "rs", "namespace": "ns"}, "spec": spec}))


def scale(world: Any, replicas: int) -> None:
    world.cache.edit(REPLICA_SET, "ns/rs", {"spec": {"replicas": replicas}})


def reconcile(world: Any) -> Any:
    return world.cache.reconcile(world.programs[REPLICA_SET], "ns/rs")


def rs(world: Any) -> ReplicaSet:
    found: ReplicaSet = world.cache.get(REPLICA_SET, "ns/rs")
    return found


def test_missing_pods_are_made_from_the_template(world: Any) -> None:
    create(world, 3)
    reconcile(world)
    assert len(world.pods) == 3
    pod = world.pods[0]
    assert pod.metadata.name.startswith("rs-")
    assert pod.metadata.controller.name == "rs"
    assert dict(pod.metadata.labels) == {"app": "web"}
    assert pod.metadata.annotations["note"] == "kept"
    assert pod.spec.containers[0].image == "example.com/web:1"


def test_the_status_counts_the_pods_that_were_there_when_the_attempt_began(world: Any) -> None:
    create(world, 3)
    reconcile(world)
    assert (rs(world).status.replicas, rs(world).status.observed_generation) == (0, 1)
    reconcile(world)
    assert (rs(world).status.replicas, rs(world).status.fully_labeled_replicas) == (3, 3)


def test_a_pod_that_ends_is_replaced(world: Any) -> None:
    create(world, 2)
    world.settle()
    world.cache.set_status(POD, world.pods[0].key, {"phase": "Failed"})
    world.settle()
    assert sorted(pod.status.phase for pod in world.pods) == ["Failed", "Running", "Running"]
    assert rs(world).status.replicas == 2


def test_a_pod_that_somebody_deletes_is_replaced_at_once_and_counted_as_terminating(world: Any) -> None:
    create(world, 2)
    world.settle()
    world.cache.delete(POD, world.pods[0].key)
    world.settle()
    assert len(world.pods) == 3
    assert (rs(world).status.replicas, rs(world).status.terminating_replicas) == (2, 1)
    world.pass_time(3)
    assert len(world.pods) == 2
    assert rs(world).status.terminating_replicas == 0


def test_too_many_pods_lose_the_ones_that_are_not_ready(world: Any) -> None:
    create(world, 2)
    world.settle()
    world.pass_time(2)
    ready = {pod.key for pod in world.pods}
    scale(world, 4)
    world.settle()
    scale(world, 2)
    world.settle()
    assert {pod.key for pod in world.pods if pod.metadata.deletion_timestamp is None} == ready


def test_one_attempt_makes_no_more_than_a_burst(world: Any) -> None:
    create(world, BURST + 1)
    reconcile(world)
    assert len(world.pods) == BURST
    reconcile(world)
    assert len(world.pods) == BURST + 1


def test_without_its_service_account_there_are_no_pods_until_it_comes(world: Any) -> None:
    create(world, 2, serviceAccountName="runner")
    answer = reconcile(world)
    assert isinstance(answer.error, Forbidden)
    assert answer.terminal is False
    assert world.pods == []
    condition = rs(world).status.conditions[0]
    assert (condition.type, condition.status, condition.reason) == ("ReplicaFailure", "True", "FailedCreate")
    assert condition.message == (
        'pods "rs-" is forbidden: error looking up service account ns/runner: serviceaccount "runner" not found'
    )
    world.cache.add(SERVICE_ACCOUNT.object({"metadata": {"name": "runner", "namespace": "ns"}}))
    world.settle()
    assert len(world.pods) == 2
    assert rs(world).status.conditions == ()


def test_the_account_wakes_the_replica_sets_that_run_under_it(world: Any) -> None:
    create(world, 1, serviceAccountName="runner")
    account = world.cache.add(SERVICE_ACCOUNT.object({"metadata": {"name": "runner", "namespace": "ns"}}))
    (watch,) = (w for w in world.programs[REPLICA_SET].watches.all if w.kind == SERVICE_ACCOUNT)
    assert [str(key) for key in watch.mapper(account, world.cache)] == ["ns/rs"]


def test_a_refused_pod_is_a_failed_creation_and_the_others_are_counted(world: Any) -> None:
    create(world, 3)
    world.cache.faults.fail(Forbidden("quota is used up"), "create", POD)
    answer = reconcile(world)
    assert isinstance(answer.error, Forbidden)
    condition = rs(world).status.conditions[0]
    assert (condition.reason, condition.message) == ("FailedCreate", "quota is used up")
    world.settle()
    assert len(world.pods) == 3


def test_a_refused_deletion_is_a_failed_deletion(world: Any) -> None:
    create(world, 2)
    world.settle()
    scale(world, 0)
    world.cache.faults.fail(Forbidden("hands off"), "delete", POD)
    reconcile(world)
    assert rs(world).status.conditions[0].reason == "FailedDelete"


def test_a_pod_with_other_labels_is_not_fully_labelled(world: Any) -> None:
    create(world, 1)
    world.settle()
    world.cache.edit(POD, world.pods[0].key, Patch.merge({"metadata": {"labels": {"app": "other"}}}))
    world.settle()
    assert (rs(world).status.replicas, rs(world).status.fully_labeled_replicas) == (1, 0)
