"""Rules that only the programs hold, since no CEL reaches them (G 1.4, 1.11). The others are in `rule_cases`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.component_deployment import ComponentDeploymentSpec
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.rules import graph_problems, validate_component_deployment

CONTAINERS = [{"name": "main", "image": "img"}]
MAIN = {"spec": {"containers": CONTAINERS}}


def component(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "podTemplate": MAIN, **fields}


def spec(*components: dict[str, Any], **fields: Any) -> GraphSpec:
    return GraphSpec.model_validate_json(json.dumps({"components": list(components), **fields}))


def annotated(key: str, value: str) -> dict[str, Any]:
    return {**MAIN, "metadata": {"annotations": {key: value}}}


@pytest.mark.parametrize(
    ("graph", "path", "rule"),
    [
        (
            spec({"name": "a"}),
            "spec.components[0].podTemplate.spec.containers",
            "must hold a container named main",
        ),
        (
            spec(component(podTemplate={"spec": {"containers": [{"name": "x", "image": "i"}, {"name": "main"}]}})),
            "spec.components[0].podTemplate.spec.containers[1].image",
            "must be set",
        ),
        (
            spec(component(podTemplate={"spec": {"containers": [*CONTAINERS, {"name": "sidecar"}]}})),
            "spec.components[0].podTemplate.spec.containers[1].image",
            "must be set",
        ),
        (
            spec(component(podTemplate={"spec": {"containers": CONTAINERS, "initContainers": [{"name": "init"}]}})),
            "spec.components[0].podTemplate.spec.initContainers[0].image",
            "must be set",
        ),
        (
            spec(component(frontendSidecar="fe")),
            "spec.components[0].frontendSidecar",
            'frontendSidecar "fe" does not match any podTemplate container',
        ),
        (
            spec(component(podTemplate=annotated("nvidia.com/dynamo-discovery-backend", "x"))),
            "spec.components[0].podTemplate.metadata.annotations[nvidia.com/dynamo-discovery-backend]",
            "must be one of kubernetes, etcd",
        ),
        (spec(component(sharedMemorySize="-1Gi")), "spec.components[0].sharedMemorySize", "must not be negative"),
    ],
)
def test_a_broken_rule_is_named_with_its_field(graph: GraphSpec, path: str, rule: str) -> None:
    assert [(found.path, found.rule) for found in graph_problems(graph)] == [(path, rule)]


def test_a_component_deployment_obeys_the_rules_of_a_component() -> None:
    with pytest.raises(InvalidObject) as raised:
        validate_component_deployment(ComponentDeploymentSpec.model_validate_json('{"name":"a"}'))
    assert raised.value.path == "spec.podTemplate.spec.containers"
