"""A graph with engines over several nodes: through LeaderWorkerSet to Ready, with what its Pods share (G 3.1, P 6.5, 6.6)."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.builtin.core import NAMESPACE as NAMESPACE_KIND
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.config import Mpi, OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component.wait_for_leader import SCRIPTS
from dynamo_graph.orchestrators import LEADER_WORKER_SET
from dynamo_graph.testing import NAMESPACE, NOT_GROUPS, GraphWorld, component, graph

FRONTEND = component("Frontend", "frontend")
MPI = OperatorConfig(mpi=Mpi(ssh_secret_name="keys", ssh_secret_namespace="operator"))
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
MAP = "ns/g-wait-leader-script"


def engine(module: str = "vllm", *arguments: str, nodes: int = 2, **fields: Any) -> dict[str, Any]:
    main = {
        "command": ["python3"],
        "args": ["-m", f"dynamo.{module}", *arguments],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
    }
    return component("decode", "decode", main=main, multinode={"nodeCount": nodes}, **fields)


def world_of(
    *components: Any, config: OperatorConfig | None = None, absent: Any = NOT_GROUPS, **spec: Any
) -> GraphWorld:
    world = GraphWorld(graph(*components, **spec), config=config, absent=absent)
    world.cache.add(NAMESPACE_KIND.object({"metadata": {"name": "operator"}}))
    return world


def ready(world: GraphWorld) -> tuple[str, str, str]:
    condition = find(world.graph().status.conditions, "Ready")
    assert condition is not None
    return condition.status, condition.reason, condition.message


def test_a_graph_over_several_nodes_becomes_ready() -> None:
    world = world_of(FRONTEND, engine("vllm", "-tp", "16"))
    world.converge()
    assert ready(world)[1] == "some_resources_are_not_ready"
    (groups,) = world.cache.list(LEADER_WORKER_SET)
    (worker,) = [name for name in world.deployments() if "decode" in name]
    assert groups.metadata.name == f"{worker}-0"
    world.run_pods()
    assert ready(world) == ("True", "all_resources_are_ready", "All resources are ready")
    status = world.graph().status.components["decode"]
    assert (status.component_kind, status.ready_replicas, status.available_replicas) == ("LeaderWorkerSet", 1, None)
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


def test_without_an_orchestrator_the_graph_fails_but_has_what_its_pods_share() -> None:
    world = world_of(FRONTEND, engine(), absent=(LEADER_WORKER_SET, *NOT_GROUPS))
    world.pass_over_graph()
    assert ready(world)[1:] == ("no_multinode_orchestrator_available", "no multinode orchestrator available")
    assert world.cache.get(CONFIG_MAP, MAP) is not None
    assert world.deployments() == []


def test_an_orchestrator_that_is_switched_off_is_none() -> None:
    off = OperatorConfig.model_validate({"orchestrators": {"lws": {"enabled": False}}})
    world = world_of(FRONTEND, engine(), config=off)
    world.pass_over_graph()
    assert ready(world)[1] == "no_multinode_orchestrator_available"


def test_the_api_of_the_orchestrator_is_watched() -> None:
    found = [watch for watch in ComponentProgram.watches.all if watch.kind == LEADER_WORKER_SET]
    assert [watch.optional for watch in found] == [True], "its coming and going wakes every graph"


@pytest.mark.parametrize(
    ("name", "path", "rule"),
    [
        ("g.1", "spec.components[1]", 'LeaderWorkerSet name "g.1-decode-{}-0" must not contain dots'),
        ("1g", "spec.components[1]", 'LeaderWorkerSet name "1g-decode-{}-0" must begin with a letter'),
        ("g" * 40, "spec.components[1]", "must have at most 52 characters"),
    ],
)
def test_a_name_that_groups_cannot_have_is_refused_before_anything_is_made(name: str, path: str, rule: str) -> None:
    world = GraphWorld(graph(FRONTEND, engine(), name=name), absent=NOT_GROUPS)
    answer = world.pass_over_graph(name)
    assert answer.terminal
    condition = find(world.graph(name).status.conditions, "Ready")
    assert condition is not None
    suffix = condition.message.partition("-decode-")[2].partition("-0")[0]
    assert path in condition.message
    assert rule.format(suffix) in condition.message
    assert world.deployments() == []
    assert not world.cache.list(CONFIG_MAP)


def test_an_engine_that_cannot_span_nodes_fails_the_graph_by_its_own_field() -> None:
    wrong = engine("vllm", "-tp", "16")
    wrong["podTemplate"]["spec"]["containers"][0] |= {"command": ["vllm"], "args": ["serve", "m", "-tp", "16"]}
    world = world_of(FRONTEND, wrong, backendFramework="vllm")
    assert world.pass_over_graph().terminal
    message = ready(world)[2]
    assert "spec.components[1].podTemplate.spec.containers[main].command" in message
    assert 'component "decode": multinode flags need a shell or a python command' in message
    assert world.deployments() == []


# --- the ConfigMap with the scripts


@pytest.mark.parametrize("components", [pytest.param((FRONTEND, component("d", "decode")), id="T-POD-137")])
def test_a_graph_on_single_nodes_has_neither_scripts_nor_keys(components: Any) -> None:
    world = world_of(*components, config=MPI, backendFramework="trtllm")
    world.converge()
    assert not world.cache.list(CONFIG_MAP)
    assert not world.cache.list(SECRET)


@pytest.mark.parametrize(
    ("origin", "keys"),
    [
        pytest.param("1.5.9", {"wait-for-leader.py"}, id="T-POD-138 older"),
        pytest.param("1.6.0", {"wait-for-leader.py", "wait-for-ray-leader.sh"}, id="T-POD-138 newer"),
        pytest.param(None, {"wait-for-leader.py", "wait-for-ray-leader.sh"}, id="created here"),
    ],
)
@pytest.mark.parametrize("module", ["vllm", "sglang"])
def test_scripts_come_with_several_nodes(module: str, origin: str | None, keys: set[str]) -> None:
    world = world_of(engine(module), annotations={ORIGIN: origin} if origin else {})
    world.converge()
    found = world.cache.get(CONFIG_MAP, MAP)
    assert found is not None
    assert set(found.data) == keys
    assert all(found.data[key] == SCRIPTS[key] for key in keys)
    assert found.metadata.labels == {"nvidia.com/dynamo-graph-deployment-name": "g"}
    assert found.metadata.controller is not None
    assert found.metadata.controller.uid == world.graph().metadata.uid


def test_scripts_that_somebody_edits_come_back() -> None:
    world = world_of(engine())
    world.converge()
    world.cache.edit(CONFIG_MAP, MAP, {"data": {"wait-for-leader.py": "exit"}})
    world.cache.edit(CONFIG_MAP, MAP, {"metadata": {"annotations": {"nvidia.com/last-applied-hash": None}}})
    world.converge()
    found = world.cache.get(CONFIG_MAP, MAP)
    assert found is not None
    assert found.data["wait-for-leader.py"] == SCRIPTS["wait-for-leader.py"]


# --- the SSH keys


@pytest.mark.parametrize("namespace", [pytest.param("operator", id="T-POD-139")])
def test_keys_are_made_once_and_copied(namespace: str) -> None:
    world = world_of(FRONTEND, engine("trtllm"), config=MPI)
    world.converge()
    made = world.cache.get(SECRET, f"{namespace}/keys")
    copy = world.cache.get(SECRET, f"{NAMESPACE}/keys")
    assert made is not None
    assert copy is not None
    assert made.data == copy.data == {"private.key": b"private", "private.key.pub": b"public"}
    for each in (made, copy):
        assert each.metadata.labels == {"app.kubernetes.io/managed-by": "dynamo-operator"}
        assert each.metadata.owner_references == ()
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


@pytest.mark.parametrize("text", [pytest.param("b3RoZXI=", id="T-POD-140")])
def test_keys_that_are_there_are_left_alone(text: str) -> None:
    world = world_of(FRONTEND, engine("trtllm"), config=MPI)
    other = {"metadata": {"name": "keys", "namespace": NAMESPACE}, "data": {"private.key": text}}
    live = world.cache.add(SECRET.object(other))
    world.converge()
    found = world.cache.get(SECRET, f"{NAMESPACE}/keys")
    assert found is not None
    assert found.metadata.resource_version == live.metadata.resource_version


def test_of_other_keys_only_the_copy_is_made() -> None:
    world = world_of(FRONTEND, engine("trtllm"), config=MPI)
    own = {"metadata": {"name": "keys", "namespace": "operator"}, "type": "a/b", "data": {"private.key": "b3RoZXI="}}
    world.cache.add(SECRET.object(own))
    world.converge()
    copy = world.cache.get(SECRET, f"{NAMESPACE}/keys")
    assert copy is not None
    assert (copy.content()["type"], copy.data) == ("a/b", {"private.key": b"other"})


def test_in_the_namespace_of_the_source_there_is_nothing_to_copy() -> None:
    here = OperatorConfig(mpi=Mpi(ssh_secret_name="keys", ssh_secret_namespace=NAMESPACE))
    world = world_of(FRONTEND, engine("trtllm"), config=here)
    world.converge()
    assert [str(each.key) for each in world.cache.list(SECRET)] == ["ns/keys"]


@pytest.mark.parametrize("module", ["vllm", "sglang"])
def test_only_mpi_needs_keys(module: str) -> None:
    world = world_of(FRONTEND, engine(module), config=MPI)
    world.converge()
    assert not world.cache.list(SECRET)


@pytest.mark.parametrize(
    ("mpi", "missing"),
    [
        (Mpi(), "mpi.sshSecretName"),
        (Mpi(ssh_secret_name="keys"), "mpi.sshSecretNamespace"),
    ],
)
def test_an_installation_without_keys_says_what_it_lacks(mpi: Mpi, missing: str) -> None:
    world = world_of(FRONTEND, engine("trtllm"), config=OperatorConfig(mpi=mpi))
    assert world.pass_over_graph().terminal
    assert ready(world)[2] == f"failed to ensure MPI SSH key secret: {missing} is not configured"
    assert world.deployments() == []


def test_a_framework_that_contradicts_itself_is_told_once() -> None:
    world = world_of(engine("vllm"), component("p", "prefill", main={"command": ["python3", "-m", "dynamo.sglang"]}))
    assert world.pass_over_graph().terminal
    assert "a graph has one backend framework" in ready(world)[2]


def test_a_changed_number_of_nodes_reaches_the_groups() -> None:
    world = world_of(FRONTEND, engine("sglang"))
    world.converge()
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [FRONTEND, engine("sglang", nodes=3)]}})
    world.converge()
    world.run_pods()
    sizes = [each.content()["spec"]["leaderWorkerTemplate"]["size"] for each in world.cache.list(LEADER_WORKER_SET)]
    assert 3 in sizes
    assert ready(world)[0] == "True"
