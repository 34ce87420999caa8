"""Manifests: files in, objects with an address out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dynamo_ctrl.objects.key import Key
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import load

Write = Callable[..., Path]

TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: ns}
---
# nothing but a comment
---
apiVersion: v1
kind: Namespace
metadata: {name: n}
"""


def test_every_document_of_every_file_in_order(write: Write) -> None:
    one, two = write("1.yaml", TWO), write("2.yaml", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}")
    found = load([one, two])
    assert [(manifest.api_version, manifest.kind) for manifest in found] == [
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("apps/v1", "Deployment"),
    ]
    assert [manifest.key("fallback") for manifest in found] == [
        Key("ns", "a"),
        Key("fallback", "n"),
        Key("fallback", "d"),
    ]
    assert str(found[2]) == f"{two}: Deployment d"


def test_lists_are_taken_apart(write: Write) -> None:
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"
    nested = f"{{apiVersion: v1, kind: List, items: [{item % 'b'}]}}"
    path = write("f.yaml", f"{{apiVersion: v1, kind: List, items: [{item % 'a'}, {nested}]}}")
    assert [manifest.key("").name for manifest in load([path])] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "there is no object in it"),
        ("---\n---\n", "there is no object in it"),
        ("{apiVersion: v1, kind: List, items: []}", "there is no object in it"),
        ("- 1", "must be a Kubernetes object (apiVersion, kind, metadata), not a list"),
        ("just words", "not a text"),
        ("5", "not 5"),
        ("{kind: X}", "apiVersion: must be a text, not nothing"),
        ("{apiVersion: v1, kind: 5}", "kind: must be a text, not 5"),
        ("{apiVersion: v1, kind: ''}", "kind: must be a text, not an empty text"),
        ("{apiVersion: v1, kind: X}", "metadata: must be a mapping with a name"),
        ("{apiVersion: v1, kind: X, metadata: {}}", "metadata.name: must be a text, not nothing"),
        ("{apiVersion: v1, kind: X, metadata: {name: {}}}", "metadata.name: must be a text, not a mapping"),
        ("{apiVersion: v1, kind: X, metadata: {name: yes}}", "metadata.name: must be a text, not true"),
        ("{apiVersion: v1, kind: X, metadata: {name: a, namespace: []}}", "metadata.namespace: must be a text"),
        ("{apiVersion: v1, kind: List}", "items: must be a list"),
        ("a: 1\n---\n{kind: X}", ", document 1: apiVersion"),
        ("{apiVersion: v1, kind: List, items: [5]}", ", items[0]: must be a Kubernetes object"),
    ],
)
def test_what_is_no_object_is_told_with_its_place(write: Write, text: str, rule: str) -> None:
    path = write("f.yaml", text)
    with pytest.raises(UsageError) as raised:
        load([path])
    assert str(raised.value).startswith(str(path))
    assert rule in str(raised.value)
