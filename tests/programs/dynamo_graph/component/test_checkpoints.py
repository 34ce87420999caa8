"""Components that wait for a checkpoint, and what becomes of checkpoints when a graph goes (G 3.2.2, 3.3, 9.1).

Checkpoints are played by ConfigMaps here: nothing in this package makes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.graph import DynamoGraphDeployment
from dynamo_graph.api.graph_status import CheckpointStatus
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.component.checkpoints import Automatic, NoCheckpoints, Observation
from dynamo_graph.testing import GraphWorld, component, graph

FRONTEND = component("Frontend", "frontend", replicas=2)
POLICY = "example.com/policy"
OWNER = "example.com/owner"
FINALIZER = "nvidia.com/finalizer"


@dataclass(frozen=True)
class FakeCheckpoints:
    """Checkpoints whose state is given, and whose automatic objects are ConfigMaps that name their graph by its uid."""

    known: Mapping[str, CheckpointStatus] = field(default_factory=dict)
    problem: Exception | None = None

    def observe(self, graph: DynamoGraphDeployment, view: View) -> Observation:
        del graph, view
        return Observation(checkpoints=self.known, problem=self.problem)

    def automatic(self, graph: DynamoGraphDeployment, view: View) -> Sequence[Automatic]:
        found = view.list(CONFIG_MAP, namespace=graph.metadata.namespace)
        mine = [each for each in found if each.metadata.annotations.get(OWNER) == graph.metadata.uid]
        return [Automatic(each, _policy(each.metadata.annotations[POLICY])) for each in mine]


def _policy(text: str) -> Literal["Delete", "Retain"]:
    return "Delete" if text == "Delete" else "Retain"


def waiting(policy: str = "WaitForCheckpoint", **checkpoint: Any) -> dict[str, Any]:
    settings = {"enabled": True, "startupPolicy": policy, **checkpoint}
    return component("decode", "decode", replicas=3, experimental={"checkpoint": settings}, scalingAdapter={})


def world_of(*components: Any, checkpoints: Any = None) -> GraphWorld:
    world = GraphWorld(graph(*components))
    world.restart(checkpoints=checkpoints)
    world.converge()
    world.run_pods()
    return world


def decode(world: GraphWorld) -> Any:
    (name,) = (name for name in world.deployments() if "decode" in name)
    return world.deployment(name).spec


READY = FakeCheckpoints({"decode": CheckpointStatus(checkpoint_name="c1", ready=True)})
MADE = FakeCheckpoints({"decode": CheckpointStatus(checkpoint_name="c1")})
NAMELESS = FakeCheckpoints({"decode": CheckpointStatus()})


@pytest.mark.parametrize(
    ("checkpoints", "message"),
    [
        pytest.param(NoCheckpoints(), "Waiting for checkpoints: decode", id="T-REND-11"),
        pytest.param(MADE, "Waiting for checkpoints: decode (c1)", id="T-REND-11 it exists"),
        pytest.param(NAMELESS, "Waiting for checkpoints: decode", id="T-REND-11 it has no name yet"),
    ],
)
def test_a_component_whose_checkpoint_is_not_ready_has_no_replicas(checkpoints: Any, message: str) -> None:
    world = world_of(FRONTEND, waiting(job={"spec": {}}), checkpoints=checkpoints)
    assert decode(world).replicas == 0
    assert world.size("g-frontend") == 2
    assert world.ready() == ("False", "waiting_for_checkpoint", message)
    assert world.graph().status.state == "pending"
    assert not world.cache.list(DGDSA), "nobody may scale what waits"


def test_it_starts_from_its_checkpoint_once_that_is_ready() -> None:
    world = world_of(FRONTEND, waiting(job={"spec": {}}), checkpoints=MADE)
    world.restart(checkpoints=READY)
    world.converge()
    world.run_pods()
    spec = decode(world)
    assert spec.replicas == 3
    assert spec.experimental.checkpoint.checkpoint_ref == "c1"
    assert spec.experimental.checkpoint.job is None, "nobody makes another one"
    assert world.ready()[0] == "True"
    (adapter,) = world.cache.list(DGDSA)
    assert adapter.spec.replicas == 3
    assert world.graph().status.checkpoints["decode"].ready


def test_who_does_not_wait_starts_at_once() -> None:
    world = world_of(FRONTEND, waiting("Immediate", checkpointRef="c1"))
    assert decode(world).replicas == 3
    assert world.ready()[0] == "True"
    status = world.graph().status.checkpoints["decode"]
    assert (status.checkpoint_name, status.ready) == ("c1", False)


def test_checkpoints_that_cannot_be_seen_fail_the_graph_and_what_was_seen_is_kept() -> None:
    world = GraphWorld(graph(FRONTEND, waiting()))
    world.restart(checkpoints=FakeCheckpoints(MADE.known, problem=RuntimeError("the store is away")))
    answer = world.pass_over_graph()
    assert not answer.terminal
    assert world.ready()[1:] == (
        "failed_to_reconcile_the_resources",
        "failed to reconcile checkpoints: the store is away",
    )
    assert world.graph().status.checkpoints["decode"].checkpoint_name == "c1"
    assert world.deployments() == []


def test_no_kind_of_a_snapshot_is_written() -> None:
    world = world_of(FRONTEND, waiting(job={"spec": {}}), checkpoints=READY)
    written = {write.ref.kind.group for write in world.cache.writes}
    assert written <= {"", "apps", "nvidia.com", "rbac.authorization.k8s.io"}
    assert {kind for kind in (write.ref.kind.kind for write in world.cache.writes) if "napshot" in kind} == set()


# --- when the graph goes


def made_for(world: GraphWorld, name: str, policy: str, *, uid: str | None = None, finalizers: Any = ()) -> Any:
    annotations = {POLICY: policy, OWNER: world.graph().metadata.uid if uid is None else uid}
    metadata = {"name": name, "namespace": "ns", "annotations": annotations, "finalizers": list(finalizers)}
    return world.cache.add(CONFIG_MAP.object({"metadata": metadata}))


def deleted(*made: tuple[str, str], finalizers: Any = ()) -> GraphWorld:
    world = GraphWorld(graph(FRONTEND, finalizers=[FINALIZER]))
    world.restart(checkpoints=FakeCheckpoints())
    for name, policy in made:
        made_for(world, name, policy, finalizers=finalizers)
    made_for(world, "of-another-graph", "Delete", uid="another")
    world.cache.delete(DGD, "ns/g")
    return world


def names(world: GraphWorld) -> list[str]:
    return [each.metadata.name for each in world.cache.list(CONFIG_MAP)]


@pytest.mark.parametrize("finalizer", [pytest.param("example.com/slow", id="T-FIN-05")])
def test_the_finalizer_stays_while_automatic_checkpoints_disappear(finalizer: str) -> None:
    world = deleted(("auto", "Delete"), finalizers=[finalizer])
    assert world.pass_over_graph() == Answer(requeue_after=0.0)
    assert world.graph().metadata.finalizers == (FINALIZER,)
    assert world.wrote() == ["delete ConfigMap ns/auto"]
    assert world.pass_over_graph() == Answer(requeue_after=0.0)
    assert world.wrote() == ["delete ConfigMap ns/auto"], "asked for once"
    world.cache.edit(CONFIG_MAP, "ns/auto", {"metadata": {"finalizers": None}})
    assert world.pass_over_graph() == Answer()
    assert world.cache.get(DGD, "ns/g") is None
    assert names(world) == ["of-another-graph"]


@pytest.mark.parametrize("policy", [pytest.param("Retain", id="T-FIN-06")])
def test_checkpoints_that_are_to_be_kept_are_not_touched(policy: str) -> None:
    world = deleted(("auto", policy))
    assert world.pass_over_graph() == Answer()
    assert not [write for write in world.wrote() if "ConfigMap" in write]
    assert names(world) == ["auto", "of-another-graph"]


def test_a_graph_goes_with_those_that_are_to_go() -> None:
    world = deleted(("auto", "Delete"), ("kept", "Retain"))
    world.pass_over_graph()
    world.pass_over_graph()
    assert world.cache.get(DGD, "ns/g") is None
    assert names(world) == ["kept", "of-another-graph"]
