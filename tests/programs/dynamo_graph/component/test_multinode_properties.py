"""What holds for every graph with engines over several nodes: it ends Ready, or tells a field and a rule; and then it rests."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.objects.builtin.core import NAMESPACE, SECRET
from dynamo_graph.api.config import Mpi, OperatorConfig
from dynamo_graph.orchestrators import LEADER_WORKER_SET
from dynamo_graph.testing import NOT_GROUPS, GraphWorld, component, graph

CONFIG = OperatorConfig(mpi=Mpi(ssh_secret_name="keys", ssh_secret_namespace="operator"))
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
SIZES = st.lists(
    st.sampled_from(["-tp 16", "--tensor-parallel-size=8", "-dp 16", "-pp=2", "--nnodes 2", "--x 'a b'"]), max_size=3
)


@st.composite
def engines(draw: st.DrawFn, name: str, framework: str) -> dict[str, Any]:
    """An engine over one or several nodes, in Python form, in shell form, or in neither."""
    words = " ".join(draw(SIZES))
    module = f"-m dynamo.{framework} {words}".strip()
    form: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"command": ["python3"], "args": module.split()},
                {"command": ["python3", *module.split()]},
                {"command": ["/bin/bash", "-lc"], "args": [f"cd /w && exec python3 {module} | tee log"]},
                {"args": [f"python3 {module}"]},
                {"command": ["serve"], "args": ["m"]},
            ]
        )
    )
    gpus = draw(st.sampled_from([0, 1, 8]))
    main = {**form, **({"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {})}
    nodes = draw(st.integers(1, 3))
    span: dict[str, Any] = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
    return component(
        name, draw(st.sampled_from(["worker", "decode"])), main=main, replicas=draw(st.integers(0, 2)), **span
    )


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    framework = draw(st.sampled_from(["vllm", "sglang", "trtllm"]))
    names = draw(st.lists(st.sampled_from(["Decode", "prefill", "w"]), min_size=1, max_size=2, unique=True))
    annotations = draw(st.sampled_from([{}, {EXECUTOR: "mp"}, {EXECUTOR: "ray"}]))
    components = [component("Frontend", "frontend"), *(draw(engines(name, framework)) for name in names)]
    return graph(*components, annotations=annotations, backendFramework=framework)


def world_of(wanted: Any) -> GraphWorld:
    world = GraphWorld(wanted, config=CONFIG, absent=NOT_GROUPS)
    world.cache.add(NAMESPACE.object({"metadata": {"name": "operator"}}))
    return world


def rested(world: GraphWorld) -> bool:
    """Run until it rests; whether nothing failed for good."""
    for _ in range(30):
        before = len(world.cache.writes)
        answers = [world.pass_over_graph(), *(world.pass_over_deployment(name) for name in world.deployments())]
        if len(world.cache.writes) == before:
            assert all(answer.error is None or answer.terminal for answer in answers), answers
            return not any(answer.terminal for answer in answers)
    raise AssertionError("no rest")


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_a_graph_ends_ready_or_tells_a_field_and_a_rule(wanted: Any) -> None:
    world = world_of(wanted)
    if not rested(world):
        (ready,) = [each for each in world.graph().status.conditions if each.type == "Ready"]
        assert world.graph().status.state == "failed"
        assert "spec." in ready.message
        assert world.deployments() == []
        return
    world.run_pods()
    assert world.graph().status.state == "successful"
    spanning = [each.name for each in wanted.spec.components if each.is_multinode]
    assert len(world.cache.list(LEADER_WORKER_SET)) == len(spanning)
    mpi = wanted.spec.backend_framework == "trtllm" and spanning
    assert len(world.cache.list(SECRET)) == (2 if mpi else 0)
    writes = len(world.cache.writes)
    world.converge()
    assert world.wrote(writes) == []


@settings(max_examples=20, deadline=None)
@given(graphs())
def test_the_same_graph_gives_the_same_groups(wanted: Any) -> None:
    def made() -> list[Any]:
        world = world_of(wanted)
        rested(world)
        return [each.content()["spec"] for each in world.cache.list(LEADER_WORKER_SET)]

    assert made() == made()
