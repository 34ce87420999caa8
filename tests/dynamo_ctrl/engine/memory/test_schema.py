"""Structural schemas as values: shaping is idempotent, and patterns are Go's."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.engine.memory.rules import go_pattern
from dynamo_ctrl.engine.memory.schema import Schema

NAMES = st.sampled_from(["a", "b", "c"])
LEAVES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "default": "d"},
        {"type": "integer", "default": 5, "nullable": True},
        {"x-kubernetes-int-or-string": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ]
)


def _objects(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    properties = st.dictionaries(NAMES, children, max_size=3).map(lambda p: {"type": "object", "properties": p})
    return st.one_of(
        properties,
        properties.map(lambda node: {**node, "default": {}}),
        children.map(lambda child: {"type": "object", "additionalProperties": child}),
        children.map(lambda child: {"type": "array", "items": child}),
    )


SCHEMAS = st.recursive(LEAVES, _objects, max_leaves=12)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)


@given(source=SCHEMAS, value=VALUES)
def test_shaping_twice_is_shaping_once(source: dict[str, Any], value: Any) -> None:
    schema = Schema({"type": "object", "properties": {"spec": source}}, root=True)
    tree = {"spec": value}
    schema.shape(tree)
    again = copy.deepcopy(tree)
    schema.shape(again)
    assert again == tree


@given(source=SCHEMAS, value=VALUES)
def test_a_value_that_did_not_change_breaks_no_rule(source: dict[str, Any], value: Any) -> None:
    assert list(Schema(source).errors(value, "spec", old=copy.deepcopy(value))) == []


@given(source=SCHEMAS)
def test_a_default_is_a_copy_of_its_own(source: dict[str, Any]) -> None:
    schema = Schema({"type": "object", "properties": {"spec": {**source, "default": {"x": []}}}}, root=True)
    trees: list[dict[str, Any]] = [{}, {}]
    for tree in trees:
        schema.shape(tree)
    assert trees[0] == trees[1]
    assert trees[0]["spec"] is not trees[1]["spec"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"), [("^a$", "a", True), ("^a$", "a\n", False), (r"a\$", "a$", True)]
)
def test_the_end_of_a_pattern_is_the_end_of_the_text(pattern: str, text: str, expected: bool) -> None:
    assert bool(go_pattern(pattern).search(text)) is expected
