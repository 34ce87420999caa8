"""LeaderWorkerSets in the simulated data plane: groups come, are replaced, are made anew, and go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from data_plane.annotations import CRASH
from data_plane.leader_worker_set import LeaderWorkerSetProgram
from data_plane.leader_worker_set_kind import LEADER_WORKER_SET, LeaderWorkerSet, definition
from data_plane.pod import PodOptions, PodProgram
from dynamo_ctrl.objects.builtin.core import POD, SERVICE, SERVICE_ACCOUNT, Pod
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.testing.fake_cache import FakeCache

PREFIX = "leaderworkerset.sigs.k8s.io/"


def template(image: str = "1", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": f"example.com/engine:{image}", "env": [{"name": "A", "value": "1"}]}
    return {
        "metadata": {"labels": {"app": "x"}, "annotations": annotations or {}},
        "spec": {"containers": [container], **spec},
    }


class Sets:
    """The LeaderWorkerSet `ns/x`, its Pods, and a clock."""

    def __init__(self) -> None:
        self.cache = FakeCache()
        self.programs = (
            LeaderWorkerSetProgram(),
            PodProgram(PodOptions(ready_after=timedelta(seconds=2), gone_after=timedelta(seconds=3))),
        )

    def make(self, replicas: int = 2, size: int = 3, *, strategy: Any = None, **fields: Any) -> None:
        """Create it, with the defaults of its definition."""
        group = {"leaderTemplate": template("1"), "workerTemplate": template("1"), "size": size}
        group["restartPolicy"] = fields.pop("restartPolicy", "RecreateGroupOnPodRestart")
        spec = {"replicas": replicas, "leaderWorkerTemplate": group, "rolloutStrategy": strategy or {}, **fields}
        self.cache.add(LEADER_WORKER_SET.object({"metadata": {"name": "x", "namespace": "ns"}, "spec": spec}))

    def edit(self, **spec: Any) -> None:
        self.cache.edit(LEADER_WORKER_SET, "ns/x", {"spec": spec})

    def settle(self) -> None:
        """Run everything until nothing is written any more at this moment."""
        for _ in range(200):
            before = len(self.cache.writes)
            keys: list[tuple[object, Key]] = [
                *((self.programs[0], each.key) for each in self.cache.list(LEADER_WORKER_SET)),
                *((self.programs[1], each.key) for each in self.cache.list(POD)),
            ]
            for program, key in keys:
                answer = self.cache.reconcile(program, key)
                assert answer.error is None, answer.error
            if len(self.cache.writes) == before:
                return
        raise AssertionError("no rest")

    def run(self, seconds: float = 20, *, watch: Callable[[], None] | None = None) -> None:
        """Let time pass, second by second."""
        for _ in range(int(seconds)):
            self.settle()
            if watch is not None:
                watch()
            self.cache.advance(1)
        self.settle()

    @property
    def lws(self) -> LeaderWorkerSet:
        found = self.cache.get(LEADER_WORKER_SET, "ns/x")
        assert found is not None
        return found

    def pod(self, name: str) -> Pod:
        found = self.cache.get(POD, f"ns/{name}")
        assert found is not None
        return found

    @property
    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.cache.list(POD)]

    @property
    def uids(self) -> dict[str, str]:
        return {pod.metadata.name: pod.metadata.uid for pod in self.cache.list(POD)}

    @property
    def images(self) -> set[str]:
        return {container.image.rpartition(":")[2] for pod in self.cache.list(POD) for container in pod.spec.containers}

    @property
    def conditions(self) -> dict[str, str]:
        return {condition.type: condition.status for condition in self.lws.status.conditions}

    def ready_groups(self) -> int:
        """How many groups serve, whatever the status says."""
        size = self.lws.spec.leader_worker_template.size
        groups: dict[str, int] = {}
        for pod in self.cache.list(POD):
            ready = pod.status.condition("Ready")
            if ready is not None and ready.status == "True" and pod.metadata.deletion_timestamp is None:
                index = pod.metadata.labels[f"{PREFIX}group-index"]
                groups[index] = groups.get(index, 0) + 1
        return sum(number == size for number in groups.values())


@pytest.fixture
def sets() -> Sets:
    return Sets()


def test_every_group_gets_a_leader_and_its_workers_and_becomes_ready(sets: Sets) -> None:
    sets.make()
    sets.settle()
    assert sets.names == ["x-0", "x-0-1", "x-0-2", "x-1", "x-1-1", "x-1-2"]
    assert sets.conditions == {"Progressing": "True"}
    sets.run(5)
    status = sets.lws.status
    assert (status.replicas, status.ready_replicas, status.updated_replicas) == (2, 2, 2)
    assert status.observed_generation == sets.lws.metadata.generation
    assert sets.conditions == {"Progressing": "False", "Available": "True"}
    writes = len(sets.cache.writes)
    sets.settle()
    assert len(sets.cache.writes) == writes


def test_pods_say_where_they_stand_and_find_their_leader(sets: Sets) -> None:
    sets.make()
    sets.settle()
    leader, worker = sets.pod("x-1"), sets.pod("x-1-2")
    assert leader.metadata.labels["app"] == "x"
    labels = {name: worker.metadata.labels[f"{PREFIX}{name}"] for name in ("name", "group-index", "worker-index")}
    assert labels == {"name": "x", "group-index": "1", "worker-index": "2"}
    assert leader.metadata.labels[f"{PREFIX}group-key"] == worker.metadata.labels[f"{PREFIX}group-key"]
    assert leader.metadata.labels[f"{PREFIX}group-key"] != sets.pod("x-0").metadata.labels[f"{PREFIX}group-key"]
    assert worker.metadata.annotations[f"{PREFIX}size"] == "3"
    assert worker.metadata.annotations[f"{PREFIX}leader-name"] == "x-1"
    assert f"{PREFIX}leader-name" not in leader.metadata.annotations
    env = {entry.name: entry.value for entry in worker.spec.containers[0].env}
    assert list(env) == ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX", "A"]
    assert env == {"LWS_LEADER_ADDRESS": "x-1.x.ns", "LWS_GROUP_SIZE": "3", "LWS_WORKER_INDEX": "2", "A": "1"}
    spec = worker.content()["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("x-1-2", "x")


def test_init_containers_get_the_variables_too_and_a_user_cannot_hide_them(sets: Sets) -> None:
    sets.make(1)
    waiting = {"name": "wait", "image": "i", "env": [{"name": "LWS_WORKER_INDEX", "value": "7"}]}
    sets.edit(leaderWorkerTemplate={"workerTemplate": template(initContainers=[waiting])})
    sets.settle()
    (init,) = sets.pod("x-0-2").spec.init_containers
    assert {entry.name: entry.value for entry in init.env} == {
        "LWS_LEADER_ADDRESS": "x-0.x.ns",
        "LWS_GROUP_SIZE": "3",
        "LWS_WORKER_INDEX": "2",
    }


@pytest.mark.parametrize(
    ("network", "services", "address"),
    [(None, {"x"}, "x-1.x.ns"), ({"subdomainPolicy": "UniquePerReplica"}, {"x-0", "x-1"}, "x-1.x-1.ns")],
)
def test_names_live_in_headless_services(sets: Sets, network: Any, services: set[str], address: str) -> None:
    sets.make(**({"networkConfig": network} if network else {}))
    sets.settle()
    found = sets.cache.list(SERVICE)
    assert {service.metadata.name for service in found} == services
    assert all(service.content()["spec"]["clusterIP"] == "None" for service in found)
    assert sets.pod("x-1-1").spec.containers[0].env[0].value == address


def test_the_leader_has_the_template_of_the_workers_if_it_has_none(sets: Sets) -> None:
    sets.make(1, 2)
    sets.edit(leaderWorkerTemplate={"leaderTemplate": None, "workerTemplate": template("7")})
    sets.settle()
    assert sets.images == {"7"}


def test_workers_wait_for_a_ready_leader_where_that_is_wanted(sets: Sets) -> None:
    sets.make(1, startupPolicy="LeaderReady")
    sets.settle()
    assert sets.names == ["x-0"]
    sets.run(3)
    assert sets.names == ["x-0", "x-0-1", "x-0-2"]


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 0)])
def test_groups_are_added_and_taken_away_from_the_end(sets: Sets, before: int, after: int) -> None:
    sets.make(before)
    sets.run(5)
    kept = {name: uid for name, uid in sets.uids.items() if int(name.split("-")[1]) < after}
    sets.edit(replicas=after)
    sets.run(10)
    assert sets.names == [f"x-{index}{rest}" for index in range(after) for rest in ("", "-1", "-2")]
    assert kept.items() <= sets.uids.items()
    assert (sets.lws.status.replicas, sets.lws.status.ready_replicas) == (after, after)
    assert sets.conditions["Available"] == "True"


@pytest.mark.parametrize(
    ("update", "least", "most"),
    [
        pytest.param({}, 3, 4, id="one at a time"),
        pytest.param({"maxUnavailable": 2}, 2, 4, id="two at a time"),
        pytest.param({"maxUnavailable": "50%"}, 2, 4, id="half"),
        pytest.param({"maxUnavailable": 0, "maxSurge": 1}, 4, 5, id="surge"),
        pytest.param({"maxUnavailable": 1, "maxSurge": 2}, 3, 6, id="both"),
        pytest.param({"maxUnavailable": 0, "maxSurge": 0}, 3, 4, id="neither"),
    ],
)
def test_new_templates_replace_group_after_group_within_the_bounds(
    sets: Sets, update: dict[str, Any], least: int, most: int
) -> None:
    sets.make(4, 2, strategy={"type": "RollingUpdate", "rollingUpdateConfiguration": update})
    sets.run(5)
    before = sets.uids
    sets.edit(leaderWorkerTemplate={"leaderTemplate": template("2"), "workerTemplate": template("2")})
    seen: list[tuple[int, int]] = []
    updating: list[bool] = []

    def look() -> None:
        seen.append((sets.ready_groups(), sum("-" not in name[2:] for name in sets.names)))
        updating.append(sets.conditions.get("UpdateInProgress") == "True")

    sets.run(60, watch=look)
    assert min(ready for ready, _ in seen) >= least
    assert max(groups for _, groups in seen) <= most
    assert sets.images == {"2"}
    assert not set(before.values()) & set(sets.uids.values())
    assert len(sets.names) == 8
    assert any(updating)
    assert not updating[-1]
    assert sets.conditions == {"Progressing": "False", "Available": "True", "UpdateInProgress": "False"}
    assert sets.lws.status.updated_replicas == 4


def test_groups_before_the_partition_stay(sets: Sets) -> None:
    sets.make(3, 2, strategy={"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 2}})
    sets.run(5)
    before = sets.uids
    sets.edit(leaderWorkerTemplate={"leaderTemplate": template("2"), "workerTemplate": template("2")})
    sets.run(30)
    assert {name for name, uid in sets.uids.items() if before.get(name) == uid} == {"x-0", "x-0-1", "x-1", "x-1-1"}
    assert sets.lws.status.updated_replicas == 1


def test_a_template_that_never_works_stops_a_rollout(sets: Sets) -> None:
    sets.make(4, 2)
    sets.run(5)
    broken = template("2", {"data-plane.dynamo-ctrl.io/image-error": "true"})
    sets.edit(leaderWorkerTemplate={"leaderTemplate": broken, "workerTemplate": broken})
    sets.run(40)
    assert sets.ready_groups() == 3
    assert sets.lws.status.ready_replicas == 3
    assert sets.conditions["Available"] == "False"


@pytest.mark.parametrize("victim", ["x-0", "x-0-2"])
def test_with_one_pod_the_whole_group_is_made_anew(sets: Sets, victim: str) -> None:
    sets.make()
    sets.run(5)
    before = sets.uids
    sets.cache.delete(POD, f"ns/{victim}")
    sets.run(12)
    kept = {name for name, uid in sets.uids.items() if before[name] == uid}
    assert kept == {"x-1", "x-1-1", "x-1-2"}
    assert sets.ready_groups() == 2


def test_a_container_that_starts_again_does_it_too(sets: Sets) -> None:
    sets.make(1, 2)
    sets.run(5)
    before = sets.uids
    crashing = {**sets.pod("x-0-1").content()["status"]}
    crashing["containerStatuses"] = [{**crashing["containerStatuses"][0], "restartCount": 1}]
    sets.cache.set_status(POD, "ns/x-0-1", crashing)
    sets.run(10)
    assert not set(before.values()) & set(sets.uids.values())
    assert sets.ready_groups() == 1


@pytest.mark.parametrize(("victim", "kept"), [("x-0-2", {"x-0", "x-0-1"}), ("x-0", set())])
def test_without_a_policy_a_worker_comes_back_alone_and_a_leader_takes_its_workers_along(
    sets: Sets, victim: str, kept: set[str]
) -> None:
    sets.make(1, restartPolicy="None")
    sets.run(5)
    before = sets.uids
    sets.cache.delete(POD, f"ns/{victim}")
    sets.run(12)
    assert {name for name, uid in sets.uids.items() if before[name] == uid} == kept
    assert sets.ready_groups() == 1


def test_without_a_policy_a_pod_that_ended_is_replaced(sets: Sets) -> None:
    sets.make(1, restartPolicy="None")
    sets.run(5)
    before = sets.uids
    sets.cache.set_status(POD, "ns/x-0-1", {"phase": "Failed"})
    sets.run(12)
    assert {name for name, uid in sets.uids.items() if before[name] == uid} == {"x-0", "x-0-2"}
    assert sets.ready_groups() == 1


def test_the_last_group_is_replaced_first(sets: Sets) -> None:
    sets.make(3, 1)
    sets.run(5)
    before = sets.uids
    sets.edit(leaderWorkerTemplate={"leaderTemplate": template("2"), "workerTemplate": template("2")})
    sets.run(4)
    assert {name for name, uid in sets.uids.items() if before[name] == uid} == {"x-0", "x-1"}


def test_groups_that_never_worked_are_replaced_without_waiting(sets: Sets) -> None:
    broken = template("1", {"data-plane.dynamo-ctrl.io/image-error": "true"})
    sets.make(3, 2)
    sets.edit(leaderWorkerTemplate={"leaderTemplate": broken, "workerTemplate": broken})
    sets.run(5)
    good = template("2", {"data-plane.dynamo-ctrl.io/image-error": "false"})
    sets.edit(leaderWorkerTemplate={"leaderTemplate": good, "workerTemplate": good})
    sets.run(8)
    assert sets.ready_groups() == 3


def test_after_start_a_group_that_never_ran_is_left_alone(sets: Sets) -> None:
    sets.make(1, 2, restartPolicy="RecreateGroupAfterStart")
    broken = template("2", {"data-plane.dynamo-ctrl.io/image-error": "true"})
    sets.edit(leaderWorkerTemplate={"workerTemplate": broken})
    sets.settle()
    leader = sets.uids["x-0"]
    sets.cache.delete(POD, "ns/x-0-1")
    sets.run(8)
    assert sets.uids["x-0"] == leader
    assert sets.names == ["x-0", "x-0-1"]


def test_a_group_that_crashes_starts_over_and_over_and_heals(sets: Sets) -> None:
    sets.make(1, 2)
    sets.run(5)
    crash = template("2", {CRASH: "true"})
    sets.edit(leaderWorkerTemplate={"workerTemplate": crash})
    seen: set[str] = set()
    sets.run(40, watch=lambda: seen.update(sets.uids.values()))
    assert len(seen) > 6
    assert sets.lws.status.ready_replicas == 0
    sets.edit(leaderWorkerTemplate={"workerTemplate": template("3", {CRASH: "false"})})
    sets.run(40)
    assert sets.ready_groups() == 1


def test_without_its_account_nothing_is_made_and_the_account_wakes_it(sets: Sets) -> None:
    sets.make(1, 2)
    own = template(serviceAccountName="mine")
    sets.edit(leaderWorkerTemplate={"leaderTemplate": own, "workerTemplate": own})
    answer = sets.cache.reconcile(sets.programs[0], "ns/x")
    assert 'serviceaccount "mine" not found' in str(answer.error)
    assert sets.names == []
    account = sets.cache.add(SERVICE_ACCOUNT.object({"metadata": {"name": "mine", "namespace": "ns"}}))
    (watch,) = [each for each in LeaderWorkerSetProgram.watches.all if each.kind == SERVICE_ACCOUNT]
    assert watch.mapper is not None
    assert [str(key) for key in watch.mapper(account, sets.cache)] == ["ns/x"]
    sets.settle()
    assert sets.names == ["x-0", "x-0-1"]


def test_a_bound_that_is_no_number_is_named(sets: Sets) -> None:
    sets.make(1)
    sets.run(5)
    update = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": "many"}}
    sets.edit(rolloutStrategy=update, leaderWorkerTemplate={"workerTemplate": template("2")})
    answer = sets.cache.reconcile(sets.programs[0], "ns/x")
    assert "rollingUpdateConfiguration.maxUnavailable" in str(answer.error)


def test_a_million_groups_are_made_in_bounded_steps(sets: Sets) -> None:
    sets.make(1_000_000, 1)
    sets.cache.reconcile(sets.programs[0], "ns/x")
    assert len(sets.names) == 500


def test_the_definition_is_one_that_a_server_takes_and_fills_in() -> None:
    scratch = Scratch()
    scratch.define([definition()])
    spec = {"leaderWorkerTemplate": {"workerTemplate": template()}}
    made = scratch.add(LEADER_WORKER_SET.object({"metadata": {"name": "x", "namespace": "ns"}, "spec": spec}))
    assert (made.spec.replicas, made.spec.startup_policy) == (1, "LeaderCreated")
    assert (made.spec.leader_worker_template.size, made.spec.leader_worker_template.restart_policy) == (
        1,
        "RecreateGroupOnPodRestart",
    )
