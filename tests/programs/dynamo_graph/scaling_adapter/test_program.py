"""G 7.2, 7.3: from a scaling adapter to its graph, and never back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.engine.errors import Conflict, EngineError, Forbidden, ServerError
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.program.definition import definitions
from dynamo_ctrl.program.request import Request
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.api.scaling_adapter import DynamoGraphDeploymentScalingAdapter
from dynamo_graph.scaling_adapter.program import ScalingAdapterProgram, components_changed
from dynamo_graph.testing import GraphWorld, component, graph


def scaled(name: str = "w", **fields: Any) -> dict[str, Any]:
    return component(name, "worker", scalingAdapter={}, **fields)


def world_of(*components: Any, replicas: int = 5, reference: str = "w", dgd: str = "g") -> GraphWorld:
    world = GraphWorld(graph(*(components or (component("Frontend", "frontend"), scaled(replicas=2)))))
    metadata = {"name": "g-w", "namespace": "ns"}
    spec = {"replicas": replicas, "dgdRef": {"name": dgd, "componentName": reference}}
    world.cache.add(DGDSA.object({"metadata": metadata, "spec": spec}))
    return world


def run(world: GraphWorld) -> Answer:
    return world.cache.reconcile(ScalingAdapterProgram(), "ns/g-w")


def adapter(world: GraphWorld) -> DynamoGraphDeploymentScalingAdapter:
    return world.cache.request(DGDSA, "ns/g-w").object


def told(world: GraphWorld) -> list[tuple[str, str, str]]:
    assert all(obj.kind == DGDSA for obj, _ in world.cache.events)
    return [(event.type, event.reason, event.note) for _, event in world.cache.events]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"replicas": 2}, 5, id="T-SA-03"),
        pytest.param({"replicas": 2}, 0, id="T-SA-10"),
        pytest.param({}, 3, id="of a component that says nothing"),
    ],
)
def test_the_graph_follows_its_adapter(before: Any, after: int) -> None:
    world = world_of(component("Frontend", "frontend", replicas=7), scaled(**before), replicas=after)
    world.cache.advance(90)
    assert run(world) == DONE
    frontend, worker = world.graph().spec.components
    assert (frontend.replicas, worker.replicas) == (7, after)
    status = adapter(world).status
    assert status.replicas == after
    assert status.last_scale_time == world.cache.now
    was = before.get("replicas", 1)
    assert told(world) == [("Normal", "Scaled", f"Scaled component w from {was} to {after} replicas")]
    assert run(world) == DONE
    assert len(told(world)) == 1


def test_a_second_adapter_of_a_component_does_not_fight_for_it() -> None:
    world = GraphWorld(graph(component("Frontend", "frontend"), scaled(replicas=2)))
    world.finish()
    world.cache.add(
        DGDSA.object(
            {
                "metadata": {"name": "other", "namespace": "ns"},
                "spec": {"replicas": 5, "dgdRef": {"name": "g", "componentName": "w"}},
            }
        )
    )
    answer = world.cache.reconcile(ScalingAdapterProgram(), "ns/other")
    assert answer.terminal
    assert "component w is scaled by" in str(answer.error)
    assert world.graph().spec.components[1].replicas == 2
    world.cache.edit(DGDSA, "ns/g-w", {"spec": {"replicas": 5}})
    assert run(world) == DONE
    assert world.cache.reconcile(ScalingAdapterProgram(), "ns/other") == DONE
    assert world.graph().spec.components[1].replicas == 5


def test_the_adapter_of_an_earlier_graph_of_that_name_has_no_say() -> None:
    """A cache that is behind still has it, though the collector took it away."""
    world = GraphWorld(graph(component("Frontend", "frontend"), scaled(replicas=2)))
    owner = owner_reference(world.graph())
    metadata = {"name": "g-w", "namespace": "ns"}
    spec = {"replicas": 5, "dgdRef": {"name": "g", "componentName": "w"}}

    def steps(uid: str) -> int:
        reference = {"apiVersion": DGD.api_version, "kind": owner.kind, "name": "g", "uid": uid, "controller": True}
        known = DGDSA.object({"metadata": {**metadata, "ownerReferences": [reference]}, "spec": spec})
        answer = ScalingAdapterProgram().reconcile(Request(known, world.cache, world.cache.now))
        return len(answer.steps)

    assert steps(owner.uid) == 1
    assert steps("of an earlier one") == 0


@pytest.mark.parametrize(
    "replicas", [pytest.param(2, id="T-SA-04"), pytest.param(1, id="T-SA-04 of one that says nothing")]
)
def test_a_graph_that_has_the_number_is_not_written(replicas: int) -> None:
    said: Any = {"replicas": 2} if replicas == 2 else {}
    world = world_of(scaled(**said), replicas=replicas)
    assert run(world) == DONE
    assert [write.ref.kind for write in world.cache.writes] == [DGDSA]
    status = adapter(world).status
    assert (status.replicas, status.last_scale_time) == (replicas, None)
    assert told(world) == []


@pytest.mark.parametrize(
    ("component_", "lacks"),
    [
        pytest.param(component("w", "worker", replicas=2), "a component w without scalingAdapter", id="T-SA-05"),
        pytest.param(scaled("x"), "no component w", id="gone"),
    ],
)
def test_a_component_without_an_adapter_is_left_alone_and_told(component_: Any, lacks: str) -> None:
    world = world_of(component_)
    assert run(world) == DONE
    assert world.cache.writes == ()
    assert told(world) == [("Warning", "NotScaled", f"Nothing is scaled: {world.graph().ref} has {lacks}")]


def test_an_adapter_that_its_graph_is_about_to_delete_is_no_warning() -> None:
    world = GraphWorld(graph(component("Frontend", "frontend"), scaled(replicas=2)))
    world.finish()
    before = len(world.cache.events)
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [component("Frontend", "frontend")]}})
    assert run(world) == DONE
    assert len(world.cache.events) == before


@pytest.mark.parametrize("name", [pytest.param("gone", id="T-SA-07 B20")])
def test_a_missing_graph_is_an_error_that_is_tried_again(name: str) -> None:
    world = world_of(dgd=name)
    answer = run(world)
    assert answer.error is not None
    assert not answer.terminal
    assert f"ns/{name}" in str(answer.error)
    assert world.cache.writes == ()


@pytest.mark.parametrize(
    ("error", "quiet"),
    [
        pytest.param(Conflict("somebody was faster"), True, id="T-SA-08"),
        pytest.param(Forbidden("no right"), False, id="T-SA-08 refused"),
        pytest.param(ServerError("etcd is away"), False, id="T-SA-08 failed"),
    ],
)
def test_a_graph_that_cannot_be_written_leaves_the_status_and_tells_it(error: EngineError, quiet: bool) -> None:
    world = world_of()
    world.cache.faults.fail(error, "patch", DGD)
    answer = run(world)
    assert answer.conflict is quiet
    assert answer.error is (None if quiet else error)
    assert adapter(world).status.selector == ""
    assert told(world) == [("Warning", "UpdateFailed", f"Failed to scale component w from 2 to 5 replicas: {error}")]
    assert run(world) == DONE
    assert adapter(world).status.replicas == 5


@pytest.mark.parametrize(
    ("nodes", "selector"),
    [
        pytest.param(1, "nvidia.com/dynamo-component=w,nvidia.com/dynamo-graph-deployment-name=g", id="T-SA-09"),
        pytest.param(
            2,
            "nvidia.com/dynamo-component=w,nvidia.com/dynamo-graph-deployment-name=g,role=leader",
            id="B18 leaders only",
        ),
    ],
)
def test_the_selector(nodes: int, selector: str) -> None:
    more: Any = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    world = world_of(scaled(replicas=5, **more))
    run(world)
    assert adapter(world).status.selector == selector


def test_components_that_moved_in_the_list_meanwhile_are_not_scaled_by_mistake() -> None:
    world = world_of()
    swapped = (scaled(replicas=2), component("Frontend", "frontend"))
    world.cache.faults.interleave(lambda: world.edit(*swapped), "patch", DGD)
    assert run(world).conflict
    assert [each.replicas for each in world.graph().spec.components] == [2, None]
    run(world)
    assert [each.replicas for each in world.graph().spec.components] == [5, None]


def test_scale_subresource_and_back() -> None:
    world = world_of()
    run(world)
    world.cache.edit(DGDSA, "ns/g-w", {"spec": {"replicas": 3}})
    run(world)
    assert world.graph().spec.components[1].replicas == 3


def test_an_adapter_that_goes_does_nothing() -> None:
    world = world_of()
    world.cache.edit(DGDSA, "ns/g-w", {"metadata": {"finalizers": ["example.com/held"]}})
    world.cache.delete(DGDSA, "ns/g-w")
    assert run(world) == DONE
    assert world.cache.writes == ()


def test_a_graph_with_its_adapters_goes_from_the_adapter_to_its_pods() -> None:
    world = GraphWorld(graph(scaled(replicas=2)))
    world.finish()
    world.cache.edit(DGDSA, "ns/g-w", {"spec": {"replicas": 4}})
    world.finish()
    (name,) = world.deployments()
    assert world.size(name) == 4
    assert world.graph().status.components["w"].ready_replicas == 4
    assert world.phase() is None, "another size makes no generation"


def changed(old: Callable[[], Any] | None, new: Callable[[], Any] | None) -> bool:
    return components_changed(Change(old=old() if old else None, new=new() if new else None))


def at(generation: int, *components: Any, **more: Any) -> Callable[[], Any]:
    content = graph(*components, **more).content()
    content["metadata"]["generation"] = generation
    return lambda: DGD.object(content)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, at(1, scaled()), False, id="created"),
        pytest.param(at(1, scaled()), None, False, id="deleted"),
        pytest.param(at(1, scaled()), at(1, scaled()), False, id="status or metadata"),
        pytest.param(at(1, scaled()), at(2, scaled(), labels={"a": "b"}), False, id="another field"),
        pytest.param(at(1, scaled(replicas=1)), at(2, scaled(replicas=2)), True, id="replicas"),
        pytest.param(at(1, scaled()), at(2, scaled(), scaled("x")), True, id="another component"),
        pytest.param(
            lambda: DGD.object({"metadata": {"name": "g", "generation": 1}}), at(2, scaled()), True, id="a spec"
        ),
    ],
)
def test_which_changes_of_a_graph_wake_its_adapters(old: Any, new: Any, expected: bool) -> None:
    assert changed(old, new) is expected


def test_a_graph_wakes_the_adapters_that_refer_to_it() -> None:
    world = GraphWorld(graph(scaled()), graph(name="h"))
    for name, dgd in (("one", "g"), ("two", "h"), ("three", "g")):
        spec = {"replicas": 1, "dgdRef": {"name": dgd, "componentName": "w"}}
        world.cache.add(DGDSA.object({"metadata": {"name": name, "namespace": "ns"}, "spec": spec}))
    (definition,) = definitions([ScalingAdapterProgram()])
    (watch,) = definition.watches.others
    assert watch.mapper is not None
    assert [key.name for key in watch.mapper(world.graph(), world.cache)] == ["one", "three"]
