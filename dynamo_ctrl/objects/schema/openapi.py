"""From the OpenAPI document of a kube-apiserver to a structural schema: a type of Kubernetes' own inside a custom resource.

Contract: the result holds all references resolved and is what a CRD takes. It refuses what the type does not know and what is of
a wrong type, as the server does for its own kinds. What is left out, and why:

- descriptions: they are five sixths of the document;
- defaults: a default is filled into objects that are stored already, and they would differ from what their authors wrote. Only an
  optional key of a list map keeps its own, as the server asks for it (`protocol` of a port is `TCP`);
- hints for clients that merge by themselves.

What is said otherwise: an optional enum allows the empty text, which stands for "absent" in Kubernetes' own types; a quantity is
an integer or a text, so that a fraction needs quotes; an object of unknown content is kept as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.schema.marks import QUANTITY_PATTERN
from dynamo_ctrl.objects.schema.union import Unrepresentable

Schema = dict[str, Any]

_KEPT: Final = (
    "type",
    "format",
    "pattern",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
)
_INT_OR_STRING: Final[Schema] = {"x-kubernetes-int-or-string": True}


def from_openapi(document: Mapping[str, Any], name: str) -> Schema:
    """The structural schema of the type `name`, as `io.k8s.api.core.v1.PodTemplateSpec`.

    Args:
        document: an OpenAPI v3 document, as `/openapi/v3/api/v1` gives it.

    Raises:
        KeyError: the document knows no such type.
        Unrepresentable: the type contains itself, or a choice that a structural schema cannot hold.
    """
    return _Types(document["components"]["schemas"]).type(name, name, ())


class _Types:
    """The types of one document."""

    def __init__(self, types: Mapping[str, Mapping[str, Any]]) -> None:
        self._types = types

    def type(self, name: str, path: str, inside: tuple[str, ...]) -> Schema:
        if name in inside:
            raise Unrepresentable(path, f"{name} contains itself: a structural schema cannot be recursive")
        return self._node(self._types[name], path, (*inside, name))

    def _node(self, node: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> Schema:
        reference = node.get("$ref") or _only(node.get("allOf"))
        if reference:
            return self.type(reference.rpartition("/")[2], path, inside)
        if "oneOf" in node:
            return _scalars(node["oneOf"], path)
        out: Schema = {key: node[key] for key in _KEPT if key in node}
        if "enum" in node:
            out["enum"] = list(node["enum"])
        match node.get("type"):
            case "object":
                self._object(node, out, path, inside)
            case "array":
                self._array(node, out, path, inside)
            case None:
                raise Unrepresentable(path, "has no type")
        return out

    def _object(self, node: Mapping[str, Any], out: Schema, path: str, inside: tuple[str, ...]) -> None:
        required = sorted(node.get("required", ()))
        if required:
            out["required"] = required
        if "additionalProperties" in node:
            out["additionalProperties"] = self._node(node["additionalProperties"], f"{path}.*", inside)
        elif "properties" not in node:
            out["x-kubernetes-preserve-unknown-fields"] = True
        else:
            out["properties"] = properties = {
                name: self._node(child, f"{path}.{name}", inside) for name, child in sorted(node["properties"].items())
            }
            for name, child in properties.items():
                if "enum" in child and name not in required and "" not in child["enum"]:
                    child["enum"].append("")

    def _array(self, node: Mapping[str, Any], out: Schema, path: str, inside: tuple[str, ...]) -> None:
        items = out["items"] = self._node(node["items"], f"{path}[]", inside)
        source = self._resolved(node["items"])
        for key in node.get("x-kubernetes-list-map-keys", ()):
            if key not in items.get("required", ()):
                items["properties"][key]["default"] = source["properties"][key]["default"]

    def _resolved(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        while reference := node.get("$ref") or _only(node.get("allOf")):
            node = self._types[reference.rpartition("/")[2]]
        return node


def _only(choices: Any) -> str | None:
    """The reference of an `allOf` with nothing else in it: how OpenAPI 3.0 puts a default beside a reference."""
    return choices[0].get("$ref") if choices and len(choices) == 1 else None


def _scalars(choices: Any, path: str) -> Schema:
    match sorted(choice.get("type", "") for choice in choices):
        case ["integer", "string"]:
            return dict(_INT_OR_STRING)
        case ["number", "string"]:
            return {**_INT_OR_STRING, "pattern": QUANTITY_PATTERN}
    raise Unrepresentable(path, "a choice of types other than a quantity, or an integer or a text")
