"""What makes a CRD unacceptable, by the field that the answer names."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.engine.memory.crd_rules import definition_errors

Tree = dict[str, Any]


def definition() -> Tree:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "x.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "things.x.io"}, "spec": spec}


def test_one_that_is_well_made() -> None:
    assert definition_errors(definition(), None) == []
    assert definition_errors(definition(), definition()) == []


def broken(change: Callable[[Tree], object]) -> Tree:
    tree = definition()
    change(tree)
    return tree


def version(tree: Tree) -> Tree:
    found: Tree = tree["spec"]["versions"][0]
    return found


def schema(tree: Tree) -> Tree:
    found: Tree = version(tree)["schema"]["openAPIV3Schema"]
    return found


def with_n(**node: Any) -> Callable[[Tree], object]:
    return lambda tree: schema(tree)["properties"]["spec"]["properties"].update(n=node)


def with_list(keys: list[str], item: Tree, needed: list[str]) -> Callable[[Tree], object]:
    items = {"type": "object", "properties": item, "required": needed}
    return with_n(type="array", items=items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys})


SPEC = "spec.validation.openAPIV3Schema.properties[spec].properties[n]"
KEY = "x-kubernetes-list-map-keys"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda tree: tree["metadata"].update(name="other.x.io"), ["metadata.name"]),
        (lambda tree: (tree["spec"].update(group=""), tree["metadata"].update(name="things.")), ["spec.group"]),
        (lambda tree: tree["spec"].update(scope="Planet"), ["spec.scope"]),
        (lambda tree: tree["spec"]["names"].update(kind=""), ["spec.names.kind"]),
        (lambda tree: tree["spec"]["names"].update(singular="A thing"), ["spec.names.singular"]),
        (lambda tree: tree["spec"]["versions"].append(copy.deepcopy(version(tree))), ["spec.versions"] * 2),
        (lambda tree: version(tree).update(storage=False), ["spec.versions", "status.storedVersions"]),
        (lambda tree: tree.update(status={"storedVersions": ["v0"]}), ["status.storedVersions"]),
        (lambda tree: tree["spec"].update(preserveUnknownFields=True), ["spec.preserveUnknownFields"]),
        (lambda tree: version(tree).pop("schema"), ["spec.versions[0].schema.openAPIV3Schema"]),
        (
            lambda tree: version(tree).update(subresources={"scale": {"specReplicasPath": ".status.n"}}),
            ["spec.subresources.scale.specReplicasPath", "spec.subresources.scale.statusReplicasPath"],
        ),
        (lambda tree: schema(tree).pop("type"), ["spec.validation.openAPIV3Schema.type"]),
        (lambda tree: schema(tree).update(type="string"), ["spec.validation.openAPIV3Schema.type"]),
        (with_n(), [f"{SPEC}.type"]),
        (with_n(**{"x-kubernetes-int-or-string": True}), []),
        (with_n(type="whole"), [f"{SPEC}.type"]),
        (with_n(type="array"), [f"{SPEC}.items"]),
        (with_n(type="array", items={"type": "whole"}), [f"{SPEC}.items.type"]),
        (with_n(type="object", additionalProperties={"type": "whole"}), [f"{SPEC}.additionalProperties.type"]),
        (
            with_n(type="object", additionalProperties=True, properties={"a": {"type": "string"}}),
            [f"{SPEC}.additionalProperties"],
        ),
        (with_n(type="string", pattern="("), [f"{SPEC}.pattern"]),
        (with_n(type="integer", default="text"), [f"{SPEC}.default"]),
        (with_list(["k"], {"k": {"type": "string"}}, ["k"]), []),
        (with_list(["k"], {"k": {"type": "string", "default": ""}}, []), []),
        (with_list(["k"], {"k": {"type": "string"}}, []), [f"{SPEC}.items.properties[k].default"]),
        (with_list(["other"], {"k": {"type": "string"}}, []), [f"{SPEC}.{KEY}"]),
        (with_list([], {"k": {"type": "string"}}, []), [f"{SPEC}.{KEY}"]),
    ],
)
def test_one_that_is_refused(change: Callable[[Tree], object], fields: list[str]) -> None:
    assert [error.field for error in definition_errors(broken(change), None)] == fields


def test_versions_that_differ_are_told_apart() -> None:
    tree = definition()
    other = copy.deepcopy(version(tree)) | {"name": "v2", "storage": False}
    other["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["n"] = {"type": "whole"}
    tree["spec"]["versions"].append(other)
    (error,) = definition_errors(tree, None)
    assert error.field == "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[n].type"


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda tree: tree["spec"].update(scope="Cluster"), ["spec.scope"]),
        (lambda tree: tree["spec"]["names"].update(kind="Stuff"), ["spec.names.kind"]),
        (
            lambda tree: (tree["spec"]["names"].update(plural="stuff"), tree["metadata"].update(name="stuff.x.io")),
            ["spec.names.plural"],
        ),
    ],
)
def test_what_never_changes(change: Callable[[Tree], object], fields: list[str]) -> None:
    assert [error.field for error in definition_errors(broken(change), definition())] == fields
