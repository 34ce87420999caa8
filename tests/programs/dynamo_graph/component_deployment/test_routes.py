"""How the frontend of a graph is reached from outside (G 3.9.5, P 8.1, 8.2)."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import ORCHESTRATORS, GraphWorld, component, graph
from dynamo_graph.traffic import VIRTUAL_SERVICE

FRONTEND = component("Frontend", "frontend")
NAME = "ns/g-frontend"


def ingress(**settings: str) -> OperatorConfig:
    return OperatorConfig.model_validate({"ingress": settings})


CLASS = ingress(controllerClassName="c")
GATEWAY = ingress(virtualServiceGateway="istio-system/gateway")
BOTH = ingress(controllerClassName="c", virtualServiceGateway="gateway")


def world_of(config: OperatorConfig, *components: Any, absent: Any = ORCHESTRATORS, name: str = "g") -> GraphWorld:
    world = GraphWorld(graph(*(components or (FRONTEND,)), name=name), config=config, absent=absent)
    world.converge()
    return world


def spec(world: GraphWorld, kind: Any, key: str = NAME) -> Any:
    found = world.cache.get(kind, key)
    return None if found is None else found.content()["spec"]


@pytest.mark.parametrize(
    ("config", "host"),
    [
        pytest.param(ingress(controllerClassName="c", hostSuffix="s.io"), "g.s.io", id="T-POD-156"),
        pytest.param(CLASS, "g.local", id="T-POD-157"),
    ],
)
def test_a_frontend_is_reached_by_the_name_of_its_graph(config: OperatorConfig, host: str) -> None:
    world = world_of(config)
    backend = {"service": {"name": "g-frontend", "port": {"number": 8000}}}
    assert spec(world, INGRESS) == {
        "ingressClassName": "c",
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
    }
    made = world.cache.get(INGRESS, NAME)
    assert made is not None
    assert made.metadata.controller is not None
    assert made.metadata.controller.uid == world.deployment("g-frontend").metadata.uid
    assert made.metadata.labels == {}
    assert set(made.metadata.annotations) == {"nvidia.com/last-applied-hash", "nvidia.com/last-applied-generation"}
    assert spec(world, VIRTUAL_SERVICE) is None


def test_tls_is_for_the_host() -> None:
    found = spec(world_of(ingress(controllerClassName="c", controllerTLSSecretName="tls")), INGRESS)
    assert found["tls"] == [{"hosts": ["g.local"], "secretName": "tls"}]


def test_an_upper_case_name_with_dots_leads_to_the_service_as_it_is_called() -> None:
    found = spec(world_of(CLASS, component("Front", "frontend"), name="g.1"), INGRESS, "ns/g-1-front")
    (rule,) = found["rules"]
    assert rule["host"] == "g.1.local"
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == "g-1-front"


@pytest.mark.parametrize("config", [pytest.param(OperatorConfig(), id="T-POD-158")])
def test_what_is_configured_no_more_goes(config: OperatorConfig) -> None:
    world = world_of(BOTH)
    assert spec(world, INGRESS) is not None
    assert spec(world, VIRTUAL_SERVICE) is not None
    world.restart(config)
    world.converge()
    assert spec(world, INGRESS) is None
    assert spec(world, VIRTUAL_SERVICE) is None


@pytest.mark.parametrize("config", [pytest.param(BOTH, id="T-POD-159")])
def test_a_class_and_a_gateway_make_both(config: OperatorConfig) -> None:
    world = world_of(config)
    assert spec(world, INGRESS)["ingressClassName"] == "c"
    destination = {"host": "g-frontend", "port": {"number": 8000}}
    assert spec(world, VIRTUAL_SERVICE) == {
        "hosts": ["g.local"],
        "gateways": ["gateway"],
        "http": [{"match": [{"uri": {"prefix": "/"}}], "route": [{"destination": destination}]}],
    }


def test_only_a_frontend_is_reached() -> None:
    world = world_of(BOTH, FRONTEND, component("w", "worker"))
    assert [each.metadata.name for each in world.cache.list(INGRESS)] == ["g-frontend"]
    assert [each.metadata.name for each in world.cache.list(VIRTUAL_SERVICE)] == ["g-frontend"]


def test_a_component_that_is_no_frontend_any_more_is_reached_no_more() -> None:
    world = world_of(BOTH)
    world.edit(component("Frontend", "planner"))
    world.converge()
    assert not [*world.cache.list(INGRESS), *world.cache.list(VIRTUAL_SERVICE)]


def test_a_frontend_without_a_graph_has_no_host() -> None:
    labels = {"nvidia.com/dynamo-namespace": "d"}
    alone = DCD.object({"metadata": {"name": "alone", "namespace": "ns", "labels": labels}, "spec": FRONTEND})
    world = GraphWorld(alone, config=BOTH)
    world.converge()
    assert not [*world.cache.list(INGRESS), *world.cache.list(VIRTUAL_SERVICE)]


def test_a_gateway_on_a_cluster_without_istio_fails_the_component_by_the_field_of_the_configuration() -> None:
    world = GraphWorld(graph(FRONTEND), config=GATEWAY, absent=(*ORCHESTRATORS, VIRTUAL_SERVICE))
    world.pass_over_graph()
    answer = world.pass_over_deployment("g-frontend")
    assert answer.error is not None
    assert not answer.terminal
    available = find(world.deployment("g-frontend").status.conditions, "Available")
    assert available is not None
    assert (available.status, available.reason) == ("False", "Reconciling")
    assert "ingress.virtualServiceGateway is configured" in available.message


def test_without_a_gateway_nobody_needs_istio() -> None:
    world = world_of(CLASS, absent=(*ORCHESTRATORS, VIRTUAL_SERVICE))
    world.run_pods()
    assert world.ready()[0] == "True"


@pytest.mark.parametrize("kind", [INGRESS, VIRTUAL_SERVICE], ids=str)
def test_those_of_somebody_else_stay(kind: Any) -> None:
    foreign = kind.object({"metadata": {"name": "g-frontend", "namespace": "ns"}, "spec": {"x": "y"}})
    world = GraphWorld(graph(FRONTEND), foreign)
    world.converge()
    assert spec(world, kind) == {"x": "y"}
    world.restart(BOTH)
    answer = world.pass_over_deployment("g-frontend")
    assert answer.error is not None
    assert spec(world, kind) == {"x": "y"}
    conflict = find(world.deployment("g-frontend").status.conditions, "OwnershipConflict")
    assert conflict is not None
    assert conflict.status == "True"


def test_they_go_with_the_graph() -> None:
    world = world_of(BOTH)
    world.cache.delete(DGD, "ns/g")
    world.converge()
    assert not [*world.cache.list(INGRESS), *world.cache.list(VIRTUAL_SERVICE)]


def test_what_somebody_edits_comes_back() -> None:
    world = world_of(CLASS)
    before = spec(world, INGRESS)
    world.cache.edit(INGRESS, NAME, {"spec": {"ingressClassName": "other"}})
    world.converge()
    assert spec(world, INGRESS) == before
