"""Names and kinds that follow from a spec (G 1.4, 3.6.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_graph.api.component import Component
from dynamo_graph.api.predicates import (
    deployment_name,
    dynamo_namespace,
    has_any_multinode,
    has_endpoint_picker,
    runtime_namespace,
    service_name,
    uses_scaling_group,
)


def component(name: str = "Decode", **fields: Any) -> Component:
    return Component.model_validate_json(json.dumps({"name": name, **fields}))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, "ns-a-b"), ({"globalDynamoNamespace": True}, "dynamo")],
)
def test_the_dynamo_namespace(fields: dict[str, Any], expected: str) -> None:
    assert dynamo_namespace(component(**fields), graph="a.b", namespace="ns") == expected


@pytest.mark.parametrize(
    ("type_", "suffix", "expected"),
    [("decode", "x", "ns-g-x"), ("decode", "", "ns-g"), ("frontend", "x", "ns-g"), (None, "x", "ns-g")],
)
def test_only_workers_register_under_their_generation(type_: str | None, suffix: str, expected: str) -> None:
    found = component(**({"type": type_} if type_ else {}))
    assert runtime_namespace(found, graph="g", namespace="ns", suffix=suffix) == expected


@pytest.mark.parametrize(
    ("type_", "expected"), [("worker", "g-decode-x"), ("prefill", "g-decode-x"), ("planner", "g-decode")]
)
def test_the_name_of_a_deployment_is_lower_case_and_carries_the_generation(type_: str, expected: str) -> None:
    assert deployment_name(component(type=type_), graph="g", suffix="x") == expected


def test_the_name_of_a_service_has_no_dots() -> None:
    assert service_name("G.a-decode") == "g-a-decode"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, False),
        ({"multinode": {}}, True),
        ({"experimental": {}}, False),
        ({"experimental": {"gpuMemoryService": {"mode": "InterPod"}}}, True),
        ({"experimental": {"gpuMemoryService": {}}}, False),
        ({"experimental": {"grove": {"forceScalingGroup": True}}}, True),
    ],
)
def test_when_grove_needs_a_scaling_group(fields: dict[str, Any], expected: bool) -> None:
    assert uses_scaling_group(component(**fields)) is expected


def test_what_a_graph_contains() -> None:
    assert has_any_multinode([component(), component(multinode={"nodeCount": 3})])
    assert not has_any_multinode([component()])
    assert has_endpoint_picker([component(type="epp")])
    assert not has_endpoint_picker([component(type="worker")])
