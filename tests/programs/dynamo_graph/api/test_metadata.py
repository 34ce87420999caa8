"""Labels and annotations of a graph: what a server would refuse of its children is told by the field of the graph."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.errors import Invalid
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.metadata import MAX_ANNOTATIONS, annotation_problems, label_problems
from dynamo_graph.graph import preflight
from dynamo_graph.testing import component, graph

ODD = {"spec": {"containers": [{"name": "main", "image": "registry.example/w:1"}]}}


def problem(made: DynamoGraphDeployment) -> InvalidObject | None:
    return preflight.problem(made, "component")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"labels": {"not ok": "a"}}, "spec.labels[not ok]"),
        ({"labels": {"team": "a b"}}, "spec.labels[team]"),
        ({"labels": {"team": "x" * 64}}, "spec.labels[team]"),
        ({"annotations": {"/a": "b"}}, "spec.annotations[/a]"),
        ({"annotations": {"a": "x" * MAX_ANNOTATIONS}}, "spec.annotations"),
    ],
)
def test_what_a_graph_hands_on_is_checked_first(spec: dict[str, Any], path: str) -> None:
    content = graph(component("a", "frontend")).content()
    found = problem(DGD.object({**content, "spec": {**content["spec"], **spec}}))
    assert found is not None
    assert found.path == path


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({"labels": {"a//b": "c"}}, "spec.components[0].podTemplate.metadata.labels[a//b]"),
        ({"annotations": {"-": ""}}, "spec.components[0].podTemplate.metadata.annotations[-]"),
    ],
)
def test_so_is_what_a_component_says_of_its_pods(metadata: dict[str, Any], path: str) -> None:
    found = problem(graph(component("a", "frontend", podTemplate={**ODD, "metadata": metadata})))
    assert found is not None
    assert found.path == path


def test_shared_memory_cannot_be_negative() -> None:
    found = problem(graph(component("a", "worker", sharedMemorySize="-1Gi")))
    assert found is not None
    assert (found.path, found.rule) == ("spec.components[0].sharedMemorySize", "must not be negative")


texts = st.text(st.sampled_from("aA0-_./ é"), max_size=8) | st.sampled_from(["x" * 63, "x" * 64, f"{'x' * 254}/a"])


@given(labels=st.dictionaries(texts, texts, max_size=2), annotations=st.dictionaries(texts, texts, max_size=2))
def test_the_rules_are_those_of_the_server(labels: dict[str, str], annotations: dict[str, str]) -> None:
    core = Core(clock=SystemClock())
    core.create(NAMESPACE, "", NAMESPACE.object({"metadata": {"name": "n"}}).raw)
    metadata = {"name": "a", "namespace": "n", "labels": labels, "annotations": annotations}
    ours = [*label_problems(labels, "g", "l"), *annotation_problems(annotations, "g", "a")]
    try:
        core.create(CONFIG_MAP, "n", CONFIG_MAP.object({"metadata": metadata}).raw)
    except Invalid:
        assert ours
    else:
        assert not ours
