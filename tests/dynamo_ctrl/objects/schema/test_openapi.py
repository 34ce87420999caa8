"""From the OpenAPI document of a server to what a CRD takes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynamo_ctrl.engine.memory.schema import Schema
from dynamo_ctrl.objects.schema.openapi import from_openapi
from dynamo_ctrl.objects.schema.union import Unrepresentable

QUANTITY = {"description": "An amount.", "oneOf": [{"type": "string"}, {"type": "number"}]}
PORT_NUMBER = {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def beside(name: str, **more: Any) -> dict[str, Any]:
    """A reference with a default beside it, as OpenAPI 3.0 writes it."""
    return {"allOf": [ref(name)], "default": {}, "description": "More.", **more}


def convert(node: dict[str, Any], **types: Any) -> dict[str, Any]:
    return from_openapi({"components": {"schemas": {"Root": node, "Quantity": QUANTITY, **types}}}, "Root")


def of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "string", "description": "d", "default": "x"}, {"type": "string"}),
        ({"type": "integer", "format": "int32", "default": 0}, {"type": "integer", "format": "int32"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (PORT_NUMBER, {"x-kubernetes-int-or-string": True}),
        ({"type": "object"}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (
            {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        ),
        (
            of({}, **{"x-kubernetes-map-type": "atomic", "x-kubernetes-unions": [{"discriminator": "type"}]}),
            {"type": "object", "properties": {}, "x-kubernetes-map-type": "atomic"},
        ),
    ],
)
def test_a_type_becomes(node: dict[str, Any], expected: dict[str, Any]) -> None:
    assert convert(of({"f": node}))["properties"]["f"] == expected


def test_references_are_resolved_and_what_stands_beside_them_is_left_out() -> None:
    found = convert(of({"a": beside("Inner"), "b": ref("Inner")}), Inner=of({"x": {"type": "boolean"}}))
    inner = {"type": "object", "properties": {"x": {"type": "boolean"}}}
    assert found["properties"] == {"a": inner, "b": inner}


def test_a_quantity_is_an_integer_or_a_patterned_text() -> None:
    found = convert(of({"f": ref("Quantity")}))["properties"]["f"]
    assert found["x-kubernetes-int-or-string"]
    assert re.match(found["pattern"], "1.5Gi")
    assert not re.match(found["pattern"], "1 Gi")


def test_an_optional_enum_allows_the_empty_text_and_a_required_one_does_not() -> None:
    choice = {"type": "string", "enum": ["A", "B"]}
    found = convert(of({"may": choice, "must": choice}, required=["must"]))
    assert found["properties"]["may"]["enum"] == ["A", "B", ""]
    assert found["properties"]["must"]["enum"] == ["A", "B"]
    assert found["required"] == ["must"]


PORTS = {
    "type": "array",
    "items": beside("Port"),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["number", "protocol"],
    "x-kubernetes-patch-merge-key": "number",
    "x-kubernetes-patch-strategy": "merge",
}
PORT = of(
    {
        "number": {"type": "integer", "format": "int32", "default": 0},
        "protocol": {"type": "string", "default": "TCP"},
        "host": {"type": "string", "default": ""},
    },
    required=["number"],
)


def test_only_an_optional_key_of_a_list_map_keeps_its_default() -> None:
    found = convert(of({"ports": PORTS, "one": ref("Port")}), Port=PORT)["properties"]
    assert found["ports"]["items"]["properties"] == {
        "host": {"type": "string"},
        "number": {"type": "integer", "format": "int32"},
        "protocol": {"type": "string", "default": "TCP"},
    }
    assert found["ports"]["x-kubernetes-list-map-keys"] == ["number", "protocol"]
    assert "x-kubernetes-patch-strategy" not in found["ports"]
    assert "default" not in found["one"]["properties"]["protocol"]


def test_properties_are_sorted() -> None:
    assert list(convert(of({"b": {"type": "string"}, "a": {"type": "string"}}))["properties"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("node", "types", "rule"),
    [
        (of({"f": ref("Root")}), {}, "Root contains itself"),
        (of({"f": {"oneOf": [{"type": "string"}, {"type": "object"}]}}), {}, "a choice of types"),
        (of({"f": {"description": "anything"}}), {}, "has no type"),
    ],
)
def test_what_a_crd_cannot_hold_is_refused(node: dict[str, Any], types: dict[str, Any], rule: str) -> None:
    with pytest.raises(Unrepresentable, match=rule) as raised:
        convert(node, **types)
    assert raised.value.path == "Root.f"


def test_an_unknown_type_is_told() -> None:
    with pytest.raises(KeyError, match="Nothing"):
        from_openapi({"components": {"schemas": {}}}, "Nothing")


def test_the_result_prunes_refuses_and_fills_in_as_the_server_does() -> None:
    schema = Schema(convert(of({"ports": PORTS}), Port=PORT))
    value: dict[str, Any] = {"ports": [{"number": 1, "x": 2, "host": None}, {"number": 1, "protocol": "UDP"}]}
    schema.shape(value)
    assert value == {"ports": [{"number": 1, "protocol": "TCP"}, {"number": 1, "protocol": "UDP"}]}
    assert list(schema.errors(value, "")) == []
    assert [error.field for error in schema.errors({"ports": [{"number": "1"}]}, "spec")] == ["spec.ports[0].number"]
