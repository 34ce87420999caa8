"""Frozen trees equal the plain ones, encode the same, and cannot be changed at any depth."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.frozen import EMPTY, FrozenDict, FrozenList, freeze, thaw

TREES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)

CHANGES: list[Callable[[Any], Any]] = [
    lambda d: d.__setitem__("a", 1),
    lambda d: d.__delitem__("a"),
    lambda d: d.__ior__({"a": 2}),
    lambda d: d.clear(),
    lambda d: d.pop("a"),
    lambda d: d.popitem(),
    lambda d: d.setdefault("b", 1),
    lambda d: d.update(b=1),
]

LIST_CHANGES: list[Callable[[Any], Any]] = [
    lambda x: x.__setitem__(0, 1),
    lambda x: x.__delitem__(0),
    lambda x: x.__iadd__([1]),
    lambda x: x.__imul__(2),
    lambda x: x.append(1),
    lambda x: x.extend([1]),
    lambda x: x.insert(0, 1),
    lambda x: x.pop(),
    lambda x: x.remove(1),
    lambda x: x.clear(),
    lambda x: x.sort(),
    lambda x: x.reverse(),
]


@given(TREES)
def test_a_frozen_tree_equals_the_plain_one_encodes_the_same_and_thaws_to_it(tree: Any) -> None:
    frozen = freeze(tree)
    assert frozen == tree
    assert tree == frozen
    assert msgspec.json.encode(frozen) == msgspec.json.encode(tree)
    assert thaw(frozen) == tree
    assert type(thaw(frozen)) is type(tree)


@given(TREES)
def test_no_mapping_and_no_sequence_in_it_can_be_changed(tree: Any) -> None:
    def visit(value: Any) -> None:
        if isinstance(value, dict):
            for change in CHANGES:
                with pytest.raises(TypeError, match="immutable"):
                    change(value)
            for inner in value.values():
                visit(inner)
        elif isinstance(value, list):
            for change in LIST_CHANGES:
                with pytest.raises(TypeError, match="immutable"):
                    change(value)
            for inner in value:
                visit(inner)

    frozen = freeze(tree)
    before = thaw(frozen)
    visit(frozen)
    assert frozen == before


@given(TREES)
def test_what_is_thawed_shares_nothing_that_can_change(tree: Any) -> None:
    def containers(value: Any) -> set[int]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        own = {id(value)} if isinstance(value, dict | list) else set()
        return own.union(*(containers(item) for item in inner))

    plain = thaw(tree)
    assert not containers(plain) & containers(tree)


def test_copies_are_plain_and_mutable() -> None:
    tree = freeze({"a": [{"b": 1}]})
    for plain in (copy.deepcopy(tree), thaw(tree)):
        plain["a"][0]["b"] = 2
        plain["a"].append(3)
    shallow = copy.copy(tree)
    shallow["c"] = 1
    assert type(shallow) is dict
    assert type(copy.copy(tree["a"])) is list
    assert type(copy.deepcopy(tree["a"])) is list
    assert tree == {"a": [{"b": 1}]}


def test_a_frozen_tree_survives_pickling_frozen() -> None:
    again = pickle.loads(pickle.dumps(freeze({"a": [1]})))
    assert type(again) is FrozenDict
    assert type(again["a"]) is FrozenList


def test_freezing_again_costs_nothing_and_other_mappings_are_taken() -> None:
    tree = freeze({"a": (1, 2)})
    assert freeze(tree) is tree
    assert freeze(MappingProxyType({"a": [1, 2]})) == tree
    assert thaw(MappingProxyType({"a": (1, 2)})) == {"a": [1, 2]}
    marker = object()
    assert freeze(marker) is thaw(marker) is marker
    assert EMPTY == {}
