"""What holds for every small graph: it converges, a second run writes nothing, and the order of its parts never counts."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SERVICE, SERVICE_ACCOUNT
from dynamo_ctrl.objects.builtin.networking import INGRESS
from dynamo_ctrl.objects.builtin.rbac import ROLE, ROLE_BINDING
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.program import AnyProgram
from dynamo_ctrl.program.result import Result
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as ADAPTER
from dynamo_graph.component.program import ComponentProgram
from dynamo_graph.component_deployment.program import ComponentDeploymentProgram
from dynamo_graph.testing import GraphWorld, component, graph
from dynamo_graph.traffic import DESTINATION_RULE, INFERENCE_POOL, VIRTUAL_SERVICE

KINDS: tuple[Kind[Any], ...] = (
    *(DGD, DCD, DEPLOYMENT, SERVICE, SERVICE_ACCOUNT, ROLE, ROLE_BINDING),
    *(CONFIG_MAP, INGRESS, VIRTUAL_SERVICE, INFERENCE_POOL, DESTINATION_RULE, ADAPTER),
)
CONFIG = OperatorConfig.model_validate(
    {
        "ingress": {"controllerClassName": "c", "virtualServiceGateway": "gw"},
        "serviceMesh": {"provider": "istio"},
    }
)
ENV = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("ABC"), "value": st.sampled_from(["", "1"])}),
    max_size=2,
    unique_by=lambda entry: entry["name"],
)
COMPONENT = st.builds(
    lambda name, type_, replicas, env, image, **more: (
        component(
            name,
            type_,
            image=image,
            main={"env": env},
            **{key: value for key, value in more.items() if value is not None},
        )
        | ({} if replicas is None else {"replicas": replicas})
    ),
    name=st.sampled_from(["Frontend", "decode", "prefill", "Planner", "x"]),
    type_=st.sampled_from(["frontend", "worker", "prefill", "decode", "planner", None]),
    replicas=st.none() | st.integers(0, 3),
    env=ENV,
    image=st.sampled_from(["w:1.4.0", "w:1.5.0", "w:latest"]),
    globalDynamoNamespace=st.none() | st.booleans(),
    sharedMemorySize=st.sampled_from([None, "0", "1Gi"]),
    modelRef=st.sampled_from([None, {"name": "llama"}, {"name": "qwen"}]),
    scalingAdapter=st.sampled_from([None, None, {}]),
)
PICKER = st.builds(
    lambda settings: component("epp", "epp", **settings), st.sampled_from([{}, {"eppConfig": {"config": {"a": "b"}}}])
)
COMPONENTS = st.builds(
    lambda components, picker: components + picker,
    st.lists(COMPONENT, max_size=4, unique_by=lambda each: each["name"]),
    st.lists(PICKER, max_size=1),
)
SPEC = st.fixed_dictionaries({"env": ENV, "labels": st.sampled_from([{}, {"a": "b"}])})
BUDGET = settings(max_examples=12, deadline=None)


def contents(world: GraphWorld) -> dict[str, Any]:
    """Everything that is there, without what only the server chooses."""
    found = {}
    for kind in KINDS:
        for obj in world.cache.list(kind):
            tree = obj.content()
            for name in ("uid", "resourceVersion", "creationTimestamp", "generation"):
                tree["metadata"].pop(name, None)
            owners = tree["metadata"].get("ownerReferences", [])
            for owner in owners:
                owner.pop("uid")
            owners.sort(key=lambda owner: owner["name"])
            for name in ("clusterIP", "clusterIPs"):
                tree.get("spec", {}).pop(name, None)
            found[str(obj.ref)] = tree
    return found


def converged(components: list[dict[str, Any]], spec: Mapping[str, Any]) -> GraphWorld:
    world = GraphWorld(graph(*components, **spec), config=CONFIG)
    world.converge()
    world.run_pods()
    return world


@BUDGET
@given(COMPONENTS, SPEC)
def test_every_graph_becomes_successful_and_a_second_run_writes_nothing(
    components: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    world = converged(components, spec)
    assert world.graph().status.state == "successful"
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


@BUDGET
@given(COMPONENTS, SPEC, st.integers())
def test_the_order_of_components_never_counts(
    components: list[dict[str, Any]], spec: dict[str, Any], seed: int
) -> None:
    shuffled = list(components)
    Random(seed).shuffle(shuffled)
    one, other = contents(converged(components, spec)), contents(converged(shuffled, spec))
    name = str(DGD.ref("ns/g"))
    assert one.pop(name)["status"] == other.pop(name)["status"]
    assert one == other


@BUDGET
@given(COMPONENTS, SPEC, st.integers())
def test_the_order_in_which_primaries_are_reconciled_never_counts(
    components: list[dict[str, Any]], spec: dict[str, Any], seed: int
) -> None:
    straight = converged(components, spec)
    world, random = GraphWorld(graph(*components, **spec), config=CONFIG), Random(seed)
    for _ in range(12):
        choices = ["", *world.deployments()]
        chosen = random.choice(choices)
        if chosen:
            world.pass_over_deployment(chosen)
        else:
            world.pass_over_graph()
    world.converge()
    world.run_pods()
    assert contents(world) == contents(straight)


@BUDGET
@given(COMPONENTS, COMPONENTS)
def test_from_any_graph_to_any_other(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    world = converged(before, {})
    world.cache.edit(DGD, "ns/g", {"spec": {"components": after}})
    world.converge()
    world.run_pods()
    status = world.graph().status
    assert (status.state, status.observed_generation) == ("successful", world.graph().metadata.generation)
    assert sorted(status.components) == sorted(each["name"] for each in after)
    assert len(world.deployments()) == len(after)
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


def described(result: Result[Any]) -> list[tuple[Any, ...]]:
    return [
        (step.name, step.reason, step.prefix, type(effect).__name__, _inside(effect))
        for step in result.steps
        for effect in step.effects
    ]


def _inside(effect: Any) -> object:
    child = getattr(effect, "child", None) or getattr(effect, "target", None)
    return child.raw if child is not None else getattr(effect, "patch", getattr(effect, "message", None))


@BUDGET
@given(COMPONENTS, SPEC)
def test_programs_are_pure(components: list[dict[str, Any]], spec: dict[str, Any]) -> None:
    world = GraphWorld(graph(*components, **spec), config=CONFIG)
    world.pass_over_graph()
    view: View = world.cache
    assert view.serves(DGD)
    programs: list[tuple[AnyProgram, Any, Key]] = [
        (ComponentProgram(CONFIG), DGD, Key("ns", "g")),
        *((ComponentDeploymentProgram(CONFIG), DCD, Key("ns", name)) for name in world.deployments()),
    ]
    for program, kind, key in programs:
        request = world.cache.request(kind, key)
        before = request.object.raw
        first, second = program.reconcile(request), program.reconcile(request)
        assert isinstance(first, Result)
        assert isinstance(second, Result)
        assert described(first) == described(second)
        assert request.object.raw == before
