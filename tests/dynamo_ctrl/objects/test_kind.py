"""Kinds and keys."""

from __future__ import annotations

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import NODE, POD, Pod
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (POD, (), "/api/v1/pods"),
        (POD, ("ns",), "/api/v1/namespaces/ns/pods"),
        (POD, ("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
        (POD, ("ns", "p", "status"), "/api/v1/namespaces/ns/pods/p/status"),
        (NODE, ("ignored", "n"), "/api/v1/nodes/n"),
        (DEPLOYMENT, ("ns", "d", "scale"), "/apis/apps/v1/namespaces/ns/deployments/d/scale"),
    ],
)
def test_paths(kind: Kind[Pod], arguments: tuple[str, ...], path: str) -> None:
    assert kind.path(*arguments) == path


def test_kinds_are_equal_by_group_and_kind_alone() -> None:
    newer = Kind(Pod, group="", version="v2", kind="Pod", plural="pods")
    assert newer == POD
    assert hash(newer) == hash(POD)
    assert Kind(Pod, group="other", version="v1", kind="Pod", plural="pods") != POD
    assert POD != "pods"
    assert {newer: 1}[POD] == 1


def test_texts() -> None:
    assert (str(POD), str(DEPLOYMENT), repr(DEPLOYMENT)) == ("pods", "deployments.apps", "Kind(deployments.apps)")
    assert (POD.api_version, DEPLOYMENT.api_version) == ("v1", "apps/v1")


@pytest.mark.parametrize(("text", "key"), [("ns/a", Key("ns", "a")), ("a", Key("", "a"))])
def test_keys_are_read_and_written(text: str, key: Key) -> None:
    assert Key.parse(text) == Key.of(text) == Key.of(key) == key
    assert str(key) == text


@pytest.mark.parametrize("text", ["", "/a", "ns/", "a/b/c", "/"])
def test_what_is_not_a_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an object key"):
        Key.parse(text)


def test_keys_sort_by_namespace_then_name() -> None:
    assert sorted([Key("b", "a"), Key("a", "z"), Key("a", "b")]) == [Key("a", "b"), Key("a", "z"), Key("b", "a")]
