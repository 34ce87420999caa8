"""The scale of an object, and the numbers that make none."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.memory.scaling import dig, scale_errors, scale_of, with_replicas
from dynamo_ctrl.engine.memory.served import ScalePaths

PATHS = ScalePaths(replicas="spec.replicas", status="status.replicas", selector="status.selector")


def test_a_scale_shows_replicas_status_and_selector() -> None:
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "labels": {"x": "y"}}
    tree = {"metadata": metadata, "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=a"}}
    scale = scale_of(tree, PATHS)
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["metadata"] == {"name": "a", "namespace": "ns", "uid": "u"}
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "app=a"})


def test_a_selector_of_labels_is_told_as_a_text_and_nothing_is_told_of_nothing() -> None:
    tree = {"metadata": {"name": "a"}, "status": {"selector": {"matchLabels": {"b": "2", "a": "1"}}}}
    assert scale_of(tree, PATHS)["status"] == {"replicas": 0, "selector": "a=1,b=2"}
    assert scale_of({"metadata": {"name": "a"}}, PATHS)["spec"] == {}
    assert scale_of({"metadata": {"name": "a"}}, ScalePaths(replicas="spec.n", status="status.n", selector=""))[
        "status"
    ] == {"replicas": 0}


def test_setting_a_scale_changes_a_copy() -> None:
    tree: dict[str, Any] = {"spec": {"other": 1}}
    assert with_replicas(tree, PATHS, 4) == {"spec": {"other": 1, "replicas": 4}}
    assert tree == {"spec": {"other": 1}}
    assert with_replicas({}, PATHS, 4) == {"spec": {"replicas": 4}}
    assert dig({"a": "text"}, "a.b") is None


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"spec": {"replicas": -1}}, "should be a non-negative integer"),
        ({"spec": {"replicas": "3"}}, ".spec.replicas accessor error: 3 is of the type string, expected int64"),
        ({"spec": {"replicas": True}}, ".spec.replicas accessor error: true is of the type bool, expected int64"),
        ({"spec": {"replicas": 1.5}}, ".spec.replicas accessor error: 1.5 is of the type float64, expected int64"),
        (
            {"spec": {"replicas": {"b": 1, "a": None}}},
            "map[a:<nil> b:1] is of the type map[string]interface {}, expected",
        ),
        ({"spec": {"replicas": [1, "x"]}}, "[1 x] is of the type []interface {}, expected int64"),
        ({"spec": "text"}, "text is of the type string, expected map[string]interface{}"),
    ],
)
def test_what_is_no_number_of_replicas(tree: dict[str, Any], message: str) -> None:
    (error,) = scale_errors(tree, PATHS)
    assert error.field == ".spec.replicas"
    assert message in error.message


def test_what_is_absent_is_no_error() -> None:
    assert scale_errors({"spec": {"replicas": 1}}, PATHS) == scale_errors({}, PATHS) == scale_errors({}, None) == []
