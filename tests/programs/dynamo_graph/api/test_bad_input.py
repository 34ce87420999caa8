"""Every field of every kind with a wrong type, and without each required part: refused where it is applied, by the field."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from dynamo_ctrl.objects.kind import Kind
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.testing import component, graph
from tests.programs.dynamo_graph.api.fields import Field, Tree, fields, planted, spec_of, without
from tests.programs.dynamo_graph.api.servers import MemoryServer, RealServer, Refused, Server

WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "object": ("", [], 1, True),
    "array": ({}, "a", 0),
    "string": (1, True, [], {}, 0.5),
    "integer": ("1", True, 0.5, [], {}),
    "number": ("1", True, []),
    "boolean": ("true", 1, {}),
    "amount": (True, 0.5, [], {}),
}
"""By type: what is of another."""

KINDS: Final[dict[str, Kind[Any]]] = {"graph": DGD, "component": DCD, "adapter": DGDSA}
SPECS: Final[dict[str, Tree]] = {
    "graph": json.loads(json.dumps(graph(component("a", "frontend"), component("b", "decode")).content()["spec"])),
    "component": component("a", "frontend"),
    "adapter": {"replicas": 1, "dgdRef": {"name": "g", "componentName": "a"}},
}
"""A sound spec of each kind."""

AROUND_PODS = 2
"""So many steps below a Pod template every wrong type is tried; further down one of them, a different one each time."""

each_kind = pytest.mark.parametrize("which", KINDS)


def refusal(server: Server, kind: Kind[Any], spec: Any, name: str = "a") -> Refused | None:
    """What the server says of an object with that spec; `None` if it takes it."""
    try:
        server.create(kind, {"metadata": {"name": name}, "spec": spec})
    except Refused as refused:
        return refused
    return None


def wrong_values(field: Field, turn: int) -> tuple[Any, ...]:
    values = WRONG.get(field.type, ())
    deep = "podTemplate" in field.steps and len(field.steps) > field.steps.index("podTemplate") + 1 + AROUND_PODS
    return (values[turn % len(values)],) if deep and values else values


def all_wrong(which: str) -> list[tuple[Field, Any]]:
    """Every field of a kind with what it must not be."""
    return [
        (field, value)
        for turn, field in enumerate(fields(spec_of(KINDS[which])))
        for value in wrong_values(field, turn)
    ]


@each_kind
def test_the_spec_to_start_from_is_sound(memory: MemoryServer, which: str) -> None:
    assert refusal(memory, KINDS[which], SPECS[which]) is None


@each_kind
def test_a_wrong_type_is_refused_by_its_field(memory: MemoryServer, which: str) -> None:
    schema, tried = spec_of(KINDS[which]), all_wrong(which)
    for field, value in tried:
        refused = refusal(memory, KINDS[which], planted(SPECS[which], schema, field.steps, value))
        assert refused is not None, (field, value)
        assert refused.code == 422
        assert field.path in refused.message, (field, value, refused.message)
    assert len(tried) > {"graph": 1500, "component": 1500, "adapter": 15}[which]


@each_kind
def test_a_missing_part_is_refused_by_its_field(memory: MemoryServer, which: str) -> None:
    schema = spec_of(KINDS[which])
    required = [field for field in fields(schema) if field.required]
    for field in required:
        whole = planted(SPECS[which], schema, field.steps, "a")
        refused = refusal(memory, KINDS[which], without(whole, field.steps))
        assert refused is not None, field
        assert refused.code == 422
        assert f"{field.path}: Required value" in refused.message, (field, refused.message)
    assert len(required) > {"graph": 100, "component": 100, "adapter": 3}[which]


@each_kind
def test_a_real_server_refuses_the_same(real: RealServer, which: str) -> None:
    """Every fifteenth of them, and all of the small kind."""
    schema, tried = spec_of(KINDS[which]), all_wrong(which)
    for field, value in tried[:: 1 if which == "adapter" else len(tried) // 100]:
        refused = refusal(real, KINDS[which], planted(SPECS[which], schema, field.steps, value))
        assert refused is not None, (field, value)
        assert refused.code == 422
        assert field.path in refused.message, (field, value, refused.message)


BULK: Final = "x" * 5_000_000


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"metadata": {"name": "a", "annotations": {"a": BULK}}, "spec": SPECS["graph"]}, (413, 422)),
        ({"metadata": {"name": "a"}, "spec": SPECS["graph"] | {"annotations": {"a": BULK}}}, (413,)),
    ],
    ids=["its-own", "for-its-pods"],
)
def test_a_real_server_takes_no_5_mb_of_annotations(real: RealServer, body: Tree, codes: tuple[int, ...]) -> None:
    with pytest.raises(Refused) as raised:
        real.create(DGD, body)
    assert raised.value.code in codes


def test_a_server_takes_names_that_only_the_program_refuses(server: Server) -> None:
    """What a name of 253 characters comes to is told in `tests/programs/dynamo_graph/test_bad_input.py`."""
    assert refusal(server, DGD, SPECS["graph"], "x" * 253) is None
    assert refusal(server, DGD, SPECS["graph"], "x" * 254) is not None


def test_a_real_server_refuses_25_names_that_collide_when_lowered(real: RealServer) -> None:
    letters = [(letter, letter.upper()) for letter in "abcde"]
    names = ["".join(pair[number >> at & 1] for at, pair in enumerate(letters)) for number in range(25)]
    components = [component(name, "worker") for name in names]
    refused = refusal(real, DGD, {"components": components})
    assert refused is not None
    assert "component names must be unique ignoring case" in refused.message
