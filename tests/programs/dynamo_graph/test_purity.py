"""Every program is a pure function of its request: asked twice it answers the same, and the world that it reads cannot change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.definition import definitions
from dynamo_ctrl.program.prediction import predicted
from dynamo_ctrl.program.program import Selected
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as ADAPTER
from dynamo_graph.testing import GraphWorld, component, graph


def parts(image: int = 0) -> list[dict[str, Any]]:
    worker = component("decode", "decode", image=f"registry.example/w:1.4.{image}", replicas=2, scalingAdapter={})
    return [component("Frontend", "frontend"), component("Planner", "planner"), worker]


def new() -> GraphWorld:
    return GraphWorld(graph(*parts()))


def begun() -> GraphWorld:
    world = new()
    world.pass_over_graph()
    return world


def ready() -> GraphWorld:
    world = new()
    world.finish()
    return world


def rolling() -> GraphWorld:
    world = ready()
    world.edit(*parts(1))
    world.converge()
    return world


def restarting() -> GraphWorld:
    world = ready()
    world.cache.edit(DGD, "ns/g", {"spec": {"restart": {"id": "r1"}}})
    world.pass_over_graph()
    return world


def scaled() -> GraphWorld:
    world = ready()
    world.cache.edit(ADAPTER, "ns/g-decode", {"spec": {"replicas": 5}})
    return world


def refused() -> GraphWorld:
    return GraphWorld(graph(component("decode", "decode", sharedMemorySize="-1Gi")))


def everything(world: GraphWorld) -> dict[str, bytes]:
    """The texts of all objects."""
    kinds: tuple[Kind[Any], ...] = (DGD, DCD, ADAPTER, DEPLOYMENT)
    return {str(obj.ref): obj.raw for kind in kinds for obj in world.cache.list(kind)}


def members(world: GraphWorld) -> Iterator[tuple[Any, Object[Any, Any]]]:
    """Every program with each of its primaries."""
    for definition in definitions(world.programs):
        for obj in world.cache.list(definition.kind):
            for program in (definition.program, definition.selector, *definition.providers.values()):
                if program is not None:
                    yield program, obj


def asked(program: Any, request: Request[Any]) -> list[Any]:
    """Everything that a program answers: steps and effects, what it wants later, and the status that would follow."""
    selects = hasattr(program, "select")
    answer = program.select(request, frozenset({"component"})) if selects else program.reconcile(request)
    if isinstance(answer, Selected):
        return [answer.provider, *told(answer.steps)]
    assert isinstance(answer, Result)
    found = told(answer.steps)
    report = predicted(answer, request.view, primary=request.object)
    status = answer.status(report) if callable(answer.status) else answer.status
    after = answer.requeue_after(report) if callable(answer.requeue_after) else answer.requeue_after
    return [*found, status, after, answer.notes, answer.events]


def told(steps: Any) -> list[Any]:
    return [
        (step.name, step.reason, step.prefix, step.on_error, type(effect).__name__, inside(effect))
        for step in steps
        for effect in step.effects
    ]


def inside(effect: Any) -> object:
    child = getattr(effect, "child", None) or getattr(effect, "object", None)
    patch = getattr(effect, "patch", None)
    target = getattr(effect, "target", None)
    return (
        None if child is None else child.raw,
        None if patch is None else patch.body,
        None if target is None else target.raw,
        getattr(effect, "message", None),
    )


@pytest.mark.parametrize("make", [new, begun, ready, rolling, restarting, scaled, refused])
def test_asked_twice_a_program_answers_the_same_and_changes_nothing(make: Any) -> None:
    world = make()
    before, writes = everything(world), len(world.cache.writes)
    programs = set()
    for program, obj in members(world):
        programs.add(program.name)
        one, other = (asked(program, world.cache.request(obj.kind, obj.key)) for _ in range(2))
        assert one == other, program.name
    assert everything(world) == before
    assert len(world.cache.writes) == writes
    assert {"dynamo-graph", "dynamo-graph-component"} <= programs


@pytest.mark.parametrize("make", [new, ready, rolling])
def test_what_a_program_reads_is_frozen_at_every_depth(make: Any) -> None:
    world = make()
    for _, obj in members(world):
        for tree in (obj.metadata.labels, obj.metadata.annotations, obj.spec, obj.status):
            assert_frozen(tree)


def assert_frozen(value: Any) -> None:
    """Nothing in it can be set."""
    if isinstance(value, dict):
        with pytest.raises(TypeError):
            value["new"] = 1
        for each in value.values():
            assert_frozen(each)
    elif isinstance(value, tuple):
        for each in value:
            assert_frozen(each)
    elif isinstance(value, list):
        with pytest.raises(TypeError):
            value.append(1)
        for each in value:
            assert_frozen(each)
    elif hasattr(type(value), "model_fields"):
        for name in type(value).model_fields:
            with pytest.raises(ValueError, match="frozen"):
                setattr(value, name, None)
            assert_frozen(getattr(value, name))
