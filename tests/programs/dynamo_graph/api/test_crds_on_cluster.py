"""The real kube-apiserver takes the CRDs, evaluates their rules, and takes what is rendered for it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.objects.schema.crd import to_yaml
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.crds import documents
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.service import render_service
from envtest import ApiError, Cluster
from envtest.api import wait_for

Tree = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISHED_TIMEOUT = 30.0
"""Seconds from applying a CRD to the server answering for it."""


@pytest.fixture(scope="module")
def crds(cluster: Cluster) -> list[Tree]:
    """The CRDs of the models, applied as a user would, and as the server has them."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=to_yaml(documents()))

    def live() -> list[Tree] | None:
        found = [cluster.api.get(f"{CRDS}/{document['metadata']['name']}") for document in documents()]
        return found if all(condition(crd, "Established") == "True" for crd in found) else None

    found = wait_for("CRDs to be established", live, timeout=ESTABLISHED_TIMEOUT)
    path = DYNAMO_GRAPH_DEPLOYMENT.path("default")

    def served() -> bool:
        try:
            return bool(cluster.api.get(path))
        except ApiError as error:
            if error.code not in (404, 429):  # unknown yet, or its storage is still being made
                raise
            return False

    wait_for("graphs to be served", served, timeout=ESTABLISHED_TIMEOUT)
    return found


def condition(crd: Tree, type_: str) -> str | None:
    found = [c["status"] for c in crd.get("status", {}).get("conditions") or () if c["type"] == type_]
    return found[0] if found else None


def test_the_schemas_are_structural(crds: list[Tree]) -> None:
    assert [condition(crd, "NonStructuralSchema") for crd in crds] == [None, None, None]


def test_fields_are_explained(cluster: Cluster, crds: list[Tree]) -> None:
    def explained() -> str | None:
        try:
            return cluster.kubectl("explain", "dynamographdeployments.spec.components.multinode")
        except subprocess.CalledProcessError:  # the OpenAPI document follows the CRD with a delay
            return None

    text = wait_for("kubectl explain", explained, timeout=ESTABLISHED_TIMEOUT)
    assert "nodeCount\t<integer>\n    Nodes of one engine." in text


@pytest.fixture
def graphs(cluster: Cluster, namespace: str, crds: list[Tree]) -> Callable[..., Tree]:
    """Creates a graph in a fresh namespace."""

    def create(name: str = "g", **spec: Any) -> Tree:
        path = DYNAMO_GRAPH_DEPLOYMENT.path(namespace)
        body = {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
        }
        tree: Tree = cluster.api.create(path, body)
        return tree

    return create


def rejected(call: Callable[[], Any]) -> str:
    with pytest.raises(ApiError) as raised:
        call()
    assert raised.value.code == 422
    return str(raised.value.status["message"])


def component(name: str = "a", **fields: Any) -> Tree:
    return {"name": name, **fields}


def test_the_server_fills_in_declared_defaults_only(graphs: Callable[..., Tree]) -> None:
    """Of a Pod template only the optional key of a list map: one more, and the hash of every worker is another."""
    main = {"name": "main", "image": "i", "ports": [{"containerPort": 1}], "readinessProbe": {"httpGet": {"port": 1}}}
    volumes = [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "hostPath": {"path": "/"}}]
    template: Tree = {"metadata": {}, "spec": {"containers": [main], "volumes": volumes}}
    spec = graphs(components=[component(multinode={}, podTemplate=template, unknown=1)])["spec"]
    main["ports"] = [{"containerPort": 1, "protocol": "TCP"}]
    assert spec == {"components": [{"name": "a", "multinode": {"nodeCount": 2}, "podTemplate": template}]}


def restart(*order: str, strategy: str = "Sequential") -> Tree:
    return {"restart": {"id": "r", "strategy": {"type": strategy, "order": list(order)}}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"components": [component(type="epp"), component("b", type="epp")]},
            "at most one component may be of type epp",
        ),
        ({"components": [component("a"), component("A")]}, "component names must be unique ignoring case"),
        ({"components": [component("a"), component("a")]}, "Duplicate value"),
        ({"components": [component("a")], "restart": {"id": "r"}}, "restart must be absent when a graph is created"),
        ({"components": [component(minAvailable=2, replicas=1)]}, "minAvailable must not be above replicas"),
        ({"components": [component(eppConfig={"config": {}})]}, "eppConfig needs type epp"),
        ({"components": [component(type="epp", eppConfig={})]}, "exactly one of configMapRef and config must be set"),
        ({"components": [component("-a")]}, "should match"),
        ({"components": [component(multinode={"nodeCount": 1})]}, "greater than or equal to 2"),
        ({"components": [component(sharedMemorySize="8 GB")]}, "should match"),
        ({"components": [component(f"c{i}") for i in range(26)]}, "must have at most 25 items"),
        ({"backendFramework": "onnx"}, "Unsupported value"),
        ({"experimental": {"kvTransferPolicy": {"domain": "d"}}}, "exactly one of labelKey and clusterTopologyName"),
        (
            {"experimental": {"kvTransferPolicy": {"domain": "d", "labelKey": "k", "preferredWeight": 0.5}}},
            "preferredWeight must be set if and only if enforcement is preferred",
        ),
        (
            {
                "components": [
                    component(experimental={"checkpoint": {"enabled": True, "job": {}, "checkpointRef": "c"}})
                ]
            },
            "job and checkpointRef exclude each other",
        ),
    ],
)
def test_a_graph_that_breaks_a_rule_is_rejected(graphs: Callable[..., Tree], spec: Tree, message: str) -> None:
    assert message in rejected(lambda: graphs(**spec))


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"backendFramework": "vllm"}, "spec.backendFramework is immutable and cannot be changed after creation"),
        ({"components": [component("a", type="decode")]}, "type is immutable once set"),
        ({"components": [component("a", type="worker", minAvailable=2)]}, "minAvailable is immutable once set"),
        ({"components": [component("a", type="worker")]}, "minAvailable is immutable once set"),
        (restart("a", strategy="Parallel"), "order cannot be specified when strategy is parallel"),
        (restart("a", "a"), "order must be unique"),
        (restart("b"), "order must name every component of the graph"),
    ],
)
def test_a_change_that_breaks_a_rule_is_rejected(
    cluster: Cluster, graphs: Callable[..., Tree], namespace: str, patch: Tree, message: str
) -> None:
    graphs(components=[component("a", type="worker", minAvailable=1)], backendFramework="sglang")
    path = DYNAMO_GRAPH_DEPLOYMENT.path(namespace, "g")
    assert message in rejected(lambda: cluster.api.merge(path, {"spec": patch}))


@pytest.mark.parametrize(
    "patch",
    [
        restart("a"),
        {"restart": {"id": "r", "strategy": {"type": "Parallel"}}},
        {"restart": {"id": "r"}},
        {"components": [component("a", type="worker"), component("b")]},
        {"components": [component("a", type="worker", replicas=0, scalingAdapter={})]},
        {"components": [component("a", type="worker", minAvailable=1)]},
    ],
)
def test_a_change_that_breaks_no_rule_passes(
    cluster: Cluster, graphs: Callable[..., Tree], namespace: str, patch: Tree
) -> None:
    graphs(components=[component("a", type="worker")])
    found = cluster.api.merge(DYNAMO_GRAPH_DEPLOYMENT.path(namespace, "g"), {"spec": patch})
    assert found["metadata"]["generation"] == 2


def test_everything_rendered_for_a_graph_is_accepted(
    cluster: Cluster, graphs: Callable[..., Tree], namespace: str
) -> None:
    containers = [{"name": "main", "image": "img:1.6.0"}, {"name": "fe", "image": "img:1.6.0"}]
    types = ("frontend", "worker", "prefill", "decode", "planner", "epp")
    created = graphs(
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
        live = cluster.api.create(DYNAMO_COMPONENT_DEPLOYMENT.path(namespace), body)
        assert live["spec"] == body["spec"]
        deployment = DYNAMO_COMPONENT_DEPLOYMENT.object(live)
        for child in (render_deployment(deployment, Surroundings()), render_service(deployment, Surroundings())):
            made = cluster.api.create(child.kind.path(namespace), child.content())
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
