"""The CRD document of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from msgspec import Struct
from pydantic import BaseModel

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.schema.crd import Column, CustomResource, Scale, definition, filename, to_yaml
from dynamo_ctrl.objects.schema.marks import Int32, Rule
from dynamo_ctrl.objects.schema.union import Unrepresentable


class WidgetSpec(BaseModel):
    size: Int32


class WidgetStatus(BaseModel):
    ready: bool = False


class Widget(Object[WidgetSpec, WidgetStatus]):
    """A test kind."""


def kind(version: str = "v1", **options: Any) -> Kind[Widget]:
    return Kind(Widget, group="example.com", version=version, kind="Widget", plural="widgets", short=("w",), **options)


def resource(version: str = "v1", **options: Any) -> CustomResource:
    return CustomResource(kind=kind(version), description="A widget.", **options)


def test_a_definition_is_complete() -> None:
    document = definition(
        resource(
            columns=(Column(name="Size", type="integer", path=".spec.size", priority=1, description="d"),),
            scale=Scale(spec_replicas=".spec.size", status_replicas=".status.size", selector=".status.selector"),
            rules=(Rule("self.metadata.name != 'a'", "m"),),
            categories=("all",),
            selectable=(".spec.size",),
            spec_required=True,
        )
    )
    assert document["metadata"] == {"name": "widgets.example.com"}
    assert document["spec"]["scope"] == "Namespaced"
    assert document["spec"]["names"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["w"],
        "categories": ["all"],
    }
    [version] = document["spec"]["versions"]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert version["additionalPrinterColumns"] == [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "d", "priority": 1}
    ]
    assert version["selectableFields"] == [{"jsonPath": ".spec.size"}]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["required"] == ["spec"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert schema["x-kubernetes-validations"] == [{"rule": "self.metadata.name != 'a'", "message": "m"}]


def test_a_plain_definition_says_no_more_than_it_must() -> None:
    plain = CustomResource(kind=kind(namespaced=False, status_subresource=False), description="A widget.")
    document = definition(plain)
    assert document["spec"]["scope"] == "Cluster"
    [version] = document["spec"]["versions"]
    assert set(version) == {"name", "served", "storage", "schema"}
    assert "required" not in version["schema"]["openAPIV3Schema"]


def test_versions_share_one_definition() -> None:
    document = definition(resource("v1"), resource("v1beta1", storage=False, served=False))
    found = [(v["name"], v["served"], v["storage"]) for v in document["spec"]["versions"]]
    assert found == [("v1", True, True), ("v1beta1", False, False)]


@pytest.mark.parametrize(
    ("versions", "rule"),
    [
        ((), "one group, kind, plural and scope"),
        ((resource("v1"), resource("v2")), "exactly one version"),
        ((resource(storage=False),), "exactly one version"),
    ],
)
def test_what_is_no_definition_is_refused(versions: tuple[CustomResource, ...], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        definition(*versions)


def test_the_yaml_is_stable_and_reads_back() -> None:
    document = definition(resource())
    shared = {"a": 1}
    text = to_yaml([document, {"x": shared, "y": shared}])
    assert text == to_yaml([definition(resource()), {"y": shared, "x": shared}])
    assert "&" not in text
    assert next(yaml.safe_load_all(text)) == document
    assert filename(document) == "example.com_widgets.yaml"


class Plain(Struct, frozen=True):
    """A section that is no pydantic model."""


def of(model: type[Object[Any, Any]]) -> dict[str, Any]:
    kind = Kind(model, group="example.com", version="v1", kind="Widget", plural="widgets")
    document = definition(CustomResource(kind=kind, description="A widget."))
    properties: dict[str, Any] = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return properties


def test_a_section_that_is_no_pydantic_model_is_refused_by_its_kind_and_name() -> None:
    class Specified(Object[Plain, None]):
        """Its spec is a struct."""

    class Observed(Object[WidgetSpec, Plain]):
        """Its status is a struct."""

    for model, section in ((Specified, "spec"), (Observed, "status")):
        with pytest.raises(Unrepresentable) as raised:
            of(model)
        assert str(raised.value).startswith(f"widgets.example.com: {section}: Plain is no pydantic model: ")


def test_a_json_tree_keeps_everything_and_no_section_is_no_property() -> None:
    class Tree(Object[Mapping[str, Any], None]):
        """Its spec is a JSON tree, and it has no status."""

    keeps = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert of(Tree)["spec"] == keeps
    assert "status" not in of(Tree)
    assert of(Object)["spec"] == of(Object)["status"] == keeps
