"""G 3.9.3: a component deployment over several nodes becomes a LeaderWorkerSet, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.component_deployment import DynamoComponentDeployment
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.component_deployment.devices import DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from dynamo_graph.component_deployment.readiness import leader_worker_set_ready
from dynamo_graph.orchestrators import LEADER_WORKER_SET, POD_GROUP, LeaderWorkerSet
from dynamo_graph.testing import NOT_GROUPS, GraphWorld, component

LABELS = {"nvidia.com/dynamo-namespace": "ns-g"}
ENGINE = {
    "command": ["python3"],
    "args": ["-m", "dynamo.vllm", "-tp", "16"],
    "resources": {"limits": {"nvidia.com/gpu": 8}},
}


def spec(nodes: int = 2, main: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return component(
        "Decode", "decode", main=ENGINE if main is None else main, multinode={"nodeCount": nodes}, **fields
    )


def deployment(spec: dict[str, Any], name: str = "g-decode-abcd1234") -> DynamoComponentDeployment:
    return DCD.object({"metadata": {"name": name, "namespace": "ns", "labels": LABELS}, "spec": spec})


def world_of(*objects: Any, config: OperatorConfig | None = None, absent: Any = NOT_GROUPS) -> GraphWorld:
    return GraphWorld(*objects, config=config, absent=absent)


def groups(world: GraphWorld, name: str = "g-decode-abcd1234-0") -> LeaderWorkerSet:
    found = world.cache.get(LEADER_WORKER_SET, f"ns/{name}")
    assert found is not None
    return found


def available(world: GraphWorld, name: str = "g-decode-abcd1234") -> tuple[str, str, str]:
    found = find(world.deployment(name).status.conditions, "Available")
    assert found is not None
    return found.status, found.reason, found.message


@pytest.mark.parametrize("nodes", [pytest.param(3, id="T-DCD-07")])
def test_several_nodes_become_one_set_of_groups(nodes: int) -> None:
    wanted = spec(nodes, replicas=2)
    wanted["podTemplate"]["metadata"] = {"labels": {"nvidia.com/selector": "mine", "role": "mine", "own": "1"}}
    world = world_of(deployment(wanted))
    world.converge()
    content = groups(world).content()
    assert world.cache.list(DEPLOYMENT) == []
    wanted = content["spec"]
    assert (wanted["replicas"], wanted["startupPolicy"]) == (2, "LeaderCreated")
    group = wanted["leaderWorkerTemplate"]
    assert set(group) == {"leaderTemplate", "workerTemplate", "size"}
    assert group["size"] == 3
    for role in ("leader", "worker"):
        labels = group[f"{role}Template"]["metadata"]["labels"]
        assert (labels["role"], labels["own"]) == (role, "1")
        assert "nvidia.com/selector" not in labels
        assert labels["nvidia.com/dynamo-component"] == "Decode"
    assert "readinessProbe" in group["leaderTemplate"]["spec"]["containers"][0]
    assert "readinessProbe" not in group["workerTemplate"]["spec"]["containers"][0]
    service = world.cache.get(SERVICE, "ns/g-decode-abcd1234")
    assert service is not None
    assert service.content()["spec"]["selector"]["role"] == "leader"


def test_its_status_is_that_of_its_groups() -> None:
    world = world_of(deployment(spec(replicas=2)))
    world.converge()
    assert available(world) == ("False", "LeaderWorkerSetNotReady", "LeaderWorkerSet is not ready")
    world.run_pods()
    assert available(world) == ("True", "LeaderWorkerSetReady", "LeaderWorkerSet is ready")
    status = world.deployment("g-decode-abcd1234").status.component
    assert status is not None
    assert status.model_dump(exclude_none=True) == {
        "component_kind": "LeaderWorkerSet",
        "component_names": ("g-decode-abcd1234-0",),
        "replicas": 2,
        "updated_replicas": 2,
        "ready_replicas": 2,
        "runtime_namespace": "ns-g",
        "gpus_per_engine": 16,
        "gpus_per_replica": 16,
    }
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


AVAILABLE = {"type": "Available", "status": "True"}


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        pytest.param({"replicas": 1, "readyReplicas": 1}, False, id="T-DCD-09"),
        pytest.param({"readyReplicas": 1, "conditions": [{**AVAILABLE, "status": "False"}]}, False, id="unavailable"),
        pytest.param({"readyReplicas": 0, "conditions": [AVAILABLE]}, False, id="too few"),
        pytest.param({"readyReplicas": 1, "conditions": [AVAILABLE]}, True, id="ready"),
        pytest.param({"readyReplicas": 1, "conditions": [AVAILABLE], "observedGeneration": 1}, False, id="old status"),
        pytest.param(
            {"readyReplicas": 1, "conditions": [{**AVAILABLE, "observedGeneration": 1}]}, False, id="old truth"
        ),
        pytest.param(
            {"readyReplicas": 1, "conditions": [{**AVAILABLE, "observedGeneration": 2}]}, True, id="new truth"
        ),
    ],
)
def test_groups_are_ready_when_they_say_so_of_their_present_spec(status: dict[str, Any], ready: bool) -> None:
    metadata = {"name": "x", "namespace": "ns", "generation": 2}
    found = LEADER_WORKER_SET.object({"metadata": metadata, "spec": {"replicas": 1}, "status": status})
    assert leader_worker_set_ready(found) is ready


def test_no_groups_are_always_ready() -> None:
    assert leader_worker_set_ready(LEADER_WORKER_SET.object({"metadata": {"name": "x"}, "spec": {"replicas": 0}}))


@pytest.mark.parametrize(
    ("absent", "config"),
    [
        (NOT_GROUPS, {"orchestrators": {"lws": {"enabled": False}}}),
        ((LEADER_WORKER_SET, *NOT_GROUPS), {}),
        ((LEADER_WORKER_SET, *NOT_GROUPS), {"orchestrators": {"lws": {"enabled": True}}}),
    ],
)
def test_without_the_capability_there_are_no_groups(absent: Any, config: dict[str, Any]) -> None:
    world = world_of(deployment(spec()), config=OperatorConfig.model_validate(config), absent=absent)
    world.converge()
    assert not world.cache.list(LEADER_WORKER_SET)
    assert len(world.cache.list(DEPLOYMENT)) == 1


@pytest.mark.parametrize(
    "enabled", [pytest.param(None, id="T-POD-155 absent"), pytest.param(True, id="T-POD-155 true")]
)
def test_volcano_is_not_needed(enabled: bool | None) -> None:
    config = OperatorConfig.model_validate({"orchestrators": {"lws": {"enabled": enabled}}})
    world = world_of(deployment(spec()), config=config)
    world.converge()
    assert not world.cache.serves(POD_GROUP)
    assert len(world.cache.list(LEADER_WORKER_SET)) == 1


@pytest.mark.parametrize(
    ("main", "rule"),
    [
        pytest.param({}, "container Args cannot be empty for LWS pod", id="no args"),
        pytest.param({"command": ["serve"]}, "container Args cannot be empty for LWS pod", id="only a command"),
    ],
)
def test_a_pod_of_a_group_needs_command_and_arguments(main: dict[str, Any], rule: str) -> None:
    world = world_of(deployment(spec(main=main)))
    assert world.pass_over_deployment("g-decode-abcd1234").terminal
    assert available(world)[2].endswith(rule)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("g.1-decode", 'LeaderWorkerSet name "g.1-decode-0" must not contain dots'),
        ("1g-decode", 'LeaderWorkerSet name "1g-decode-0" must begin with a letter'),
        ("g" * 49, f'the group name "{"g" * 49}-0-0" made of it must have at most 52 characters'),
    ],
)
def test_a_name_that_groups_cannot_have_is_refused(name: str, rule: str) -> None:
    world = world_of(deployment(spec(), name))
    assert world.pass_over_deployment(name).terminal
    assert available(world, name)[2].endswith(rule)
    assert world.cache.list(LEADER_WORKER_SET) == []


def test_nodes_that_are_not_needed_are_told_once_for_each_change() -> None:
    world = world_of(deployment(spec(main={**ENGINE, "args": ["-m", "dynamo.vllm", "-tp", "8"]})))
    world.converge()
    world.run_pods()
    ((_, event),) = world.cache.events
    assert (event.type, event.reason) == ("Warning", "MultinodeNotNeeded")
    assert "component Decode: 2 nodes run independent engines, since one of world size 8" in event.note
    assert "a node has 8" in event.note
    world.cache.edit(DCD, "ns/g-decode-abcd1234", {"spec": {"replicas": 3}})
    world.converge()
    assert len(world.cache.events) == 2


def legacy(world: GraphWorld, kind: Any, name: str, *, owned: bool = True) -> None:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "labels": {"instance-id": "0"}}
    if owned:
        owner = owner_reference(world.deployment("g-decode-abcd1234"))
        metadata["ownerReferences"] = [{
            "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid, "controller": True,
        }]  # fmt: skip
    world.cache.add(kind.object({"metadata": metadata, "spec": {}}))


def test_objects_of_older_releases_are_taken_over_or_go() -> None:
    world = world_of(deployment(spec()), absent=())
    legacy(world, LEADER_WORKER_SET, "g-decode-abcd1234-0")
    legacy(world, LEADER_WORKER_SET, "g-decode-abcd1234-1")
    legacy(world, LEADER_WORKER_SET, "others", owned=False)
    legacy(world, POD_GROUP, "g-decode-abcd1234-0")
    legacy(world, POD_GROUP, "others", owned=False)
    uid = groups(world).metadata.uid
    world.converge()
    adopted = groups(world)
    assert adopted.metadata.uid == uid
    assert "instance-id" not in adopted.metadata.labels
    assert adopted.content()["spec"]["leaderWorkerTemplate"]["size"] == 2
    assert [each.metadata.name for each in world.cache.list(LEADER_WORKER_SET)] == ["g-decode-abcd1234-0", "others"]
    assert [each.metadata.name for each in world.cache.list(POD_GROUP)] == ["others"]
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
def test_the_workload_of_the_other_kind_goes(before: int, after: int) -> None:
    def wanted(nodes: int) -> dict[str, Any]:
        return {**spec(max(nodes, 2)), **({"multinode": None} if nodes == 1 else {})}

    world = world_of(deployment(wanted(before)))
    world.converge()
    world.cache.edit(DCD, "ns/g-decode-abcd1234", {"spec": wanted(after)})
    world.converge()
    assert len(world.cache.list(DEPLOYMENT)) == (after == 1)
    assert len(world.cache.list(LEADER_WORKER_SET)) == (after == 2)


@pytest.mark.parametrize("sidecar", [pytest.param(1, id="T-POD-72")])
def test_a_replica_costs_what_all_its_pods_ask_for(sidecar: int) -> None:
    beside = {"name": "beside", "image": "i", "resources": {"limits": {"nvidia.com/gpu": sidecar}}}
    wanted = spec()
    wanted["podTemplate"]["spec"]["containers"].append(beside)
    world = world_of(deployment(wanted))
    world.converge()
    status = world.deployment("g-decode-abcd1234").status.component
    assert status is not None
    assert (status.gpus_per_engine, status.gpus_per_replica) == (16, 18)


GPU_REQUEST = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}]}}


@pytest.mark.parametrize("count", [pytest.param(4, id="T-POD-73")])
def test_a_claim_that_all_pods_share_counts_once(count: int) -> None:
    main = {**ENGINE, "resources": {"claims": [{"name": "shared"}]}}
    wanted = spec(main=main)
    wanted["podTemplate"]["spec"]["resourceClaims"] = [{"name": "shared", "resourceClaimName": "c"}]
    claim = RESOURCE_CLAIM.object({"metadata": {"name": "c", "namespace": "ns"}, "spec": GPU_REQUEST})
    device = DEVICE_CLASS.object({"metadata": {"name": "gpu.nvidia.com"}, "spec": {}})
    world = world_of(deployment(wanted), claim, device)
    world.converge()
    status = world.deployment("g-decode-abcd1234").status.component
    assert status is not None
    assert status.gpus_per_replica == count
    args = groups(world).content()["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]["args"]
    assert "--distributed-executor-backend ray" in args[0], "the engine is larger than the claim"


def test_a_claim_that_is_not_there_yet_is_waited_for() -> None:
    main = {**ENGINE, "resources": {"claims": [{"name": "own"}]}}
    wanted = spec(main=main)
    wanted["podTemplate"]["spec"]["resourceClaims"] = [{"name": "own", "resourceClaimTemplateName": "t"}]
    world = world_of(deployment(wanted), DEVICE_CLASS.object({"metadata": {"name": "gpu.nvidia.com"}, "spec": {}}))
    answer = world.pass_over_deployment("g-decode-abcd1234")
    assert answer.error is not None
    assert not answer.terminal
    assert "failed to resolve container GPUs" in available(world)[2]
    template = {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"spec": GPU_REQUEST}}
    world.cache.add(RESOURCE_CLAIM_TEMPLATE.object(template))
    world.converge()
    assert groups(world).metadata.name == "g-decode-abcd1234-0"
