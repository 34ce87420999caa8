"""G 3.4: restarts of a whole graph, from the request to the last component, and what interrupts them."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import ServerError
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.render.template import annotations_of
from dynamo_graph.testing import GraphWorld, component, graph

PARTS = (component("Frontend", "frontend"), component("decode", "decode"), component("prefill", "prefill"))
NEW_DECODE = component("decode", "decode", image="registry.example/w:1.4.1")


def serving(*components: Any) -> GraphWorld:
    world = GraphWorld(graph(*(components or PARTS)))
    world.finish()
    return world


def ask(world: GraphWorld, id_: str = "r1", **strategy: Any) -> None:
    restart = {"id": id_, **({"strategy": strategy} if strategy else {})}
    world.cache.edit(DGD, "ns/g", {"spec": {"restart": restart}})


def status(world: GraphWorld) -> tuple[str, str | None, tuple[str, ...]] | None:
    found = world.graph().status.restart
    return None if found is None else (found.observed_id, found.phase, found.in_progress)


def stamps(world: GraphWorld) -> dict[str, str]:
    """Component to the restart that its Deployment's Pods carry."""
    found = {}
    for deployment in world.cache.list(DEPLOYMENT):
        template = deployment.spec.template
        stamp = (template.get("metadata", {}).get("annotations") or {}).get("nvidia.com/restartAt")
        if stamp:
            found[deployment.metadata.labels["nvidia.com/dynamo-component"]] = stamp
    return found


def one_by_one(world: GraphWorld) -> list[Any]:
    """What the status says on the way, until nothing changes any more."""
    seen: list[Any] = []
    for _ in range(20):
        world.converge()
        if status(world) not in seen[-1:]:
            seen.append(status(world))
        world.step_pods()
    return seen


def test_components_restart_one_after_the_other() -> None:
    world = serving()
    ask(world)
    assert one_by_one(world) == [
        ("r1", "Restarting", ("Frontend",)),
        ("r1", "Restarting", ("decode",)),
        ("r1", "Restarting", ("prefill",)),
        ("r1", "Completed", ()),
    ]
    assert stamps(world) == {"Frontend": "r1", "decode": "r1", "prefill": "r1"}
    assert world.graph().status.state == "successful"
    assert world.phase() is None, "a restart makes no generation"
    writes = len(world.cache.writes)
    world.finish()
    assert world.wrote(writes) == []


def test_components_restart_in_the_order_asked_for() -> None:
    world = serving()
    ask(world, order=["prefill", "Frontend", "decode"])
    assert [entry[2] for entry in one_by_one(world)] == [("prefill",), ("Frontend",), ("decode",), ()]


def test_components_restart_all_at_once() -> None:
    world = serving()
    ask(world, type="Parallel")
    world.pass_over_graph()
    assert status(world) == ("r1", "Restarting", ("Frontend", "decode", "prefill"))
    assert one_by_one(world)[-1] == ("r1", "Completed", ())
    assert stamps(world) == {"Frontend": "r1", "decode": "r1", "prefill": "r1"}


def test_a_second_restart_follows_the_first() -> None:
    world = serving()
    for id_ in ("r1", "r2"):
        ask(world, id_)
        assert one_by_one(world)[-1] == (id_, "Completed", ())
    assert set(stamps(world).values()) == {"r2"}


def test_a_request_that_is_taken_back_leaves_what_has_restarted() -> None:
    world = serving()
    ask(world)
    world.converge()
    world.cache.edit(DGD, "ns/g", {"spec": {"restart": None}})
    world.finish()
    assert status(world) is None
    assert stamps(world) == {"Frontend": "r1"}


@pytest.mark.parametrize("failing", [pytest.param("patch", id="T-RST-18")])
def test_a_status_is_published_only_with_the_workload_that_carries_it(failing: Any) -> None:
    world = serving()
    ask(world)
    world.cache.faults.fail(ServerError("etcd is away"), failing, DCD)
    assert world.pass_over_graph().error is not None
    assert status(world) is None
    assert stamps(world) == {}
    world.pass_over_graph()
    assert status(world) == ("r1", "Restarting", ("Frontend",))
    assert one_by_one(world)[-1] == ("r1", "Completed", ())


def test_a_crash_between_the_stamp_and_the_status_costs_nothing() -> None:
    world = serving()
    ask(world)
    world.cache.faults.fail(ServerError("lost"), "patch", DGD, subresource="status")
    assert world.pass_over_graph().error is not None
    assert status(world) is None
    assert one_by_one(world)[0] == ("r1", "Restarting", ("Frontend",))
    assert status(world) == ("r1", "Completed", ())


def test_components_that_carry_the_stamp_already_are_passed_without_an_event_to_wait_for() -> None:
    world = serving(component("Frontend", "frontend"), component("Other"))
    template = {"metadata": {"annotations": {"nvidia.com/restartAt": "r1"}}}
    for name in ("g-frontend", "g-other"):
        world.cache.edit(DCD, f"ns/{name}", {"spec": {"podTemplate": template}})
        world.pass_over_deployment(name)
    world.step_pods()
    for name in ("g-frontend", "g-other"):
        world.pass_over_deployment(name)
    ask(world)
    answers = [world.pass_over_graph() for _ in range(3)]
    assert [answer.requeue_after for answer in answers] == [0.0, 0.0, None]
    assert status(world) == ("r1", "Completed", ())


@pytest.mark.parametrize("present", [pytest.param("r0", id="T-RST-19")])
def test_a_component_whose_turn_has_not_come_keeps_what_it_carries(present: str) -> None:
    world = serving()
    ask(world, present)
    one_by_one(world)
    ask(world, "r1")
    world.converge()
    assert stamps(world) == {"Frontend": "r1", "decode": present, "prefill": present}
    decode = next(name for name in world.deployments() if "decode" in name)
    assert annotations_of(world.deployment(decode).spec.pod_template)["nvidia.com/restartAt"] == present


@pytest.mark.parametrize(
    "strategy", [pytest.param({}, id="T-RST-15"), pytest.param({"type": "Parallel"}, id="parallel")]
)
def test_a_rollout_supersedes_a_restart(strategy: dict[str, str]) -> None:
    world = serving()
    world.edit(PARTS[0], NEW_DECODE, PARTS[2])
    world.converge()
    assert world.phase() == "InProgress"
    ask(world, **strategy)
    world.converge()
    assert status(world) == ("r1", "Superseded", ())
    assert stamps(world) == {}
    world.finish()
    assert world.phase() == "Completed"
    assert status(world) == ("r1", "Superseded", ()), "T-RST-16"
    assert stamps(world) == {}
    assert world.told("RestartSuperseded") == ["RestartSuperseded"]


@pytest.mark.parametrize("events", [pytest.param(1, id="T-RST-16")])
def test_what_was_superseded_stays_so_and_can_be_asked_for_anew(events: int) -> None:
    world = serving()
    ask(world)
    world.converge()
    world.edit(PARTS[0], NEW_DECODE, PARTS[2])
    world.finish()
    assert status(world) == ("r1", "Superseded", ())
    assert world.told("RestartSuperseded") == ["RestartSuperseded"] * events
    world.cache.edit(DGD, "ns/g", {"spec": {"restart": None}})
    world.finish()
    assert stamps(world) == {"Frontend": "r1"}, "giving it up restarts nobody"
    ask(world, "r2")
    assert one_by_one(world)[-1] == ("r2", "Completed", ())


@pytest.mark.parametrize("id_", [pytest.param("r1", id="T-RST-22 B16")])
def test_a_graph_created_with_a_request_restarts_nothing(id_: str) -> None:
    world = GraphWorld(graph(*PARTS, restart={"id": id_}))
    world.pass_over_graph()
    assert status(world) == (id_, "Completed", ())
    world.finish()
    assert stamps(world) == {}
    assert status(world) == (id_, "Completed", ())
    world.edit(*PARTS[:2], component("prefill", "prefill", replicas=2))
    world.finish()
    assert stamps(world) == {}
    ask(world, "r2")
    assert one_by_one(world)[-1] == ("r2", "Completed", ())
    assert set(stamps(world).values()) == {"r2"}


@pytest.mark.parametrize("told", [pytest.param("a new id", id="B17")])
def test_the_status_and_the_event_say_how_to_ask(told: str) -> None:
    world = serving()
    ask(world)
    assert one_by_one(world)[-1] == ("r1", "Completed", ())
    world.edit(PARTS[0], NEW_DECODE, PARTS[2])
    world.converge()
    ask(world, "r2")
    world.converge()
    (note,) = [event.note for _, event in world.cache.events if event.reason == "RestartSuperseded"]
    assert "r2" in note
    assert told in note


def test_a_component_without_replicas_does_not_hold_up_the_others() -> None:
    world = serving(component("Frontend", "frontend", replicas=0), PARTS[1])
    ask(world)
    assert one_by_one(world)[-1] == ("r1", "Completed", ())


def test_a_component_that_leaves_in_mid_restart_does_not_hold_up_the_others() -> None:
    world = serving()
    ask(world)
    world.converge()
    assert status(world) == ("r1", "Restarting", ("Frontend",))
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [*PARTS[1:]]}})
    assert one_by_one(world)[-1] == ("r1", "Completed", ())


def test_graphs_that_are_restarting_are_not_ready() -> None:
    world = serving()
    ask(world)
    world.pass_over_graph()
    assert world.graph().status.state == "pending"
