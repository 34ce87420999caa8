"""Whatever stands in a field of a graph, a component deployment or an adapter: the schema refuses it, the program refuses it with
path and rule, or it works. Never an error without a name, a loop without an end, or a graph of which a half is made.

Two ways in: through the schema, and past it, as an object that was stored before its rules.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.kind import Kind
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.component.attempt import NO_ORCHESTRATOR
from dynamo_graph.graph.status import Reason
from dynamo_graph.testing import GraphWorld, component, graph
from tests.programs.dynamo_graph.api.fields import Field, Tree, example, fields, planted, spec_of
from tests.programs.dynamo_graph.api.servers import MemoryServer, Refused, header

FEW: Final = settings(max_examples=40, deadline=None, derandomize=True, database=None)
TOLD: Final = (InvalidObject, EngineError)
"""Errors that name what is wrong."""

ABSURD: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 2**31, 2**63, 10**30, 1.5, 1e308, "", " ", "a", "é", "\0", "x" * 300, "{{x}}", "$(X)", "a/b/c", "-1Ki",
    "25%", [], [None], [1], ["a", "a"], [{}], [[]], [{"name": "a"}, {"name": "a"}], {}, {"": ""}, {"a": None}, {"name": "a"},
)  # fmt: skip
TYPED: Final[dict[str, tuple[Any, ...]]] = {
    "string": (
        "",
        "a",
        "main",
        " ",
        "x" * 63,
        "x" * 300,
        "UPPER",
        "a.b",
        "..",
        "-",
        "0",
        "true",
        "nvidia.com/gpu",
        "--model",
    ),
    "integer": (-(2**31), -1, 0, 1, 2, 3, 100, 65536, 2**31 - 1),
    "number": (-1, 0, 0.5, 1, 1e300),
    "boolean": (True, False),
    "amount": (0, -1, 1, "", "-1", "1Ki", "1e30", "99999999999999999999", "a"),
}

GRAPH: Final[Tree] = json.loads(
    json.dumps(graph(component("Frontend", "frontend"), component("decode", "decode", replicas=2)).content()["spec"])
)
DEEP: Final = 5
"""Steps below a Pod template within which its fields are drawn; the schema alone holds those further down."""


def drawn(kind: Kind[Any], *, pods: bool) -> st.SearchStrategy[tuple[Field, Any]]:
    """A field of the kind, outside of Pod templates or also within, and what is put there."""

    def near(field: Field) -> bool:
        below = len(field.steps) - field.steps.index("podTemplate") - 1 if "podTemplate" in field.steps else 0
        return below <= (DEEP if pods else 0)

    def values(field: Field) -> st.SearchStrategy[tuple[Field, Any]]:
        likely = (*field.schema.get("enum", ()), *TYPED.get(field.type, ()), example(field.schema))
        return st.tuples(st.just(field), st.sampled_from(likely) | st.sampled_from(ABSURD))

    found = [field for field in fields(spec_of(kind)) if near(field)]
    return st.sampled_from(found).flatmap(values)


@cache
def server() -> MemoryServer:
    """A server that nothing is left on."""
    return MemoryServer()


def through_the_schema(kind: Kind[Any], spec: Any) -> Any:
    """The spec as a server stores it; `None` if it refuses it."""
    try:
        return server().create(kind, {"metadata": {"generateName": "g-"}, "spec": spec})["spec"]
    except Refused as refused:
        if refused.code != 422 or "spec" not in refused.message:
            raise
        return None


def stored(kind: Kind[Any], spec: Any, name: str = "g") -> Any:
    """An object of that kind, whatever stands in it."""
    return kind.object(deepcopy({**header(kind), "metadata": {"name": name, "namespace": "ns"}, "spec": spec}))


def converge(world: GraphWorld) -> None:
    """Until nothing changes. What fails then must have a name; `NotConverged` has none."""
    try:
        world.converge()
    except TOLD:
        return
    except Exception as error:
        if str(error) != NO_ORCHESTRATOR:
            raise


def made(world: GraphWorld) -> list[str]:
    """What was written besides the graph itself."""
    return [write for write in world.wrote() if "DynamoGraphDeployment ns/" not in write]


def judge(world: GraphWorld) -> None:
    """A graph is refused with path and rule, and nothing is made; or it comes to an end that is none of its fields' fault."""
    converge(world)
    status, reason, message = world.ready()
    if world.graph().status.state == "failed":
        assert status == "False"
        if reason == Reason.NO_ORCHESTRATOR:  # the fault of the cluster
            assert world.deployments() == []
            return
        assert "spec" in message or "metadata.name" in message, message
        assert made(world) == [], message
        return
    world.run_pods()
    assert world.ready()[1] in (Reason.ALL_READY, Reason.WAITING_FOR_CHECKPOINT), world.ready()


@FEW
@given(drawn(DGD, pods=True))
def test_a_graph_is_refused_or_works(drawn: tuple[Field, Any]) -> None:
    field, value = drawn
    spec = through_the_schema(DGD, planted(GRAPH, spec_of(DGD), field.steps, value))
    if spec is not None:
        judge(GraphWorld(stored(DGD, spec)))


@FEW
@given(drawn(DGD, pods=False))
def test_a_graph_from_before_its_rules_is_refused_or_works(drawn: tuple[Field, Any]) -> None:
    field, value = drawn
    judge(GraphWorld(stored(DGD, planted(GRAPH, spec_of(DGD), field.steps, value))))


@pytest.mark.parametrize("spec", [None, [], "a", 1, {"components": None}, {"components": {}}, {"components": [None]}])
def test_a_graph_whose_spec_is_none_is_refused_or_works(spec: Any) -> None:
    judge(GraphWorld(stored(DGD, spec)))


def judge_deployment(spec: Any) -> None:
    """A component deployment is refused with path and rule, and has no workload; or it has one."""
    world = GraphWorld(stored(DCD, spec, "d"))
    converge(world)
    found = find(world.deployment("d").status.conditions, "Available")
    assert found is not None
    writes = [write for write in world.wrote() if "DynamoComponentDeployment ns/d" not in write]
    if found.reason.startswith("Failed") or "spec" in found.message:
        assert "spec" in found.message, found.message
        assert not [write for write in writes if write.startswith("create")], found.message
    else:
        assert "create Deployment ns/d" in writes


@FEW
@given(drawn(DCD, pods=True))
def test_a_component_deployment_is_refused_or_works(drawn: tuple[Field, Any]) -> None:
    field, value = drawn
    spec = through_the_schema(DCD, planted(GRAPH["components"][1], spec_of(DCD), field.steps, value))
    if spec is not None:
        judge_deployment(spec)


@FEW
@given(drawn(DCD, pods=False))
def test_a_component_deployment_from_before_its_rules_is_refused_or_works(drawn: tuple[Field, Any]) -> None:
    field, value = drawn
    judge_deployment(planted(GRAPH["components"][1], spec_of(DCD), field.steps, value))


@FEW
@given(drawn(DGDSA, pods=False))
def test_an_adapter_from_before_its_rules_scales_what_it_names_or_nothing(drawn: tuple[Field, Any]) -> None:
    field, value = drawn
    spec = {"replicas": 3, "dgdRef": {"name": "g", "componentName": "decode"}}
    components = [GRAPH["components"][0], {**GRAPH["components"][1], "scalingAdapter": {}}]
    world = GraphWorld(
        stored(DGD, {"components": components}), stored(DGDSA, planted(spec, spec_of(DGDSA), field.steps, value), "a")
    )
    answer = world.cache.reconcile(world.programs[3], "ns/a")
    assert not answer.panic, answer.error
    likely = (2, 3, value) if answer.error is None else (2,)
    assert world.graph().spec.components[1].replicas in likely


GRAPH_NAMES = ("x" * 253, ".".join(["x" * 50] * 5)[:253], "x" * 64)


@pytest.mark.parametrize("name", GRAPH_NAMES, ids=["one-label", "labels", "just-too-long"])
def test_a_name_of_253_characters_makes_nothing(name: str) -> None:
    world = GraphWorld(stored(DGD, GRAPH, name))
    converge(world)
    ready = find(world.graph(name).status.conditions, "Ready")
    assert ready is not None
    assert ready.reason == Reason.FAILED
    assert f"metadata.name: must have at most 63 characters, has {len(name)}" in ready.message
    assert made(world) == []


def test_25_components_whose_names_collide_when_lowered_make_nothing() -> None:
    names = [
        "".join(letter.upper() if 1 << at & number else letter for at, letter in enumerate("abcde"))
        for number in range(25)
    ]
    components = [component(name, "worker" if at % 2 else "frontend") for at, name in enumerate(names)]
    world = GraphWorld(stored(DGD, {"components": components}))
    judge(world)
    assert "spec.components[1].name: must be unique ignoring case; spec.components[0] is 'abcde'" in world.ready()[2]


BULK: Final = "x" * 5_000_000


def test_5_mb_of_annotations_on_a_graph_are_refused() -> None:
    with pytest.raises(Refused) as raised:
        server().create(DGD, {"metadata": {"name": "bulk", "annotations": {"a": BULK}}, "spec": GRAPH})
    assert "metadata.annotations: Too long" in raised.value.message


@pytest.mark.parametrize(
    "steps", [("annotations", "a"), ("components", 0, "podTemplate", "metadata", "annotations", "a")]
)
def test_5_mb_of_annotations_for_its_pods_make_nothing(steps: tuple[str | int, ...]) -> None:
    """A real server does not even take them: a request may have three."""
    world = GraphWorld(stored(DGD, planted(GRAPH, spec_of(DGD), steps, BULK)))
    judge(world)
    assert world.graph().status.state == "failed"
    message = world.ready()[2]
    assert "annotations: must have at most 262144 bytes" in message
    assert len(message) < 1000


def test_the_minimum_of_a_gang_does_not_hold_up_a_rollout() -> None:
    """Only Grove acts on it (G 1.4); no webhook keeps it away from here."""
    world = GraphWorld(graph(component("decode", "decode", replicas=3, minAvailable=3)))
    world.finish()
    old = world.deployments()
    world.edit(component("decode", "decode", replicas=3, minAvailable=3, image="registry.example/w:2.0.0"))
    world.finish()
    [new] = world.deployments()
    assert new not in old
    assert world.size(new) == 3
