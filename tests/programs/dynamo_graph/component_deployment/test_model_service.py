"""The Service of a model belongs to all who serve it, and goes with the last of them (P 6.7)."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import SERVICE, Service
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.orchestrators import LEADER_WORKER_SET
from dynamo_graph.testing import NOT_GROUPS, GraphWorld, component, graph

LLAMA = "dynamo-model-e3352e1e"


def serving(name: str, model: str | None = "llama-3", type_: str = "decode", **fields: Any) -> dict[str, Any]:
    reference: dict[str, Any] = {"modelRef": {"name": model}} if model is not None else {}
    return component(name, type_, **reference, **fields)


def services(world: GraphWorld) -> list[str]:
    return [each.metadata.name for each in world.cache.list(SERVICE) if each.metadata.name.startswith("dynamo-model-")]


def service(world: GraphWorld, name: str = LLAMA) -> Service:
    found = world.cache.get(SERVICE, f"ns/{name}")
    assert found is not None
    return found


def owners(world: GraphWorld, name: str = LLAMA) -> list[str]:
    return sorted(each.name for each in service(world, name).metadata.owner_references)


@pytest.mark.parametrize("types", [pytest.param(("prefill", "decode"), id="T-POD-141")])
def test_everybody_who_serves_a_model_shares_its_service(types: tuple[str, ...]) -> None:
    world = GraphWorld(graph(*(serving(each, type_=each) for each in types)))
    world.converge()
    assert services(world) == [LLAMA]
    assert owners(world) == world.deployments()
    assert all(not each.controller for each in service(world).metadata.owner_references)
    content = service(world).content()
    assert content["spec"]["clusterIP"] == "None"
    assert content["spec"]["selector"] == {"nvidia.com/dynamo-base-model-hash": "e3352e1e"}
    assert [(port["name"], port["port"]) for port in content["spec"]["ports"]] == [("system", 9090)]


def test_two_graphs_of_a_namespace_share_it_and_the_last_one_takes_it_along() -> None:
    world = GraphWorld(graph(serving("a")), graph(serving("b"), name="h"))
    world.converge()
    assert owners(world) == world.deployments()
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == [], "nobody writes over another"
    world.cache.delete(DGD, "ns/g")
    world.converge()
    assert owners(world) == world.deployments()
    world.cache.delete(DGD, "ns/h")
    world.converge()
    assert services(world) == []


def test_who_serves_another_model_leaves_it_to_the_others() -> None:
    frontends = [serving(name, type_="frontend") for name in ("a", "b")]
    world = GraphWorld(graph(*frontends))
    world.converge()
    assert owners(world) == ["g-a", "g-b"]
    world.edit(serving("a", "other", type_="frontend"), frontends[1])
    world.converge()
    assert owners(world) == ["g-b"]
    (other,) = (name for name in services(world) if name != LLAMA)
    assert owners(world, other) == ["g-a"]
    world.edit(serving("a", None, type_="frontend"), serving("b", None, type_="frontend"))
    world.converge()
    assert services(world) == []


def test_a_service_of_somebody_else_is_not_taken_over() -> None:
    foreign = SERVICE.object(
        {"metadata": {"name": LLAMA, "namespace": "ns"}, "spec": {"ports": [{"name": "x", "port": 1}]}}
    )
    world = GraphWorld(graph(serving("a", type_="frontend")), foreign)
    world.pass_over_graph()
    assert world.pass_over_deployment("g-a").error is not None
    assert owners(world) == []
    assert [port.name for port in service(world).spec.ports] == ["x"]
    conflict = find(world.deployment("g-a").status.conditions, "OwnershipConflict")
    assert conflict is not None
    assert conflict.status == "True"


def test_one_that_is_edited_or_deleted_comes_back() -> None:
    world = GraphWorld(graph(serving("a", type_="frontend"), serving("b", type_="frontend")))
    world.converge()
    world.cache.edit(SERVICE, f"ns/{LLAMA}", {"spec": {"selector": {"by": "hand"}}})
    world.cache.edit(SERVICE, f"ns/{LLAMA}", {"metadata": {"annotations": {"nvidia.com/last-applied-hash": None}}})
    world.converge()
    assert "by" not in service(world).content()["spec"]["selector"]
    world.cache.delete(SERVICE, f"ns/{LLAMA}")
    world.converge()
    assert owners(world) == ["g-a", "g-b"]


def test_of_an_engine_over_several_nodes_only_the_leader_answers() -> None:
    main = {
        "command": ["python3"],
        "args": ["-m", "dynamo.vllm", "-tp", "16"],
        "resources": {"limits": {"nvidia.com/gpu": 8}},
    }
    world = GraphWorld(graph(serving("a", main=main, multinode={"nodeCount": 2})), absent=NOT_GROUPS)
    world.converge()
    selector = service(world).content()["spec"]["selector"]
    (groups,) = world.cache.list(LEADER_WORKER_SET)
    templates = groups.content()["spec"]["leaderWorkerTemplate"]
    bears = {role: selector.items() <= templates[role]["metadata"]["labels"].items() for role in _ROLES}
    assert bears == {"leaderTemplate": True, "workerTemplate": False}


_ROLES = ("leaderTemplate", "workerTemplate")


def test_a_component_deployment_without_a_graph_has_one_too() -> None:
    labels = {"nvidia.com/dynamo-namespace": "d"}
    alone = DCD.object({"metadata": {"name": "alone", "namespace": "ns", "labels": labels}, "spec": serving("a")})
    world = GraphWorld(alone)
    world.converge()
    assert owners(world) == ["alone"]
