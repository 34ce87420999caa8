"""What pydantic says and what a structural schema can hold (python-anchors 8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from dynamo_ctrl.objects.duration import Duration
from dynamo_ctrl.objects.schema.marks import (
    Atomic,
    Int32,
    Int64,
    IntOrString,
    JsonTree,
    ListMap,
    ListSet,
    Nullable,
    Quantity,
    Rule,
    ServerDefault,
    Structural,
    Texts,
)
from dynamo_ctrl.objects.schema.structural import structural
from dynamo_ctrl.objects.schema.union import Unrepresentable


class Inner(BaseModel):
    """An inner object.

    Not for the CRD.
    """

    name: str


class Tagged(BaseModel):
    kind: Literal["a"]
    x: str


class Other(BaseModel):
    kind: Literal["b"]
    y: str = ""


class Recursive(BaseModel):
    children: tuple[Recursive, ...] = ()


def schema_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of a field `f` of that type."""
    model = type(
        "Model", (BaseModel,), {"__annotations__": {"f": annotation}, **({} if default is ... else {"f": default})}
    )
    found: dict[str, Any] = structural(model)["properties"]["f"]
    return found


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(str, {"type": "string"}, id="text"),
        pytest.param(bool, {"type": "boolean"}, id="flag"),
        pytest.param(float, {"type": "number", "format": "double"}, id="number"),
        pytest.param(Int32, {"type": "integer", "format": "int32"}, id="int32 loses its own limits"),
        pytest.param(Annotated[Int64, Field(ge=0)], {"type": "integer", "format": "int64", "minimum": 0}, id="int64"),
        pytest.param(
            Annotated[int, Field(ge=0, le=9)],
            {"type": "integer", "format": "int32", "minimum": 0, "maximum": 9},
            id="a bounded int finds its format",
        ),
        pytest.param(
            Annotated[float, Field(gt=5)],
            {"type": "number", "format": "double", "minimum": 5, "exclusiveMinimum": True},
            id="exclusive bounds are flags",
        ),
        pytest.param(datetime, {"type": "string", "format": "date-time"}, id="time"),
        pytest.param(Duration, {"type": "string", "pattern": schema_of(Duration)["pattern"]}, id="Go duration"),
        pytest.param(Literal["a"], {"type": "string", "enum": ["a"]}, id="a constant is an enum"),
        pytest.param(Literal[1, 2], {"type": "integer", "enum": [1, 2], "format": "int32"}, id="integers as enum"),
        pytest.param(IntOrString, {"x-kubernetes-int-or-string": True}, id="int or string has no type"),
        pytest.param(int | str, {"x-kubernetes-int-or-string": True}, id="a plain union of both"),
        pytest.param(Any, {"x-kubernetes-preserve-unknown-fields": True}, id="no type"),
        pytest.param(
            dict[str, Any],
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            id="a map of anything",
        ),
        pytest.param(
            Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}, id="a map of texts"
        ),
        pytest.param(Texts, {"type": "object", "additionalProperties": {"type": "string"}}, id="Texts"),
        pytest.param(JsonTree, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, id="JsonTree"),
        pytest.param(
            frozenset[str],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            id="a set is a list set",
        ),
        pytest.param(
            Annotated[tuple[str, ...], ListSet()],
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            id="ListSet",
        ),
        pytest.param(
            Inner,
            {
                "type": "object",
                "description": "An inner object.",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
            id="references are inlined, descriptions cut to their first paragraph",
        ),
    ],
)
def test_a_type_becomes(annotation: Any, expected: dict[str, Any]) -> None:
    assert schema_of(annotation) == expected


def test_a_quantity_is_a_patterned_int_or_string() -> None:
    found = schema_of(Quantity | None, None)
    assert found.pop("pattern").startswith("^")
    assert found == {"x-kubernetes-int-or-string": True}


def test_or_null_means_may_be_absent() -> None:
    class Model(BaseModel):
        a: str | None = None
        b: Annotated[str | None, Nullable()] = None
        c: Inner | None = None

    found = structural(Model)
    assert "required" not in found
    assert found["properties"]["a"] == {"type": "string"}
    assert found["properties"]["b"] == {"type": "string", "nullable": True}
    assert found["properties"]["c"]["properties"] == {"name": {"type": "string"}}


def test_only_marked_defaults_reach_the_server() -> None:
    class Model(BaseModel):
        a: str = "python"
        b: Annotated[str, ServerDefault()] = "server"

    assert structural(Model)["properties"] == {"a": {"type": "string"}, "b": {"type": "string", "default": "server"}}


def test_extra_fields_are_pruned_or_kept_as_the_model_says() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")

    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    assert structural(Closed) == {"type": "object"}
    assert structural(Open) == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_list_map_names_its_keys() -> None:
    found = schema_of(Annotated[tuple[Inner, ...], ListMap("name")])
    assert found["x-kubernetes-list-type"] == "map"
    assert found["x-kubernetes-list-map-keys"] == ["name"]


def test_a_given_schema_stands_for_the_type_beside_the_marks() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    annotation = Annotated[JsonTree, Structural(lambda: given), Field(description="Said here."), Atomic()]
    found = schema_of(annotation)
    assert found == {**given, "description": "Said here.", "x-kubernetes-map-type": "atomic"}
    found["properties"]["a"]["type"] = "integer"
    assert given == {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}


def test_marks_on_a_reference_stay_beside_it() -> None:
    found = schema_of(Annotated[Inner, Atomic(), Rule("has(self.name)", "m")])
    assert found["x-kubernetes-map-type"] == "atomic"
    assert found["x-kubernetes-validations"] == [{"rule": "has(self.name)", "message": "m"}]
    assert found["required"] == ["name"]


def test_several_rules_on_one_value_add_up() -> None:
    found = schema_of(
        Annotated[str, Field(max_length=3), Rule("self != 'a'", "a"), Rule("self != 'b'", "b", reason="R")]
    )
    assert [entry["message"] for entry in found["x-kubernetes-validations"]] == ["a", "b"]
    assert found["x-kubernetes-validations"][1]["reason"] == "R"


def test_a_tagged_union_becomes_one_object_with_rules() -> None:
    found = schema_of(Annotated[Tagged | Other, Field(discriminator="kind")])
    assert found == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["a", "b"]},
            "x": {"type": "string"},
            "y": {"type": "string"},
        },
        "required": ["kind"],
        "x-kubernetes-validations": [
            {
                "rule": "!(self.kind in ['a']) || (has(self.x) && !has(self.y))",
                "message": "fields must be those of kind 'a'",
            },
            {"rule": "!(self.kind in ['b']) || (!has(self.x))", "message": "fields must be those of kind 'b'"},
        ],
    }


class Clash(BaseModel):
    kind: Literal["c"]
    x: bool


class Unlike(BaseModel):
    keyless: str = ""


@pytest.mark.parametrize(
    ("annotation", "rule"),
    [
        pytest.param(int, "use Int32 or Int64", id="unbounded integer"),
        pytest.param(timedelta, "objects.duration.Duration", id="ISO duration"),
        pytest.param(tuple[str, int], "fixed tuple", id="tuple"),
        pytest.param(Literal["a", 1], "scalars of one type", id="mixed enum"),
        pytest.param(str | Inner, "a union of types", id="union"),
        pytest.param(Recursive, "Recursive contains itself", id="recursion"),
        pytest.param(
            Annotated[Tagged | Clash, Field(discriminator="kind")], "declare a shared field alike", id="clash"
        ),
        pytest.param(Annotated[tuple[Inner, ...], ListSet()], "scalars only", id="set of objects"),
        pytest.param(Annotated[tuple[Inner, ...], ListMap("id")], "'id' is not a scalar field", id="no such key"),
        pytest.param(Annotated[tuple[Unlike, ...], ListMap("keyless")], "must be required", id="optional key"),
        pytest.param(Annotated[str, Field(json_schema_extra={"pattern": "(?=a)"})], "RE2", id="look-ahead"),
        pytest.param(Annotated[str, Field(json_schema_extra={"pattern": r"(a)\1"})], "RE2", id="back reference"),
        pytest.param(Annotated[str, Rule("self == 'a'", "m")], "needs maxLength", id="rule on unbounded text"),
        pytest.param(Annotated[tuple[str, ...], Rule("self.size() > 0", "m")], "needs maxItems", id="unbounded list"),
        pytest.param(Annotated[Texts, Rule("self.size() > 0", "m")], "needs maxProperties", id="unbounded map"),
        pytest.param(
            Annotated[Inner, Rule("self.name != 'a'", "m")], r"Model.f.name: is read by the rule", id="a field of it"
        ),
    ],
)
def test_what_a_crd_cannot_hold_is_refused_by_field_and_rule(annotation: Any, rule: str) -> None:
    with pytest.raises(Unrepresentable, match=rule) as raised:
        schema_of(annotation)
    assert raised.value.path.startswith("Model.f")


@pytest.mark.parametrize("pattern", [r"^a\\1$", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", r"^(?:a|b)+$", r"^(\+|-)?[0-9]+$"])
def test_patterns_that_re2_knows_pass(pattern: str) -> None:
    assert schema_of(Annotated[str, Field(json_schema_extra={"pattern": pattern})])["pattern"] == pattern


def test_has_reads_nothing_and_needs_no_bound() -> None:
    schema_of(Annotated[Inner, Rule("has(self.name)", "m")])


def test_an_untagged_union_member_is_named() -> None:
    from dynamo_ctrl.objects.schema.union import merge_union

    with pytest.raises(Unrepresentable, match="must be a constant text"):
        merge_union([{"properties": {"kind": {"type": "string"}}}], "kind", "f")


def test_properties_are_sorted_and_nothing_of_the_model_is_shared() -> None:
    class Model(BaseModel):
        b: str
        a: str

    first, second = structural(Model), structural(Model)
    assert list(first["properties"]) == ["a", "b"]
    assert first["required"] == ["a", "b"]
    first["properties"]["a"]["x"] = 1
    assert "x" not in second["properties"]["a"]
