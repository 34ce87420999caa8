"""One table of rules, held twice: by a real server in the CEL of the CRDs, and by the programs in Python.

The memory engine evaluates no CEL: there the programs alone hold them.
"""

from __future__ import annotations

import json

import pytest

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api import cel
from dynamo_graph.api.changes import graph_changes
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.graph import GraphSpec
from dynamo_graph.api.rules import graph_problems
from tests.programs.dynamo_graph.api.rule_cases import BROKEN, MAIN, SOUND, Broken, Tree
from tests.programs.dynamo_graph.api.servers import MemoryServer, RealServer, Refused, Server, create_graph

ALL_RULES = (
    *cel.GRAPH_RULES,
    *cel.COMPONENT_RULES,
    *cel.EXPERIMENTAL_RULES,
    *cel.KV_TRANSFER_RULES,
    *cel.EPP_CONFIG_RULES,
    *cel.CHECKPOINT_RULES,
)

broken = pytest.mark.parametrize("case", BROKEN.values(), ids=list(BROKEN))
sound = pytest.mark.parametrize(("before", "spec"), SOUND.values(), ids=list(SOUND))


def read(spec: Tree | None) -> GraphSpec | None:
    return None if spec is None else GraphSpec.model_validate_json(json.dumps(spec))


def problems(before: Tree | None, spec: Tree) -> list[InvalidObject]:
    """What the programs and admission say of that spec."""
    new = read(spec)
    assert new is not None
    return [*graph_problems(new), *graph_changes(read(before), new)]


def store(server: Server, before: Tree | None, spec: Tree, name: str = "g") -> Tree:
    """The graph with that spec, made or changed."""
    if before is None:
        return create_graph(server, name, **spec)
    create_graph(server, name, **before)
    removed = dict.fromkeys(set(before) - set(spec))
    return server.merge(DGD, name, {"spec": {**spec, **removed}})


def test_every_rule_of_the_definitions_is_in_the_table() -> None:
    assert {rule.message for rule in ALL_RULES} == {case.cel for case in BROKEN.values()}


@broken
def test_the_programs_name_the_field_and_the_rule(case: Broken) -> None:
    found = [(problem.path, problem.rule) for problem in problems(case.before, case.spec)]
    assert (case.path, case.rule) in found
    assert {path for path, _ in found} == {case.path}


@broken
def test_a_real_server_refuses_it(real: RealServer, case: Broken) -> None:
    with pytest.raises(Refused) as raised:
        store(real, case.before, case.spec)
    assert raised.value.code == 422
    assert case.cel in raised.value.message


def test_the_memory_engine_leaves_them_to_the_programs(memory: MemoryServer) -> None:
    for name, case in BROKEN.items():
        assert store(memory, case.before, case.spec, name)["metadata"]["name"] == name


@sound
def test_the_programs_see_nothing_in_a_sound_spec(before: Tree | None, spec: Tree) -> None:
    assert problems(before, spec) == []


@sound
def test_a_server_takes_a_sound_spec(server: Server, before: Tree | None, spec: Tree) -> None:
    assert store(server, before, spec)["metadata"]["generation"] == (1 if before in (None, spec) else 2)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ({"replicas": 1}, {"minAvailable": 2}, "minAvailable must not be above replicas"),
        ({}, {"eppConfig": {"config": {}}}, "eppConfig needs type epp"),
        ({"type": "worker"}, {"type": "decode"}, "type is immutable once set"),
        ({"minAvailable": 1}, {"minAvailable": None}, "minAvailable is immutable once set"),
        ({}, {"topologyConstraint": {"packDomain": "rack"}}, f"topologyConstraint {cel.CHANGED}"),
    ],
)
def test_a_component_deployment_obeys_them_too(real: RealServer, before: Tree, after: Tree, message: str) -> None:
    real.create(DCD, {"metadata": {"name": "d"}, "spec": {"name": "a", "podTemplate": MAIN, **before}})
    with pytest.raises(Refused, match=message) as raised:
        real.merge(DCD, "d", {"spec": after})
    assert raised.value.code == 422
