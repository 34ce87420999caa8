"""Merge patches (RFC 7386), JSON patches (RFC 6902), and differences."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.difference import changed_paths
from dynamo_ctrl.objects.frozen import freeze
from dynamo_ctrl.objects.patch import (
    Patch,
    PatchError,
    PatchTestFailed,
    apply_json,
    escape,
    merge,
    merge_diff,
    pointer,
)

SCALARS = st.one_of(st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a", "b"]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: to Python `True == 1`."""
    return next(changed_paths(left, right), None) is None


# RFC 7386, appendix A
@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_as_the_rfc_says(original: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(original)
    assert merge(original, patch) == result
    assert merge(freeze(original), freeze(patch)) == result
    assert original == before


@given(OBJECTS, OBJECTS)
def test_the_difference_of_two_objects_applied_to_the_first_gives_the_second(old: Any, new: Any) -> None:
    patch = merge_diff(old, new)
    assert same(merge(old, patch), new)
    assert same(Patch.merge(patch).apply(freeze(old)), new)


@given(OBJECTS)
def test_equal_objects_have_no_difference(tree: Any) -> None:
    assert merge_diff(tree, copy.deepcopy(tree)) == {}
    assert list(changed_paths(tree, freeze(tree))) == []


@given(OBJECTS, OBJECTS)
def test_the_difference_is_empty_only_for_equal_objects_and_names_only_what_differs(old: Any, new: Any) -> None:
    patch = merge_diff(old, new)
    assert (patch == {}) is same(old, new)
    for key in patch:
        assert key not in new or key not in old or not same(old[key], new[key])


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": [0]}, {"a": [False]}, {"a": [False]}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({}, {"a": None}, {}),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, {"a": [1, 2, 3]}),
    ],
)
def test_differences(old: Any, new: Any, patch: Any) -> None:
    found = merge_diff(old, new)
    assert found == patch
    assert same(found, patch)


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ({}, {}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}, "c": 1}, ["a.b", "c"]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, ["a[1].b"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": None}, {}, ["a"]),
        ("x", "y", [""]),
        ({"a": {}}, {"a": []}, ["a"]),
    ],
)
def test_changed_paths(old: Any, new: Any, paths: list[str]) -> None:
    assert list(changed_paths(old, new)) == paths
    assert list(changed_paths(freeze(old), freeze(new))) == paths


# RFC 6902, appendix A
@pytest.mark.parametrize(
    ("tree", "operations", "result"),
    [
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
        ({"foo": ["a", "c"]}, [{"op": "add", "path": "/foo/1", "value": "b"}], {"foo": ["a", "b", "c"]}),
        ({"baz": "q", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
        ({"foo": ["a", "b", "c"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["a", "c"]}),
        ({"baz": "q", "foo": "bar"}, [{"op": "replace", "path": "/baz", "value": "b"}], {"baz": "b", "foo": "bar"}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
            {"foo": ["all", "cows", "eat", "grass"]},
        ),
        (
            {"baz": "qux", "foo": ["a", 2, "c"]},
            [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
            {"baz": "qux", "foo": ["a", 2, "c"]},
        ),
        (
            {"foo": "bar"},
            [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
            {"foo": "bar", "child": {"grandchild": {}}},
        ),
        ({"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}], {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
        ({"foo": ["bar"]}, [{"op": "add", "path": "/foo/-", "value": ["a"]}], {"foo": ["bar", ["a"]]}),
        ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/-", "value": 2}],
         {"a": [1], "b": [1, 2]}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": [1]}], [1]),
        ({"a": 1}, [{"op": "add", "path": "", "value": 5}], 5),
        ({"a": 1}, [{"op": "remove", "path": ""}], None),
        ({"": 1}, [{"op": "replace", "path": "/", "value": 2}], {"": 2}),
        ({"a": [1, 2]}, [{"op": "replace", "path": "/a/1", "value": 3}], {"a": [1, 3]}),
        ({"a": 1}, [{"op": "add", "path": "/a", "value": None}], {"a": None}),
        ({}, [{"op": "test", "path": "/a", "value": None}], {}),
    ],
)  # fmt: skip
def test_json_patch_as_the_rfc_and_the_api_server_say(tree: Any, operations: list[Any], result: Any) -> None:
    before = copy.deepcopy(tree)
    assert apply_json(freeze(tree), operations) == result
    assert Patch.json(operations).apply(tree) == result
    assert tree == before


@pytest.mark.parametrize(
    ("tree", "operation", "error"),
    [
        ({"baz": "qux"}, {"op": "test", "path": "/baz", "value": "bar"}, PatchTestFailed),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": "10"}, PatchTestFailed),
        ({"a": 1}, {"op": "test", "path": "/a", "value": True}, PatchTestFailed),
        ({}, {"op": "test", "path": "/a/b", "value": 1}, PatchTestFailed),
        ({"foo": "bar"}, {"op": "add", "path": "/baz/bat", "value": "qux"}, PatchError),
        ({"foo": "bar"}, {"op": "add", "path": "/foo/bat", "value": "qux"}, PatchError),
        ({}, {"op": "remove", "path": "/a"}, PatchError),
        ({}, {"op": "replace", "path": "/a", "value": 1}, PatchError),
        ({"a": [1]}, {"op": "add", "path": "/a/2", "value": 1}, PatchError),
        ({"a": [1]}, {"op": "add", "path": "/a/x", "value": 1}, PatchError),
        ({"a": [1, 2]}, {"op": "add", "path": "/a/01", "value": 1}, PatchError),
        ({"a": [1]}, {"op": "remove", "path": "/a/-"}, PatchError),
        ({"a": [1]}, {"op": "remove", "path": "/a/1"}, PatchError),
        ({"a": 1}, {"op": "add", "path": "a", "value": 1}, PatchError),
        ({"a": 1}, {"op": "add", "path": "/b"}, PatchError),
        ({"a": 1}, {"op": "test", "path": "/a"}, PatchError),
        ({"a": 1}, {"op": "add", "value": 1}, PatchError),
        ({"a": 1}, {"op": "move", "path": "/b"}, PatchError),
        ({"a": 1}, {"op": "copy", "from": "/x", "path": "/b"}, PatchError),
        ({"a": 1}, {"op": "swap", "path": "/b"}, PatchError),
    ],
)
def test_json_patches_that_cannot_be_applied(tree: Any, operation: Any, error: type[PatchError]) -> None:
    with pytest.raises(PatchError) as raised:
        apply_json(tree, [operation])
    assert type(raised.value) is error


def test_a_json_patch_is_all_or_nothing() -> None:
    tree = {"a": 1}
    with pytest.raises(PatchTestFailed):
        apply_json(tree, [{"op": "add", "path": "/b", "value": 2}, {"op": "test", "path": "/a", "value": 3}])
    assert tree == {"a": 1}


def test_values_of_a_patch_are_not_shared_with_the_result() -> None:
    value = {"x": 1}
    result = apply_json({}, [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/y", "value": 2}])
    assert result == {"a": {"x": 1, "y": 2}}
    assert value == {"x": 1}


def test_a_patch_knows_whether_it_tests() -> None:
    assert Patch.json([{"op": "test", "path": "/a", "value": 1}]).tests
    assert not Patch.json([{"op": "remove", "path": "/a"}]).tests
    assert not Patch.merge({"a": None}).tests
    assert Patch.merge({"a": None}).body == b'{"a":null}'


@given(st.text())
def test_pointers_escape_what_they_must(token: str) -> None:
    assert pointer("a", token, 3) == f"/a/{escape(token)}/3"
    assert apply_json({token: {"b": 1}}, [{"op": "remove", "path": pointer(token, "b")}]) == {token: {}}
