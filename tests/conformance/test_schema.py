"""Structural schemas: pruning, defaults and rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.kinds import SHAPE, body, stored
from tests.conformance.outcome import invalid, refused
from tests.conformance.world import World

DEFAULTS = {"default": "d", "nullableDefault": "d", "section": {"a": 5}}
"""What every Shape gets."""


def shape(world: World, **spec: Any) -> Any:
    return world.create(SHAPE, body(SHAPE, "a", spec=spec))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({}, {}),
        ({"unknown": 1}, {}),
        ({"number": 1}, {"number": 1}),
        ({"number": 1.5}, {"number": 1.5}),
        ({"count": 2}, {"count": 2}),
        ({"either": 1}, {"either": 1}),
        ({"either": "1"}, {"either": "1"}),
        ({"text": None}, {}),
        ({"nullable": None}, {"nullable": None}),
        ({"nullableDefault": None}, {"nullableDefault": None}),
        ({"default": None}, {}),
        ({"default": "x"}, {"default": "x"}),
        ({"section": None}, {}),
        ({"section": {}}, {}),
        ({"section": {"a": 1, "b": "x", "c": 1}}, {"section": {"a": 1, "b": "x"}}),
        ({"lazy": None}, {}),
        ({"lazy": {}}, {"lazy": {"a": 5}}),
        ({"lazy": {"a": None, "q": None, "zz": 1}}, {"lazy": {"a": 5}}),
        ({"texts": {}}, {"texts": {}}),
        ({"texts": {"a": "b", "c": None}}, {"texts": {"a": "b"}}),
        ({"objects": {"x": {}, "y": None}}, {"objects": {"x": {"a": 1}}}),
        ({"objects": {"x": {"b": 1}}}, {"objects": {"x": {"a": 1}}}),
        ({"map": [{"name": "a"}, {"name": "b", "v": 1, "zz": 1}]}, {"map": [{"name": "a", "v": 3}, {"name": "b", "v": 1}]}),
        ({"set": ["b", "a"]}, {"set": ["b", "a"]}),
        ({"loose": {"x": {"y": 1}, "known": {"z": "a", "w": 1}}}, {"loose": {"x": {"y": 1}, "known": {"z": "a"}}}),
        (
            {"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "foo": 1}, "spec": {"q": 1}}},
            {"embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"q": 1}}},
        ),
        ({"moment": "2020-01-01T00:00:00Z"}, {"moment": "2020-01-01T00:00:00Z"}),
        ({"one": {"a": "x"}}, {"one": {"a": "x"}}),
        ({"some": {"a": "x", "b": "y"}}, {"some": {"a": "x", "b": "y"}}),
        ({"none": {"b": "y"}}, {"none": {"b": "y"}}),
        ({"all": {"a": "x", "b": "y"}}, {"all": {"a": "x", "b": "y"}}),
    ],
    ids=str,
)  # fmt: skip
def test_an_object_gets_its_shape(world: World, sent: dict[str, Any], kept: dict[str, Any]) -> None:
    assert shape(world, **sent).object == stored(SHAPE, "a", metadata={"generation": 1}, spec={**DEFAULTS, **kept})


def wrong(field: str, found: str, wanted: str) -> tuple[str, str, str]:
    path = f"spec.{field}"
    return path, "TypeInvalid", f'Invalid value: "{found}": {path} in body must be of type {wanted}: "{found}"'


def bad(field: str, value: str, rule: str) -> tuple[str, str, str]:
    path = f"spec.{field}"
    return path, "Invalid", f"Invalid value: {value}: {path} in body should {rule}"


def composed(text: str) -> tuple[str, str, str]:
    return "<nil>", "Invalid", f'Invalid value: "": {text}'


def needed(field: str) -> tuple[str, str, str]:
    return f"spec.{field}", "Required", "Required value"


@pytest.mark.parametrize(
    ("sent", "causes"),
    [
        ({"text": "a"}, [bad("text", '"a"', "be at least 2 chars long")]),
        ({"text": "abcde"}, [("spec.text", "TooLong", "Too long: may not be more than 4 bytes")]),
        ({"text": "AB"}, [bad("text", '"AB"', "match '^[a-z]+$'")]),
        ({"text": "A"}, [bad("text", '"A"', "be at least 2 chars long")]),
        ({"text": 5}, [wrong("text", "integer", "string")]),
        ({"choice": "C"}, [("spec.choice", "NotSupported", 'Unsupported value: "C": supported values: "A", "B"')]),
        ({"choice": ""}, [("spec.choice", "NotSupported", 'Unsupported value: "": supported values: "A", "B"')]),
        ({"count": 0}, [bad("count", "0", "be greater than or equal to 1")]),
        ({"count": 3}, [bad("count", "3", "be a multiple of 2")]),
        ({"count": 7}, [bad("count", "7", "be a multiple of 2"), bad("count", "7", "be less than or equal to 5")]),
        ({"open": 1}, [bad("open", "1", "be greater than 1")]),
        ({"open": 5}, [bad("open", "5", "be less than 5")]),
        ({"number": "1"}, [wrong("number", "string", "number")]),
        ({"flag": "true"}, [wrong("flag", "string", "boolean")]),
        ({"flag": 1}, [wrong("flag", "integer", "boolean")]),
        ({"either": 1.5}, [wrong("either", "number", "integer,string")]),
        ({"either": True}, [wrong("either", "boolean", "integer,string")]),
        ({"texts": {"a": 1}}, [wrong("texts.a", "integer", "string")]),
        ({"texts": []}, [wrong("texts", "array", "object")]),
        ({"list": []}, [bad("list", "0", "have at least 1 items")]),
        ({"list": ["a", "b", "c"]}, [("spec.list", "TooMany", "Too many: 3: must have at most 2 items")]),
        ({"list": [None]}, [wrong("list[0]", "null", "string")]),
        ({"list": ["a", 1]}, [wrong("list[1]", "integer", "string")]),
        ({"list": "x"}, [wrong("list", "string", "array")]),
        ({"set": ["a", "b", "a"]}, [("spec.set[2]", "Duplicate", 'Duplicate value: "a"')]),
        ({"map": [{"name": "a"}, {"name": "a", "v": 1}]}, [("spec.map[1]", "Duplicate", 'Duplicate value: {"name":"a"}')]),
        ({"map": [{}]}, [needed("map[0].name")]),
        ({"map": [None]}, [wrong("map[0]", "null", "object")]),
        ({"map": {}}, [wrong("map", "object", "array")]),
        ({"embedded": {"kind": "Pod"}}, [needed("embedded.apiVersion")]),
        ({"embedded": {}}, [needed("embedded.apiVersion"), needed("embedded.kind")]),
        ({"moment": "x"}, [("spec.moment", "TypeInvalid",
                            'Invalid value: "x": spec.moment in body must be of type date-time: "x"')]),
        ({"small": 3000000000}, [composed("Checked value must be of type integer with format int32 in spec.small")]),
        ({"sized": {}}, [bad("sized", "0", "have at least 1 properties")]),
        ({"sized": {"a": "", "b": "", "c": ""}}, [("spec.sized", "TooMany", "Too many: 3: must have at most 2 items")]),
        ({"one": {}}, [composed('"spec.one" must validate one and only one schema (oneOf). Found none valid'),
                       needed("one.a")]),
        ({"one": {"a": "x", "b": "y"}},
         [composed('"spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives')]),
        ({"some": {}}, [composed('"spec.some" must validate at least one schema (anyOf)'), needed("some.a")]),
        ({"none": {"a": "x"}}, [composed('"spec.none" must not validate the schema (not)')]),
        ({"all": {}}, [needed("all.a"), needed("all.b"),
                       composed('"spec.all" must validate all the schemas (allOf). None validated')]),
        ({"text": "", "flag": 1}, [bad("text", '""', "be at least 2 chars long"), wrong("flag", "integer", "boolean")]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_an_object_that_breaks_a_rule_is_invalid(
    world: World, sent: dict[str, Any], causes: list[tuple[str, str, str]]
) -> None:
    assert shape(world, **sent) == invalid(SHAPE, "a", *causes)


def test_a_spec_that_is_no_object_is_invalid(world: World) -> None:
    assert world.create(SHAPE, body(SHAPE, "a", spec=[])) == invalid(
        SHAPE, "a", ("spec", "TypeInvalid", 'Invalid value: "array": spec in body must be of type object: "array"')
    )


def test_without_a_spec_there_are_no_defaults(world: World) -> None:
    assert world.create(SHAPE, body(SHAPE, "a")).object == stored(SHAPE, "a", metadata={"generation": 1})
    assert world.create(SHAPE, body(SHAPE, "b", spec=None)).object == stored(SHAPE, "b", metadata={"generation": 1})


def test_an_update_gets_its_shape_too(world: World) -> None:
    before = shape(world, lazy={"a": 1}).raw
    found = world.update(SHAPE, "a", {**before, "spec": {"lazy": {"zz": 1}, "unknown": 1}})
    assert found.object == stored(SHAPE, "a", metadata={"generation": 2}, spec={**DEFAULTS, "lazy": {"a": 5}})


def test_an_update_is_held_to_the_rules(world: World) -> None:
    before = shape(world).raw
    found = world.update(SHAPE, "a", {**before, "spec": {"count": 3}})
    assert found == invalid(SHAPE, "a", bad("count", "3", "be a multiple of 2"))
    assert world.get(SHAPE, "a").raw == before


def test_embedded_metadata_is_read(world: World) -> None:
    found = shape(world, embedded={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5}})
    assert found == refused(
        400, "BadRequest",
        'Shape in version "v1" cannot be handled as a Shape: spec.embedded.metadata: Invalid value: {"name":5}: json: '
        "cannot unmarshal number into Go struct field ObjectMeta.name of type string",
    )  # fmt: skip
