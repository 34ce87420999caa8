"""Predicates: exactly what passes, as a table (R 1.4; R 4, 21)."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.controller import predicate
from dynamo_ctrl.controller.predicate import Predicate, all_of, any_of, negate
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.object import Object


def an_object(**metadata: object) -> Object[Any, Any]:
    return CONFIG_MAP.object({"metadata": {"name": "a", "namespace": "ns", "uid": "u", "generation": 1, **metadata}})


PLAIN = an_object()
CREATED, DELETED = Change(None, PLAIN), Change(PLAIN, None)
SAME = Change(PLAIN, an_object(resourceVersion="2"))
GENERATION = Change(PLAIN, an_object(generation=2))
DELETING = Change(PLAIN, an_object(deletionTimestamp="2026-01-01T00:00:00Z"))
ANOTHER = Change(PLAIN, an_object(uid="other"))
LABELS = Change(PLAIN, an_object(labels={"a": "b"}))
ANNOTATIONS = Change(PLAIN, an_object(annotations={"a": "b"}))
EVERYTHING = {
    "created": CREATED,
    "deleted": DELETED,
    "same": SAME,
    "generation": GENERATION,
    "deleting": DELETING,
    "another": ANOTHER,
    "labels": LABELS,
    "annotations": ANNOTATIONS,
}


@pytest.mark.parametrize(
    ("passes", "what"),
    [
        pytest.param(predicate.always, set(EVERYTHING), id="always"),
        pytest.param(
            predicate.spec_or_deletion_changed,
            {"created", "deleted", "generation", "deleting", "another"},
            id="R4-21-spec-or-deletion-changed",
        ),
        pytest.param(predicate.labels_changed, {"labels"}, id="labels-changed"),
        pytest.param(predicate.annotations_changed, {"annotations"}, id="annotations-changed"),
        pytest.param(predicate.created, {"created"}, id="created"),
        pytest.param(predicate.deleted, {"deleted"}, id="deleted"),
        pytest.param(predicate.updated, set(EVERYTHING) - {"created", "deleted"}, id="updated"),
        pytest.param(any_of(predicate.created, predicate.deleted), {"created", "deleted"}, id="any-of"),
        pytest.param(any_of(), set(), id="any-of-nothing"),
        pytest.param(all_of(predicate.updated, predicate.labels_changed), {"labels"}, id="all-of"),
        pytest.param(all_of(), set(EVERYTHING), id="all-of-nothing"),
        pytest.param(negate(predicate.updated), {"created", "deleted"}, id="negate"),
    ],
)
def test_what_passes(passes: Predicate[Any], what: set[str]) -> None:
    assert {name for name, change in EVERYTHING.items() if passes(change)} == what
