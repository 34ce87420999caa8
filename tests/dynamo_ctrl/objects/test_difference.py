"""What differs, with both values; what of it may be shown."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.difference import ABSENT, Difference, changed_paths, differences, same
from dynamo_ctrl.objects.disclosure import disclosed, disclosed_difference
from dynamo_ctrl.objects.frozen import freeze
from dynamo_ctrl.objects.patch import merge_diff

TREES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(["", "a"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)),
    max_leaves=8,
)
PASSWORD = "correct horse battery staple"
ENCODED = base64.b64encode(PASSWORD.encode()).decode()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": None}, {}, [("a", None, ABSENT)]),
        ({}, {"a": {"b": 1}}, [("a", ABSENT, {"b": 1})]),
        ({"b": {"c": [1, {"d": 2}]}}, {"b": {"c": [1, {"d": 3}]}}, [("b.c[1].d", 2, 3)]),
        ({"l": [1]}, {"l": [1, 2]}, [("l", [1], [1, 2])]),
        ({"z": 1, "a": 1}, {}, [("a", 1, ABSENT), ("z", 1, ABSENT)]),
        ({"a": []}, {"a": {}}, [("a", [], {})]),
        ("x", "y", [("", "x", "y")]),
    ],
)
def test_differences_have_a_place_and_both_values(old: Any, new: Any, expected: list[tuple[str, Any, Any]]) -> None:
    assert list(differences(old, new)) == expected
    assert list(differences(freeze(old), freeze(new))) == expected


@given(TREES, TREES)
def test_what_differs_one_way_differs_the_other_way(old: Any, new: Any) -> None:
    there, back = list(differences(old, new)), list(differences(new, old))
    assert [Difference(each.path, each.new, each.old) for each in there] == back
    assert list(changed_paths(old, new)) == [each.path for each in there]
    assert (there == []) == (json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True))


def test_a_secret_is_shown_without_its_values() -> None:
    content = {
        "metadata": {"name": "s", "labels": {"app": "web"}, "annotations": {"kubectl/last": json.dumps([PASSWORD])}},
        "type": "Opaque",
        "data": {"password": ENCODED, "broken": "%%%"},
        "stringData": {"password": PASSWORD},
    }
    before = copy.deepcopy(content)
    shown = disclosed(SECRET, content)
    text = json.dumps(shown)
    assert PASSWORD not in text
    assert ENCODED not in text
    assert shown["data"]["password"] == shown["stringData"]["password"]
    assert shown["data"]["password"].startswith("sha256:")
    assert len(shown["data"]["password"]) == len("sha256:") + 16
    assert shown["metadata"]["labels"] == {"app": "web"}
    assert shown["type"] == "Opaque"
    assert content == before


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("data", {"password": ENCODED}),
        ("data.password", ENCODED),
        ("stringData", {"password": PASSWORD}),
        ("stringData.password", PASSWORD),
        ("metadata.annotations", {"a": PASSWORD}),
        ("metadata.annotations.a", PASSWORD),
        ("metadata", {"annotations": {"a": PASSWORD}}),
    ],
)
def test_a_difference_of_a_secret_is_shown_without_its_values(path: str, value: Any) -> None:
    shown = disclosed_difference(SECRET, Difference(path, ABSENT, value))
    assert shown.path == path
    assert shown.old is ABSENT
    assert PASSWORD not in str(shown.new)
    assert ENCODED not in str(shown.new)
    assert "sha256:" in str(shown.new)


def test_a_changed_value_of_a_secret_shows_as_a_change() -> None:
    shown = disclosed_difference(SECRET, Difference("data.password", "YQ==", "Yg=="))
    assert shown.old != shown.new


@pytest.mark.parametrize("kind", [CONFIG_MAP, SECRET])
def test_what_is_no_secret_is_shown_as_it_is(kind: Any) -> None:
    difference = Difference("metadata.labels.app", "web", ABSENT)
    assert disclosed_difference(kind, difference) == difference
    assert disclosed(CONFIG_MAP, {"data": {"a": "b"}}) == {"data": {"a": "b"}}


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ({"a": [1, {"b": "c"}]}, {"a": [1, {"b": "c"}]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": [1]}, {"a": [1.0]}, False),
        ("a", "a", True),
        ("a", "b", False),
        ([], {}, False),
    ],
)
def test_trees_are_the_same_at_once_only_where_json_says_so(old: Any, new: Any, is_same: bool) -> None:
    assert same(old, new) is is_same


def test_trees_that_are_equal_to_python_alone_still_differ() -> None:
    assert list(differences({"a": [{"b": 1}]}, {"a": [{"b": True}]})) == [Difference("a[0].b", 1, True)]
    assert merge_diff({"a": {"b": [1]}}, {"a": {"b": [True]}}) == {"a": {"b": [True]}}
