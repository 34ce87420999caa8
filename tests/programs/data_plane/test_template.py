"""Templates and their hashes."""

from __future__ import annotations

import re
from typing import Any

from data_plane.template import HASH_LABEL, labelled, replica_set_name, same_template, template_hash

TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


def test_the_hash_label_makes_no_difference() -> None:
    assert same_template(TEMPLATE, labelled(TEMPLATE, "xyz"))
    assert template_hash(TEMPLATE) == template_hash(labelled(TEMPLATE, "xyz"))


def test_every_other_change_does() -> None:
    other = {**TEMPLATE, "metadata": {"labels": {"a": "c"}}}
    assert not same_template(TEMPLATE, other)
    assert template_hash(TEMPLATE) != template_hash(other)


def test_what_is_null_or_an_empty_list_is_absent() -> None:
    filled = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "volumes": [], "nodeName": None}}
    assert same_template(TEMPLATE, {**filled, "metadata": {**TEMPLATE["metadata"], "creationTimestamp": None}})


def test_each_collision_gives_another_hash_of_the_same_shape() -> None:
    hashes = {template_hash(TEMPLATE, collisions) for collisions in range(20)}
    assert len(hashes) == 20
    assert all(re.fullmatch(r"[bcdfghjklmnpqrstvwxz2456789]{10}", each) for each in hashes)


def test_a_label_is_added_to_a_copy() -> None:
    assert labelled(TEMPLATE, "xyz")["metadata"]["labels"] == {"a": "b", HASH_LABEL: "xyz"}
    assert TEMPLATE["metadata"]["labels"] == {"a": "b"}


def test_a_long_name_leaves_room_for_the_hash() -> None:
    name = replica_set_name("d" * 253, "0123456789")
    assert len(name) == 253
    assert name.endswith("d-0123456789")
