"""The outer side of a graph in a cluster: selection, finalizer, deletion, ownership conflicts, and what wakes a graph."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.controller.answer import CONFLICT, DONE
from dynamo_ctrl.engine.errors import Forbidden, ServerError
from dynamo_ctrl.objects.builtin.core import SERVICE
from dynamo_ctrl.objects.conditions import find
from dynamo_ctrl.program.effect import Refuse
from dynamo_ctrl.program.result import Result, Step
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.graph.program import GraphProgram
from dynamo_graph.testing import GraphWorld, component, graph

FINALIZER = "nvidia.com/finalizer"
PROVIDER = "nvidia.com/workload-provider"
FRONTEND = component("Frontend", "frontend")


def condition(world: GraphWorld, type_: str) -> tuple[str, str] | None:
    found = find(world.graph().status.conditions, type_)
    return (found.status, found.reason) if found is not None else None


# --- selection in a cluster


@pytest.mark.parametrize("provider", [pytest.param("unknown", id="T-SEL-12")])
def test_a_refusal_whose_status_cannot_be_written_is_tried_again(provider: str) -> None:
    world = GraphWorld(graph(FRONTEND, annotations={PROVIDER: provider}))
    world.cache.faults.fail(ServerError("etcd is away"), "patch", DGD, subresource="status")
    answer = world.pass_over_graph()
    assert isinstance(answer.error, ServerError)
    assert not answer.terminal
    again = world.pass_over_graph()
    assert again.terminal
    assert condition(world, "Ready") == ("False", "unsupported_workload_provider")


@pytest.mark.parametrize("happens", [pytest.param({"metadata": {"labels": {"a": "b"}}}, id="T-SEL-15")])
def test_a_choice_that_meets_another_write_is_made_again(happens: dict[str, Any]) -> None:
    world = GraphWorld(graph(FRONTEND))
    world.cache.faults.interleave(lambda: world.cache.edit(DGD, "ns/g", happens), "patch", DGD)
    assert world.pass_over_graph() == CONFLICT
    found = world.graph()
    assert PROVIDER not in found.metadata.annotations
    assert found.content().get("status") in (None, {})
    assert found.metadata.finalizers == ()
    world.converge()
    assert world.graph().metadata.annotations[PROVIDER] == "component"


def test_what_enables_another_provider_later_changes_nothing() -> None:
    world = GraphWorld(graph(FRONTEND))
    world.converge()
    world.cache.edit(DGD, "ns/g", {"metadata": {"annotations": {"nvidia.com/enable-disaggregatedset": "true"}}})
    world.converge()
    assert world.graph().metadata.annotations[PROVIDER] == "component"


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"checkpoint": {"enabled": True, "checkpointRef": "c", "job": {"a": 1}}}, id="T-CON-23"),
    ],
)
def test_invalid_checkpoint_settings_fail_without_finalizer_and_without_error(spec: dict[str, Any]) -> None:
    world = GraphWorld(graph(component("w", "worker", experimental=spec)))
    assert world.pass_over_graph() == DONE
    assert condition(world, "Ready") == ("False", "failed_to_reconcile_the_resources")
    assert world.graph().metadata.finalizers == ()
    assert world.deployments() == []
    assert world.graph().status.observed_generation == 0


@pytest.mark.parametrize("error", [pytest.param(ServerError("etcd is away"), id="T-CON-06")])
def test_events_are_not_told_for_a_status_that_was_not_written(error: Exception) -> None:
    world = GraphWorld(graph(FRONTEND), DCD.object({"metadata": {"name": "g-frontend", "namespace": "ns"}}))
    world.cache.faults.fail(error, "patch", DGD, subresource="status")
    answer = world.pass_over_graph()
    assert answer.error is error
    assert world.cache.events == []
    world.pass_over_graph()
    assert [event.reason for _, event in world.cache.events] == ["OwnershipConflict"]


# --- ownership conflicts


def test_a_foreign_deployment_is_told_once_and_forgotten_when_it_goes() -> None:
    world = GraphWorld(graph(FRONTEND), DCD.object({"metadata": {"name": "g-frontend", "namespace": "ns"}}))
    for _ in range(2):
        answer = world.pass_over_graph()
        assert not answer.terminal
        assert answer.error is not None
    assert condition(world, "OwnershipConflict") == ("True", "OwnershipConflict")
    assert condition(world, "Ready") == ("False", "failed_to_reconcile_the_resources")
    ((about, event),) = world.cache.events
    assert about.key == world.graph().key
    assert (event.type, event.reason) == ("Warning", "OwnershipConflict")
    assert event.note.startswith("Refusing to reconcile a resource with conflicting controller ownership: ")
    world.cache.delete(DCD, "ns/g-frontend")
    world.converge()
    assert condition(world, "OwnershipConflict") == ("False", "OwnershipConflictResolved")
    assert len(world.cache.events) == 1


# --- finalizer and deletion


@pytest.mark.parametrize("components", [pytest.param((FRONTEND,), id="T-FIN-01")])
def test_the_finalizer_comes_after_the_choice_of_the_provider(components: Any) -> None:
    world = GraphWorld(graph(*components))
    world.pass_over_graph()
    first, second = world.wrote()[:2]
    assert first == "patch DynamoGraphDeployment ns/g metadata.annotations"
    assert second == "patch DynamoGraphDeployment ns/g metadata.finalizers"
    assert world.graph().metadata.finalizers == (FINALIZER,)


@pytest.mark.parametrize(
    ("annotations", "finalizers"),
    [
        pytest.param({}, [FINALIZER, "example.com/other"], id="T-FIN-02"),
        pytest.param({PROVIDER: "unknown"}, [FINALIZER, "example.com/other"], id="T-FIN-07"),
    ],
)
def test_a_deleted_graph_loses_our_finalizer_and_nothing_else_happens(
    annotations: dict[str, str], finalizers: list[str]
) -> None:
    world = GraphWorld(graph(FRONTEND, annotations=annotations, finalizers=finalizers))
    world.cache.delete(DGD, "ns/g")
    assert world.pass_over_graph() == DONE
    assert world.graph().metadata.finalizers == ("example.com/other",)
    assert world.wrote() == ["patch DynamoGraphDeployment ns/g metadata.finalizers"]
    assert world.deployments() == []


@pytest.mark.parametrize("left", [pytest.param("foregroundDeletion", id="T-FIN-03")])
def test_a_deleted_graph_without_our_finalizer_is_left_alone(left: str) -> None:
    world = GraphWorld(graph(FRONTEND, finalizers=[left]))
    world.cache.delete(DGD, "ns/g", propagation="Foreground")
    assert world.pass_over_graph() == DONE
    assert world.wrote() == []


class Stubborn(GraphProgram):
    """Cannot finalise."""

    def finalize(self, request: Any) -> Result[Any]:
        return Result(steps=(Step(name="clean-up", effects=(Refuse(message="the store is away"),)),))


@pytest.mark.parametrize("program", [pytest.param(Stubborn(), id="T-FIN-04")])
def test_the_finalizer_stays_while_finalisation_fails(program: GraphProgram) -> None:
    world = GraphWorld(graph(FRONTEND, finalizers=[FINALIZER]))
    world.programs[0] = program
    world.cache.delete(DGD, "ns/g")
    answer = world.pass_over_graph()
    assert "the store is away" in str(answer.error)
    assert not answer.terminal
    assert world.graph().metadata.finalizers == (FINALIZER,)


@pytest.mark.parametrize("error", [pytest.param(Forbidden("no"), id="T-FIN-08")])
def test_a_finalizer_that_cannot_be_added_fails_the_graph(error: Exception) -> None:
    world = GraphWorld(graph(FRONTEND, annotations={PROVIDER: "component"}))
    world.cache.faults.fail(error, "patch", DGD, subresource="")
    answer = world.pass_over_graph()
    assert answer.error is error
    assert condition(world, "Ready") == ("False", "failed_to_handle_the_finalizer")
    assert world.deployments() == []


# --- what wakes a graph


def version(base: Any, **changes: Any) -> Any:
    content = base.content()
    content["metadata"] |= changes
    return base.kind.object(content)


OLD = version(graph(FRONTEND), uid="u1", generation=1)


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        pytest.param(Change(None, OLD), True, id="created"),
        pytest.param(Change(OLD, None), True, id="deleted"),
        pytest.param(Change(OLD, version(OLD, generation=2)), True, id="another generation"),
        pytest.param(Change(OLD, version(OLD, annotations={"a": "b"})), False, id="T-WATCH-16"),
        pytest.param(Change(OLD, version(OLD, deletionTimestamp="2026-01-01T00:00:00Z")), True, id="T-WATCH-17"),
    ],
)
@pytest.mark.parametrize("program", [GraphProgram(), ComponentProgram()], ids=lambda program: program.name)
def test_changes_of_a_graph(program: Any, change: Change[Any], wakes: bool) -> None:
    assert program.watches.primary.when(change) is wakes


CHILD = SERVICE.object({"metadata": {"name": "s", "namespace": "ns"}})


@pytest.mark.parametrize(
    ("change", "wakes"), [(Change(None, CHILD), False), (Change(CHILD, CHILD), True), (Change(CHILD, None), True)]
)
def test_changes_of_an_owned_service(change: Change[Any], wakes: bool) -> None:
    (watch,) = (watch for watch in GraphProgram.watches.others if watch.kind == SERVICE)
    assert watch.when(change) is wakes


@pytest.mark.parametrize("change", [Change(None, CHILD), Change(CHILD, CHILD), Change(CHILD, None)])
def test_every_change_of_an_owned_component_deployment_wakes(change: Change[Any]) -> None:
    (watch,) = (watch for watch in ComponentProgram.watches.others if watch.kind == DCD and not watch.mends)
    assert watch.mapper is not None
    assert watch.when(change)
