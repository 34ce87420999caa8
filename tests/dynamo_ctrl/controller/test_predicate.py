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


def with_data(value: str, generation: int) -> Object[Any, Any]:
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "generation": generation, "resourceVersion": value}
    made: Object[Any, Any] = CONFIG_MAP.object({"metadata": metadata, "data": {"x": value}})
    return made


PLAIN = an_object()
CREATED, DELETED = Change(None, PLAIN), Change(PLAIN, None)
SAME = Change(PLAIN, an_object(resourceVersion="2"))
GENERATION = Change(PLAIN, an_object(generation=2))
DELETING = Change(PLAIN, an_object(deletionTimestamp="2026-01-01T00:00:00Z"))
ANOTHER = Change(PLAIN, an_object(uid="other"))
LABELS = Change(PLAIN, an_object(labels={"a": "b"}))
ANNOTATIONS = Change(PLAIN, an_object(annotations={"a": "b"}))
BODY = Change(with_data("1", generation=0), with_data("2", generation=0))
"""Of a kind without a generation."""
COUNTED = Change(with_data("1", generation=1), with_data("2", generation=1))
"""Of a kind whose generation says that its spec is the same."""
EVERYTHING = {
    "created": CREATED,
    "deleted": DELETED,
    "same": SAME,
    "generation": GENERATION,
    "deleting": DELETING,
    "another": ANOTHER,
    "labels": LABELS,
    "annotations": ANNOTATIONS,
    "body": BODY,
    "generation's business": COUNTED,
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
        pytest.param(
            predicate.body_changed,
            {"created", "deleted", "generation", "deleting", "another", "body"},
            id="body-changed",
        ),
        pytest.param(predicate.generation_changed, {"generation"}, id="generation-changed"),
        pytest.param(
            predicate.resource_version_changed, {"same", "body", "generation's business"}, id="resource-version-changed"
        ),
        pytest.param(predicate.matching("a=b"), {"labels"}, id="matching"),
        pytest.param(predicate.matching({"a": "b"}), {"labels"}, id="matching-a-mapping"),
        pytest.param(predicate.matching("!a"), set(EVERYTHING), id="matching-either-side"),
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
