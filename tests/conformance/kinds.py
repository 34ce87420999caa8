"""The custom resources that the suite works with, and how their bodies look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

GROUP = "conformance.dynamo.dev"


class Custom(Object[Mapping[str, Any], Mapping[str, Any]]):
    """An object of any custom kind."""


def custom(kind: str, *, version: str = "v1", namespaced: bool = True, status: bool = True) -> Kind[Custom]:
    """A kind of the suite's own group."""
    return Kind(
        Custom, group=GROUP, version=version, kind=kind, plural=f"{kind.lower()}s", namespaced=namespaced,
        status_subresource=status,
    )  # fmt: skip


WIDGET = custom("Widget")
"""Status and scale subresources, a schema with a default and a bound, a selectable field."""

GADGET = custom("Gadget", status=False)
"""No subresources; everything is preserved."""

PLANET = custom("Planet", namespaced=False)
"""Cluster scope, with status."""

SHAPE = custom("Shape", status=False)
"""One property for each feature of a schema."""

ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

WIDGET_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 1, "minimum": 0},
                "color": {"type": "string"},
                "selector": {"type": "string"},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "selector": {"type": "string"},
                "note": {"type": "string", "maxLength": 10},
            },
        },
    },
}

_TEXT = {"type": "string"}
_AB = {"type": "object", "properties": {"a": _TEXT, "b": _TEXT}}

SHAPE_PROPERTIES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
    "choice": {"type": "string", "enum": ["A", "B"]},
    "count": {"type": "integer", "minimum": 1, "maximum": 5, "multipleOf": 2},
    "open": {"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": True},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "either": {"x-kubernetes-int-or-string": True},
    "nullable": {"type": "string", "nullable": True},
    "nullableDefault": {"type": "string", "nullable": True, "default": "d"},
    "default": {"type": "string", "default": "d"},
    "section": {
        "type": "object",
        "default": {},
        "properties": {"a": {"type": "integer", "default": 5}, "b": _TEXT},
    },
    "lazy": {"type": "object", "properties": {"a": {"type": "integer", "default": 5}, "q": _TEXT}},
    "texts": {"type": "object", "additionalProperties": _TEXT},
    "objects": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}},
    },
    "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": _TEXT},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
    "map": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _TEXT, "v": {"type": "integer", "default": 3}},
        },
    },
    "loose": {**ANYTHING, "properties": {"known": {"type": "object", "properties": {"z": _TEXT}}}},
    "embedded": {**ANYTHING, "x-kubernetes-embedded-resource": True},
    "moment": {"type": "string", "format": "date-time"},
    "small": {"type": "integer", "format": "int32"},
    "sized": {"type": "object", "additionalProperties": _TEXT, "minProperties": 1, "maxProperties": 2},
    "one": {**_AB, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "some": {**_AB, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "none": {**_AB, "not": {"required": ["a"]}},
    "all": {**_AB, "allOf": [{"required": ["a"]}, {"required": ["b"]}]},
}


def definition(kind: Kind[Any], schema: Mapping[str, Any], **version: Any) -> dict[str, Any]:
    """A CRD of one version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {"plural": kind.plural, "kind": kind.kind},
            "versions": [
                {
                    "name": kind.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }


def _with_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec}}


DEFINITIONS = (
    definition(
        WIDGET,
        WIDGET_SCHEMA,
        subresources={
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.size",
                "statusReplicasPath": ".status.size",
                "labelSelectorPath": ".status.selector",
            },
        },
        selectableFields=[{"jsonPath": ".spec.color"}],
    ),
    definition(GADGET, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    definition(PLANET, _with_spec(ANYTHING), subresources={"status": {}}),
    definition(SHAPE, _with_spec({"type": "object", "properties": SHAPE_PROPERTIES})),
)
"""The CRDs that every world has from the start."""


def body(kind: Kind[Any], name: str, *, metadata: Mapping[str, Any] | None = None, **content: Any) -> dict[str, Any]:
    """An object of a kind, as a client sends it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, **(metadata or {})},
        **content,
    }


def stored(kind: Kind[Any], name: str, *, metadata: Mapping[str, Any] | None = None, **content: Any) -> dict[str, Any]:
    """An object of a namespaced kind, as it is observed: in the world's own namespace, without what is volatile."""
    return body(kind, name, metadata={"namespace": "NS", **(metadata or {})}, **content)


def widget(
    name: str, *, generation: int = 1, metadata: Mapping[str, Any] | None = None, **content: Any
) -> dict[str, Any]:
    """A Widget as it is observed."""
    return stored(
        WIDGET, name, metadata={"generation": generation, **(metadata or {})}, **{"spec": {"size": 1}, **content}
    )
