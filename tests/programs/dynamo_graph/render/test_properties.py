"""What holds for every input: nothing is lost, references resolve, trees stay exact, the same input gives the same bytes."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_graph.api.component import Component
from dynamo_graph.render.component_deployment import render_component_deployments
from dynamo_graph.render.context import Surroundings
from dynamo_graph.render.deployment import render_deployment
from dynamo_graph.render.env import references, resolvable
from dynamo_graph.render.kv_transfer import shortest
from dynamo_graph.render.overlay import is_empty, overlay_container, overlay_pod

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.render.conftest import Bench

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
names = st.sampled_from("ABCDEF")


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_a_pod_template_of_any_content_comes_back_byte_for_byte(tree: dict[str, Any]) -> None:
    text = json.dumps({"name": "a", "podTemplate": tree})
    assert json.dumps(Component.model_validate_json(text).tree()) == text


@given(st.dictionaries(names, st.lists(names, max_size=3)))
def test_ordering_the_environment_loses_nothing_and_resolves_what_can_be(graph: dict[str, list[str]]) -> None:
    entries: list[dict[str, Any]] = [
        {"name": name, "value": "".join(f"$({other})" for other in graph[name])} for name in sorted(graph)
    ]
    ordered = resolvable(entries)
    assert sorted(ordered, key=lambda entry: str(entry["name"])) == entries
    if all(other > name for name in graph for other in graph[name]):  # acyclic by construction
        seen: set[str] = set()
        for entry in ordered:
            assert references(entry) & graph.keys() <= seen
            seen.add(entry["name"])


@given(st.floats(0, 1, width=32))
def test_the_shortest_text_reads_back_as_the_same_float(number: float) -> None:
    assert struct.pack("f", float(shortest(number))) == struct.pack("f", number)
    assert "e" not in shortest(number)


fields = st.dictionaries(st.sampled_from(["image", "command", "args", "workingDir", "lifecycle", "tty"]), json_values)


@given(fields, fields)
def test_a_non_empty_value_of_the_user_always_wins(base: dict[str, Any], user: dict[str, Any]) -> None:
    merged = overlay_container(base, user)
    for key, value in user.items():
        if not is_empty(value):
            assert merged[key] == value
    for key, value in base.items():
        if is_empty(user.get(key)) and not is_empty(value):
            assert merged[key] == value


@given(fields)
def test_a_user_who_says_nothing_changes_nothing(base: dict[str, Any]) -> None:
    assert overlay_pod(base, {}) == base


@pytest.mark.parametrize("type_", ["frontend", "worker", "prefill", "decode", "planner", "epp"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_rendering_is_a_function_of_its_input(bench: Bench, type_: str, data: st.DataObject) -> None:
    main: dict[str, Any] = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "command": st.lists(st.sampled_from(["python3", "-m", "dynamo.vllm", "sh"]), max_size=3),
                "env": st.lists(
                    st.fixed_dictionaries({"name": names, "value": st.text("AB$()", max_size=6)}), max_size=5
                ),
                "resources": st.just({"limits": {"nvidia.com/gpu": "1"}}),
                "tty": st.booleans(),
            },
        )
    )
    [first] = render_component_deployments(bench.graph(bench.component(type_, main)), suffix="abcd1234")
    [second] = render_component_deployments(bench.graph(bench.component(type_, main)), suffix="abcd1234")
    assert first.raw == second.raw
    deployments = [render_deployment(each, Surroundings()) for each in (first, second)]
    assert deployments[0].raw == deployments[1].raw
    container = deployments[0].content()["spec"]["template"]["spec"]["containers"][0]
    found = [entry["name"] for entry in container["env"]]
    assert len(set(found)) == len(found)
    assert {entry["name"] for entry in main.get("env", ())} <= set(found)
