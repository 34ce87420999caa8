"""The hash and the table of G 3.10, as pure functions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.objects.builtin.apps import REPLICA_SET
from dynamo_ctrl.program.sync import Action, bookkeeping, content_hash, declared, same, verdict

PREFIX = "example.com/"
SPEC = {"replicas": 2}
OTHER = {"replicas": 3}
HASH = content_hash({"spec": SPEC})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"replicas": 2, "name": "worker"},
            "cb7ca0272bb26bdd6a6f3d81cb10c9a53a1d9d7b784f0cf1f94e1f0e98c8775b",
            id="keys-are-sorted",
        ),
        pytest.param(
            {"ports": [{"name": "b", "port": 2}, {"name": "a", "port": 1}]},
            "665416bc5a9fbe0665ef409303a6f3dc3da6910e324ad714ccfae44b05d5abf0",
            id="named-objects-are-sorted",
        ),
    ],
)
def test_the_hash_agrees_with_the_frozen_vectors(spec: dict[str, object], expected: str) -> None:
    assert content_hash({"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": spec}) == expected


def test_the_hash_ignores_the_order_of_keys_and_of_named_objects_but_not_of_scalars() -> None:
    one = {"a": 1, "items": [{"name": "x"}, {"name": "y", "args": ["1", "2"]}]}
    two = {"items": [{"args": ["1", "2"], "name": "y"}, {"name": "x"}], "a": 1}
    three = {"a": 1, "items": [{"name": "x"}, {"name": "y", "args": ["2", "1"]}]}
    assert content_hash({"spec": one}) == content_hash({"spec": two})
    assert content_hash({"spec": one}) != content_hash({"spec": three})


def test_objects_without_a_name_are_sorted_by_their_smallest_key() -> None:
    assert content_hash({"spec": [{"b": 1}, {"a": 2}]}) == content_hash({"spec": [{"a": 2}, {"b": 1}]})


def test_a_kind_without_spec_declares_its_fields_outside_the_envelope() -> None:
    role = {"apiVersion": "v1", "kind": "Role", "metadata": {"name": "r"}, "status": {}, "rules": [{"verbs": ["get"]}]}
    assert declared(role) == {"rules": [{"verbs": ["get"]}]}
    assert content_hash(role) == content_hash({"rules": [{"verbs": ["get"]}]})
    assert content_hash(role) != content_hash({"rules": [{"verbs": ["list"]}]})


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        pytest.param({"a": None}, {}, True, id="null-is-absent"),
        pytest.param({"a": []}, {}, True, id="the-empty-list-is-absent"),
        pytest.param({"a": {}}, {}, False, id="the-empty-object-is-something"),
        pytest.param({"a": 1}, {"a": 1.0}, True, id="one-is-one"),
        pytest.param({"a": 1}, {"a": True}, False, id="one-is-not-true"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, False, id="order-of-lists-counts"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, False, id="length-counts"),
        pytest.param({"a": "1"}, {"a": 1}, False, id="a-text-is-not-a-number"),
    ],
)
def test_equality_is_semantic(left: object, right: object, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal


@pytest.mark.parametrize(
    ("hash_", "stored", "generation", "spec", "action", "kept"),
    [
        pytest.param(None, None, 3, SPEC, Action.ANNOTATE, 3, id="hash-missing-spec-equal"),
        pytest.param(None, "3", 3, OTHER, Action.WRITE, 4, id="hash-missing-spec-differs"),
        pytest.param("other", "3", 3, SPEC, Action.ANNOTATE, 3, id="hash-differs-spec-equal"),
        pytest.param("other", "3", 3, OTHER, Action.WRITE, 4, id="hash-differs-spec-differs"),
        pytest.param(HASH, None, 3, SPEC, Action.ANNOTATE, 3, id="generation-missing-spec-equal"),
        pytest.param(HASH, "three", 3, OTHER, Action.WRITE, 4, id="generation-not-a-number-spec-differs"),
        pytest.param(HASH, "4", 5, SPEC, Action.ANNOTATE, 5, id="edited-spec-equal"),
        pytest.param(HASH, "4", 5, OTHER, Action.WRITE, 6, id="edited-spec-differs"),
        pytest.param(HASH, "5", 5, OTHER, Action.NOTHING, None, id="current"),
        pytest.param(HASH, "6", 5, OTHER, Action.NOTHING, None, id="ahead"),
    ],
)
def test_the_table_of_child_synchronisation(
    hash_: str | None, stored: str | None, generation: int, spec: dict[str, object], action: Action, kept: int | None
) -> None:
    annotations = {f"{PREFIX}last-applied-hash": hash_, f"{PREFIX}last-applied-generation": stored}
    metadata = {
        "name": "d",
        "generation": generation,
        "annotations": {name: value for name, value in annotations.items() if value is not None},
    }
    found = verdict(REPLICA_SET.object({"metadata": metadata, "spec": spec}), {"spec": SPEC}, PREFIX)
    assert found.action is action
    assert found.annotations == ({} if kept is None else bookkeeping(PREFIX, HASH, kept))
    assert found.edited is (hash_ == HASH and stored == "4")


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=3),
    max_leaves=12,
)


@given(_json)
def test_every_tree_is_the_same_as_itself_and_has_one_hash(tree: object) -> None:
    assert same(tree, tree)
    assert content_hash({"spec": tree}) == content_hash({"spec": tree})
