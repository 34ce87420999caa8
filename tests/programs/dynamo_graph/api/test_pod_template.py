"""What rendering reads of a Pod template is checked before it reads it: whatever a template holds, field and rule are told."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.pod_template import template_problems
from dynamo_graph.api.rules import graph_problems
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.testing import component, graph

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/engine:1.2.0",
                "command": ["python3"],
                "args": ["-m", "dynamo.vllm"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
                "envFrom": [{"secretRef": {"name": "token"}}],
                "ports": [{"name": "http", "containerPort": 8000}],
                "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": 2}, "requests": {"memory": "2Gi"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
                "readinessProbe": {"httpGet": {"path": "/live", "port": 9090}},
            },
            {"name": "log", "image": "registry.example/log:1"},
        ],
        "initContainers": [{"name": "fetch", "image": "registry.example/fetch:1"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "t", "emptyDir": {}}],
        "imagePullSecrets": [{"name": "registry"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"disk": "fast"},
        "hostNetwork": True,
    },
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value in a tree."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(each for key, child in inner for each in paths(child, (*path, key)))]


def replaced(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = {"root": copy.deepcopy(TEMPLATE)}
    here: Any = changed
    for key in ("root", *path)[:-1]:
        here = here[key]
    here[("root", *path)[-1]] = value
    return changed["root"]


CONTAINER = ("spec", "containers", 0)


@pytest.mark.parametrize(
    ("path", "value", "field", "rule"),
    [
        ((*CONTAINER,), None, "spec.containers[0]", "Expected `object`, got `null`"),
        ((*CONTAINER, "name"), 1, "spec.containers[0].name", "Expected `str`, got `int`"),
        ((*CONTAINER, "command"), "python3", "spec.containers[0].command", "Expected `array | null`, got `str`"),
        ((*CONTAINER, "args", 1), 2, "spec.containers[0].args[1]", "Expected `str`, got `int`"),
        ((*CONTAINER, "env"), {"A": "1"}, "spec.containers[0].env", "Expected `array | null`, got `object`"),
        ((*CONTAINER, "env", 0), {"value": "1"}, "spec.containers[0].env[0]", "missing required field `name`"),
        ((*CONTAINER, "env", 0, "name"), "", "spec.containers[0].env", "every entry must have a name"),
        ((*CONTAINER, "env", 0, "value"), 1, "spec.containers[0].env[0].value", "Expected `str | null`, got `int`"),
        ((*CONTAINER, "resources", "limits", "cpu"), [], "spec.containers[0].resources.limits", "got `array`"),
        (
            (*CONTAINER, "resources", "limits", "nvidia.com/gpu"),
            "many",
            "spec.containers[0].resources.limits[nvidia.com/gpu]",
            "not a quantity: 'many'",
        ),
        (
            (*CONTAINER, "resources", "requests", "memory"),
            "-1Gi",
            "spec.containers[0].resources.requests[memory]",
            "must not be negative",
        ),
        (("spec", "containers", 1, "name"), "main", "spec.containers[1].name", 'must be unique; "main"'),
        (("spec", "initContainers", 0, "name"), "log", "spec.initContainers[0].name", 'must be unique; "log"'),
        (("spec", "initContainers", 0, "name"), "", "spec.initContainers[0].name", "must be set"),
        (("spec", "volumes", 1, "name"), "data", "spec.volumes[1].name", 'must be unique; "data"'),
        (("spec", "volumes", 1, "name"), "a.b", "spec.volumes[1].name", "at most 63 lower-case letters"),
        (("spec", "containers", 1, "name"), "Log", "spec.containers[1].name", "at most 63 lower-case letters"),
        (("spec", "containers", 1, "name"), "x" * 64, "spec.containers[1].name", "at most 63 lower-case letters"),
        (
            (*CONTAINER, "ports", 0, "containerPort"),
            0,
            "spec.containers[0].ports[0].containerPort",
            "between 1 and 65535",
        ),
        (
            (*CONTAINER, "resources", "claims"),
            [{"name": "gpu"}, {"name": "nic"}],
            "spec.containers[0].resources.claims[1].name",
            '"nic" is none of the resourceClaims of the Pod',
        ),
        (("spec", "restartPolicy"), "Never", "spec.restartPolicy", "must be Always"),
        (("spec", "hostNetwork"), "yes", "spec.hostNetwork", "Expected `bool | null`, got `str`"),
        (("metadata", "labels", "team"), None, "metadata.labels", "Expected `str`, got `null`"),
        (("metadata",), [], "metadata", "Expected `object | null`, got `array`"),
    ],
)
def test_the_field_and_the_rule_are_told(path: tuple[Any, ...], value: Any, field: str, rule: str) -> None:
    [problem] = template_problems(replaced(path, value), "DynamoGraphDeployment", "spec.components[3].podTemplate")
    assert problem.path.startswith(f"spec.components[3].podTemplate.{field}")
    assert rule in problem.rule


@pytest.mark.parametrize("path", [path for path in paths(TEMPLATE) if path and path[-1] != "name"])
def test_null_means_absent_wherever_a_field_may_be_left_out(path: tuple[Any, ...]) -> None:
    problems = list(template_problems(replaced(path, None), "g", "t"))
    inside_a_map_or_list = isinstance(path[-1], int) or path[-2:-1] in (
        ("labels",),
        ("annotations",),
        ("nodeSelector",),
    )
    required = path[-1] == "containerPort" or path[-2:-1] in (("limits",), ("requests",))
    assert bool(problems) == (inside_a_map_or_list or required)


def test_a_sound_template_has_no_problems() -> None:
    assert list(template_problems(TEMPLATE, "g", "t")) == []
    assert list(template_problems({}, "g", "t")) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "main", "-1", "x y"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "a", "limits"]), inner, max_size=2),
    max_leaves=5,
)  # fmt: skip


@given(path=st.sampled_from(paths(TEMPLATE)), value=json_values, type_=st.sampled_from(["frontend", "worker", "epp"]))
def test_whatever_a_template_holds_is_refused_or_rendered_and_nothing_else(
    path: tuple[Any, ...], value: Any, type_: str
) -> None:
    template = replaced(path, value) if path else value
    if not isinstance(template, dict):
        return  # the schema asks for an object
    made = graph(component("c", type_, podTemplate=template, modelRef={"name": "m"}))
    spec = GraphSpec.model_validate_json(json.dumps(made.content()["spec"]))
    if list(graph_problems(spec)):
        return
    with suppress(InvalidObject):  # the only way out but a result
        for deployment in render_component_deployments(made, suffix="abcd1234"):
            render_deployment(deployment, Surroundings())
