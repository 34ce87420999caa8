"""Rules between fields, in Python, on every engine (G 1.2-1.4, 1.11)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import ComponentDeploymentSpec
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.rules import graph_problems, validate_component_deployment

MAIN = {"spec": {"containers": [{"name": "main", "image": "img"}]}}


def component(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "podTemplate": MAIN, **fields}


def spec(*components: dict[str, Any], **fields: Any) -> GraphSpec:
    return GraphSpec.model_validate_json(json.dumps({"components": list(components), **fields}))


def restart(*order: str, strategy: str = "Sequential") -> dict[str, Any]:
    return {"id": "r", "strategy": {"type": strategy, "order": list(order)}}


POLICY = {"labelKey": "z", "domain": "zone"}


@pytest.mark.parametrize(
    ("graph", "path", "rule"),
    [
        (
            spec(component("a"), component("A")),
            "spec.components[1].name",
            "must be unique ignoring case; spec.components[0] is 'a'",
        ),
        (
            spec(component("a", type="epp"), component("b", type="epp")),
            "spec.components[1].type",
            "at most one component may be of type epp",
        ),
        (spec(component(minAvailable=3, replicas=2)), "spec.components[0].minAvailable", "must not be above replicas"),
        (
            spec(component(eppConfig={"config": {}})),
            "spec.components[0].eppConfig",
            "is allowed only when type is epp",
        ),
        (
            spec(component(type="epp", eppConfig={})),
            "spec.components[0].eppConfig",
            "exactly one of configMapRef and config must be set",
        ),
        (
            spec(component(roles=[{"name": "leader"}])),
            "spec.components[0].roles",
            "must name leader and worker exactly once",
        ),
        (
            spec(component(experimental={"failover": {"mode": "InterPod"}})),
            "spec.components[0].experimental.failover.mode",
            "must equal gpuMemoryService.mode",
        ),
        (
            spec(component(experimental={"checkpoint": {"enabled": True, "job": {}, "checkpointRef": "c"}})),
            "spec.components[0].experimental.checkpoint.job",
            "cannot be used together with checkpointRef",
        ),
        (
            spec({"name": "a"}),
            "spec.components[0].podTemplate.spec.containers",
            "must hold a container named main",
        ),
        (
            spec(component(podTemplate={"spec": {"containers": [{"name": "x"}, {"name": "main"}]}})),
            "spec.components[0].podTemplate.spec.containers[1].image",
            "must be set",
        ),
        (
            spec(component(frontendSidecar="fe")),
            "spec.components[0].frontendSidecar",
            'frontendSidecar "fe" does not match any podTemplate container',
        ),
        (
            spec(
                component(
                    podTemplate={**MAIN, "metadata": {"annotations": {"nvidia.com/dynamo-discovery-backend": "x"}}}
                )
            ),
            "spec.components[0].podTemplate.metadata.annotations[nvidia.com/dynamo-discovery-backend]",
            "must be one of kubernetes, etcd",
        ),
        (
            spec(component(), restart=restart("a", strategy="Parallel")),
            "spec.restart.strategy.order",
            "cannot be specified when strategy is parallel",
        ),
        (spec(component(), restart=restart("a", "a")), "spec.restart.strategy.order", "must be unique"),
        (
            spec(component(), restart=restart("b")),
            "spec.restart.strategy.order",
            "contains unknown component: b",
        ),
        (
            spec(component(), component("b"), restart=restart("a")),
            "spec.restart.strategy.order",
            "must have the same number of unique components as the deployment",
        ),
        (
            spec(component(topologyConstraint={"packDomain": "rack"})),
            "spec.components[0].topologyConstraint",
            "needs spec.topologyConstraint.clusterTopologyName",
        ),
        (
            spec(component(), topologyConstraint={"clusterTopologyName": "t"}),
            "spec.components[0].topologyConstraint",
            "must be set while spec.topologyConstraint has no packDomain",
        ),
        (
            spec(component(), experimental={"kvTransferPolicy": {"domain": "zone"}}),
            "spec.experimental.kvTransferPolicy",
            "exactly one of labelKey and clusterTopologyName must be set",
        ),
        (
            spec(component(), experimental={"kvTransferPolicy": {**POLICY, "enforcement": "preferred"}}),
            "spec.experimental.kvTransferPolicy.preferredWeight",
            "must be set if and only if enforcement is preferred",
        ),
    ],
)
def test_a_broken_rule_is_named_with_its_field(graph: GraphSpec, path: str, rule: str) -> None:
    assert [(found.path, found.rule) for found in graph_problems(graph)] == [(path, rule)]


@pytest.mark.parametrize(
    "graph",
    [
        spec(),
        spec(component("a", minAvailable=3, replicas=0)),
        spec(component("a", minAvailable=1)),
        spec(component("a"), component("b"), restart=restart("b", "a")),
        spec(component("a"), restart={"id": "r"}),
        spec(component("a"), restart=restart(strategy="Parallel")),
        spec(component("a", type="epp", eppConfig={"configMapRef": {"name": "c"}})),
        spec(component("a", roles=[{"name": "worker"}, {"name": "leader"}])),
        spec(component("a"), experimental={"kvTransferPolicy": POLICY}),
    ],
)
def test_what_breaks_no_rule_passes(graph: GraphSpec) -> None:
    assert list(graph_problems(graph)) == []


def test_a_component_deployment_obeys_the_rules_of_a_component() -> None:
    with pytest.raises(InvalidObject) as raised:
        validate_component_deployment(ComponentDeploymentSpec.model_validate_json('{"name":"a"}'))
    assert raised.value.path == "spec.podTemplate.spec.containers"
