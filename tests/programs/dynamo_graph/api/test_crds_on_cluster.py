"""What servers make of the CRDs: they are structural, refuse what breaks the schema, and fill in the declared defaults only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.service import render_service
from envtest import Cluster
from tests.programs.dynamo_graph.api.servers import RealServer, Refused, Server, create_graph

Tree = dict[str, Any]

ETCD_LIMIT = 1_572_864
"""Bytes of one request that etcd takes by default."""


def condition(crd: Tree, type_: str) -> str | None:
    found = [c["status"] for c in crd.get("status", {}).get("conditions") or () if c["type"] == type_]
    return found[0] if found else None


def test_the_schemas_are_structural(crds: list[Tree]) -> None:
    assert [condition(crd, "NonStructuralSchema") for crd in crds] == [None, None, None]


def test_each_is_small_enough_for_etcd(crds: list[Tree]) -> None:
    """With the record of who applied which field, which is longer than the schema itself."""
    sizes = {crd["metadata"]["name"]: len(json.dumps(crd)) for crd in crds}
    assert all(crd["metadata"]["managedFields"][0]["operation"] == "Apply" for crd in crds)
    assert max(sizes.values()) < ETCD_LIMIT / 4, sizes


def component(name: str = "a", **fields: Any) -> Tree:
    return {"name": name, **fields}


def test_the_server_fills_in_declared_defaults_only(server: Server) -> None:
    """Of a Pod template only the optional key of a list map: one more, and the hash of every worker is another."""
    main = {"name": "main", "image": "i", "ports": [{"containerPort": 1}], "readinessProbe": {"httpGet": {"port": 1}}}
    volumes = [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "hostPath": {"path": "/"}}]
    template: Tree = {"metadata": {}, "spec": {"containers": [main], "volumes": volumes}}
    spec = create_graph(server, components=[component(multinode={}, podTemplate=template, unknown=1)])["spec"]
    main["ports"] = [{"containerPort": 1, "protocol": "TCP"}]
    assert spec == {"components": [{"name": "a", "multinode": {"nodeCount": 2}, "podTemplate": template}]}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"components": [component("a"), component("a")]}, "Duplicate value"),
        ({"components": [component("-a")]}, "should match"),
        ({"components": [component("x" * 64)]}, "may not be more than 63"),
        ({"components": [{}]}, "Required value"),
        ({"components": [component(multinode={"nodeCount": 1})]}, "greater than or equal to 2"),
        ({"components": [component(replicas=-1)]}, "greater than or equal to 0"),
        ({"components": [component(replicas=2**31)]}, "int32"),
        ({"components": [component(minAvailable=0)]}, "greater than or equal to 1"),
        ({"components": [component(sharedMemorySize="8 GB")]}, "should match"),
        ({"components": [component(runtimeVersionOverride="1.02.3")]}, "should match"),
        ({"components": [component(type="baker")]}, "Unsupported value"),
        ({"components": [component(topologyConstraint={"packDomain": "Rack"})]}, "should match"),
        ({"components": [component(compilationCache={"pvcName": ""})]}, "at least 1 chars"),
        ({"components": [component(experimental={"failover": {"numShadows": 2}})]}, "less than or equal to 1"),
        ({"components": [component(f"c{i}") for i in range(26)]}, "must have at most 25 items"),
        ({"backendFramework": "onnx"}, "Unsupported value"),
        ({"restart": {"id": ""}}, "at least 1 chars"),
        ({"experimental": {"kvTransferPolicy": {"labelKey": "k"}}}, "domain: Required value"),
    ],
)
def test_a_graph_that_breaks_the_schema_is_rejected(server: Server, spec: Tree, message: str) -> None:
    with pytest.raises(Refused, match=message) as raised:
        create_graph(server, **spec)
    assert raised.value.code == 422


def test_everything_rendered_for_a_graph_is_accepted(real: RealServer) -> None:
    containers = [{"name": "main", "image": "img:1.6.0"}, {"name": "fe", "image": "img:1.6.0"}]
    types = ("frontend", "worker", "prefill", "decode", "planner", "epp")
    created = create_graph(
        real,
        components=[
            component(
                type_.capitalize(),
                type=type_,
                podTemplate={"spec": {"containers": containers}},
                compilationCache={"pvcName": "cache", "mountPath": "/cache"},
                modelRef={"name": "Qwen/Qwen3-0.6B"},
                **({"frontendSidecar": "fe"} if type_ == "worker" else {}),
            )
            for type_ in types
        ],
        env=[{"name": "A", "value": "1"}],
        labels={"team": "x"},
        annotations={"note": "y"},
    )
    graph = DYNAMO_GRAPH_DEPLOYMENT.object(created)
    owner = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "controller": True}
    for rendered in render_component_deployments(graph, suffix="abcd1234"):
        body = rendered.content()
        body["metadata"]["ownerReferences"] = [{**owner, "uid": created["metadata"]["uid"]}]
        live = real.create(DYNAMO_COMPONENT_DEPLOYMENT, body)
        assert live["spec"] == body["spec"]
        deployment = DYNAMO_COMPONENT_DEPLOYMENT.object(live)
        for child in (render_deployment(deployment, Surroundings()), render_service(deployment, Surroundings())):
            made = real.create(child.kind, child.content())
            assert made["metadata"]["name"] == child.metadata.name


def test_a_scaling_adapter_is_scaled_through_its_subresource(
    cluster: Cluster, namespace: str, crds: list[Tree]
) -> None:
    path = DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER.path(namespace)
    spec = {"replicas": 1, "dgdRef": {"name": "g", "componentName": "a"}}
    header = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentScalingAdapter"}
    cluster.api.create(path, {**header, "metadata": {"name": "x"}, "spec": spec})
    scale = cluster.api.get(f"{path}/x/scale")
    assert scale["spec"] == {"replicas": 1}
    cluster.kubectl("-n", namespace, "scale", "--replicas=3", "dgdsa/x")
    assert cluster.api.get(f"{path}/x")["spec"]["replicas"] == 3
    table = cluster.kubectl("-n", namespace, "get", "dgdsa")
    assert table.splitlines()[0].split() == ["NAME", "DGD", "COMPONENT", "REPLICAS", "AGE"]
