"""What an endpoint picker works with: configuration, pool, and the rule of a mesh (P 6.4, 8.3)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SERVICE
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import ORCHESTRATORS, GraphWorld, component, graph
from dynamo_graph.traffic import DESTINATION_RULE, INFERENCE_POOL

WORKER = component("w", "worker")
INLINE = component("epp", "epp", eppConfig={"config": {"plugins": [{"type": "kv"}]}})
NATIVE = component("epp", "epp")
MAP, POOL = "ns/g-epp-config", "ns/g-pool"


def mesh(**istio: Any) -> OperatorConfig:
    return OperatorConfig.model_validate({"serviceMesh": {"provider": "istio", "istio": istio}})


def world_of(
    *components: Any, config: OperatorConfig | None = None, absent: Any = ORCHESTRATORS, name: str = "g"
) -> GraphWorld:
    world = GraphWorld(graph(*components, name=name), config=config, absent=absent)
    world.converge()
    return world


@pytest.mark.parametrize("picker", [pytest.param(INLINE, id="T-POD-147")])
def test_a_configuration_in_the_graph_becomes_a_config_map(picker: dict[str, Any]) -> None:
    world = world_of(WORKER, picker)
    found = world.cache.get(CONFIG_MAP, MAP)
    assert found is not None
    assert yaml.safe_load(found.data["epp-config-dynamo.yaml"]) == {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "kv"}],
    }
    assert found.metadata.labels == {
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-component": "epp",
        "nvidia.com/dynamo-component-type": "epp",
    }
    assert found.metadata.controller is not None
    assert found.metadata.controller.uid == world.graph().metadata.uid


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"eppConfig": {"configMapRef": {"name": "mine", "key": "k"}}}, id="T-POD-147 reference"),
        pytest.param({}, id="native"),
    ],
)
def test_a_configuration_that_stands_elsewhere_makes_none(settings: dict[str, Any]) -> None:
    world = world_of(WORKER, component("epp", "epp", **settings))
    assert not world.cache.list(CONFIG_MAP)
    assert world.cache.get(INFERENCE_POOL, POOL) is not None


def test_the_pool_holds_all_workers_and_names_the_picker_as_its_service_is_named() -> None:
    world = world_of(WORKER, NATIVE, name="g.1")
    pool = world.cache.get(INFERENCE_POOL, "ns/g.1-pool")
    assert pool is not None
    labels = {"nvidia.com/dynamo-component-class": "worker", "nvidia.com/dynamo-namespace": "ns-g-1"}
    assert pool.content()["spec"] == {
        "selector": {"matchLabels": labels},
        "targetPorts": [{"number": 8000}],
        "endpointPickerRef": {"kind": "Service", "name": "g-1-epp", "port": {"number": 9002}},
    }
    (worker,) = (each for each in world.deployments() if "-w-" in each)
    assert labels.items() <= world.deployment(worker).metadata.labels.items()
    service = world.cache.get(SERVICE, "ns/g-1-epp")
    assert service is not None
    assert [(port.name, port.port) for port in service.spec.ports] == [("grpc", 9002)]


def test_a_cluster_without_pools_fails_the_graph_and_says_what_to_install() -> None:
    world = GraphWorld(graph(WORKER, NATIVE), absent=(*ORCHESTRATORS, INFERENCE_POOL))
    answer = world.pass_over_graph()
    assert answer.error is not None
    assert not answer.terminal
    assert world.ready()[2] == (
        "failed to reconcile EPP resources: the cluster does not serve inferencepools.inference.networking.k8s.io:"
        " install the Gateway API Inference Extension"
    )
    assert world.deployments() == []


def test_a_graph_without_a_picker_makes_nothing_of_it() -> None:
    world = world_of(WORKER, config=mesh(), absent=(*ORCHESTRATORS, INFERENCE_POOL))
    assert world.ready()[1] == "some_resources_are_not_ready"
    assert not world.cache.list(CONFIG_MAP)
    assert not world.cache.list(DESTINATION_RULE)


@pytest.mark.parametrize(
    "kept", [component("epp", "epp", image="registry.example/w:1.4.1"), None], ids=["kept", "gone"]
)
def test_all_of_it_goes_with_the_picker_and_the_configuration_not_before(kept: dict[str, Any] | None) -> None:
    """A Pod of the picker may still mount the configuration that was."""
    world = world_of(WORKER, INLINE, config=mesh())
    world.edit(WORKER, *([kept] if kept is not None else []))
    world.converge()
    there = {
        str(each.ref) for kind in (CONFIG_MAP, INFERENCE_POOL, DESTINATION_RULE) for each in world.cache.list(kind)
    }
    everything = {"ConfigMap ns/g-epp-config", "InferencePool ns/g-pool", "DestinationRule ns/g-epp"}
    assert there == (everything if kept is not None else set())


def test_what_somebody_else_made_under_their_names_stays() -> None:
    foreign = CONFIG_MAP.object({"metadata": {"name": "g-epp-config", "namespace": "ns"}, "data": {"a": "b"}})
    world = GraphWorld(graph(WORKER), foreign)
    world.converge()
    assert world.cache.get(CONFIG_MAP, MAP) is not None


def test_it_goes_with_the_graph() -> None:
    world = world_of(WORKER, INLINE, config=mesh())
    world.cache.delete(DGD, "ns/g")
    world.converge()
    assert not [*world.cache.list(CONFIG_MAP), *world.cache.list(INFERENCE_POOL), *world.cache.list(DESTINATION_RULE)]


# --- the rule of the mesh


def rule(world: GraphWorld, name: str) -> dict[str, Any] | None:
    found = world.cache.get(DESTINATION_RULE, f"ns/{name}")
    return None if found is None else found.content()["spec"]


@pytest.mark.parametrize("name", [pytest.param("g.1", id="T-POD-160")])
def test_a_mesh_is_told_how_to_talk_to_the_picker(name: str) -> None:
    world = world_of(WORKER, NATIVE, config=mesh(), name=name)
    assert rule(world, "g-1-epp") == {
        "host": "g-1-epp.ns.svc.cluster.local",
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    }


@pytest.mark.parametrize(
    ("istio", "tls"),
    [
        ({"tlsMode": "DISABLE"}, {"mode": "DISABLE"}),
        ({"tlsMode": "ISTIO_MUTUAL"}, {"mode": "ISTIO_MUTUAL"}),
        ({"insecureSkipVerify": False}, {"mode": "SIMPLE", "insecureSkipVerify": False}),
        (
            {"tlsMode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k", "caCertificates": "/a"},
            {"mode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k", "caCertificates": "/a"},
        ),
        (
            {"tlsMode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k"},
            {"mode": "MUTUAL", "clientCertificate": "/c", "privateKey": "/k", "insecureSkipVerify": True},
        ),
        ({"clientCertificate": "/c", "caCertificates": "/a"}, {"mode": "SIMPLE", "insecureSkipVerify": True}),
    ],
    ids=lambda value: value.get("tlsMode", "SIMPLE") if isinstance(value, dict) else "",
)
def test_certificates_are_for_mutual_tls(istio: dict[str, Any], tls: dict[str, Any]) -> None:
    found = rule(world_of(WORKER, NATIVE, config=mesh(**istio)), "g-epp")
    assert found is not None
    assert found["trafficPolicy"]["tls"] == tls


OFF = OperatorConfig.model_validate({"serviceMesh": {"provider": "istio", "enabled": False}})


@pytest.mark.parametrize("config", [pytest.param(OFF, id="T-POD-161"), pytest.param(OperatorConfig(), id="no mesh")])
def test_the_rule_goes_with_the_mesh(config: OperatorConfig) -> None:
    world = world_of(WORKER, NATIVE, config=mesh())
    assert rule(world, "g-epp") is not None
    world.restart(config)
    world.converge()
    assert rule(world, "g-epp") is None
    assert "delete DestinationRule ns/g-epp" in world.wrote()
    assert world.cache.get(INFERENCE_POOL, POOL) is not None


def test_without_the_api_of_the_mesh_there_is_no_rule_and_no_error() -> None:
    world = world_of(WORKER, NATIVE, config=mesh(), absent=(*ORCHESTRATORS, DESTINATION_RULE))
    assert world.ready()[1] == "some_resources_are_not_ready"
    assert not [write for write in world.wrote() if "DestinationRule" in write]
