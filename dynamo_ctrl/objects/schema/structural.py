"""From a pydantic model to a structural schema (OpenAPI 3.0 as a CRD wants it).

Contract: the result is what a kube-apiserver accepts without the condition NonStructuralSchema, or `Unrepresentable`
is raised and names the field and the rule. It is deterministic, holds no reference and shares no part with the model.

What pydantic says and a structural schema cannot: references are inlined; "or null" means *may be absent* unless marked
`Nullable`; integer-or-text becomes int-or-string; tagged unions are merged; constants become enums; exclusive bounds
become flags; sets become list sets; titles, examples and discriminators go. A Python default stays in Python unless it
is marked `ServerDefault`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.schema.marks import NULLABLE, SERVER_DEFAULT, STRUCTURAL
from dynamo_ctrl.objects.schema.rules import check_bounds
from dynamo_ctrl.objects.schema.union import Unrepresentable, merge_union

Schema = dict[str, Any]

_KEPT: Final = (
    "description", "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties", "minimum", "maximum",
    "multipleOf", "pattern", "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
    "x-kubernetes-validations", "x-kubernetes-embedded-resource",
)  # fmt: skip
_FORMATS: Final = frozenset(
    {"int32", "int64", "float", "double", "byte", "date", "date-time", "uuid", "ipv4", "ipv6", "uri"}
)
_LIMITS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_NOT_RE2: Final = re.compile(r"\(\?(=|!|<=|<!|>)|(?<!\\)\\[1-9]|\(\?P=|[*+?}]\+")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"


class _Generator(GenerateJsonSchema):
    """Python-only defaults need not be JSON."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012


def structural(model: type[BaseModel], *, path: str = "") -> Schema:
    """The structural schema of `model`, by its wire names.

    Args:
        path: how errors name the model, as `spec`.

    Raises:
        Unrepresentable: the model says something that a CRD cannot hold.
    """
    document = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_Generator)
    return _Converter(document.get("$defs", {})).convert(document, path or model.__name__, ())


class _Converter:
    """One conversion, with the definitions that references point into."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def convert(self, node: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> Schema:
        node, inside = self._resolve(node, path, inside)
        node, inside = self._resolve(self._choices(node, path), path, inside)
        self._refuse(node, path)
        out: Schema = {key: node[key] for key in _KEPT if key in node}
        if "description" in out:
            out["description"] = " ".join(out["description"].split("\n\n")[0].split())
        if STRUCTURAL in node:
            return {**out, **thaw(node[STRUCTURAL]())}
        if node.get(NULLABLE):
            out["nullable"] = True
        if node.get(SERVER_DEFAULT) and node.get("default") is not None:
            out["default"] = node["default"]
        if node.get("x-kubernetes-int-or-string"):
            out["x-kubernetes-int-or-string"] = True
            return out
        self._enum(node, out, path)
        kind = node.get("type") or out.get("type")
        if kind is None:
            return {**out, _PRESERVE: True}
        out["type"] = kind
        match kind:
            case "object":
                self._object(node, out, path, inside)
            case "array":
                self._array(node, out, path, inside)
            case "integer" | "number":
                self._number(node, out, path)
            case "string":
                self._string(node, out, path)
            case "boolean":
                pass
            case _:
                raise Unrepresentable(path, f"type {kind!r}: a structural schema has one of the JSON types")
        check_bounds(out, path)
        return out

    def _resolve(self, node: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> tuple[Schema, tuple[str, ...]]:
        node = dict(node)
        while "$ref" in node:
            name = node.pop("$ref").rpartition("/")[2]
            if name in inside:
                raise Unrepresentable(path, f"{name} contains itself: a structural schema cannot be recursive")
            inside = (*inside, name)
            target = self._definitions[name]
            rules = [*target.get("x-kubernetes-validations", ()), *node.pop("x-kubernetes-validations", ())]
            node = {**target, **node, **({"x-kubernetes-validations": rules} if rules else {})}
        return node, inside

    def _choices(self, node: Schema, path: str) -> Schema:
        """`node` without anyOf, oneOf and allOf."""
        options = node.get("anyOf") or node.get("oneOf") or node.get("allOf")
        if options is None:
            return node
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf", "allOf")}
        real = [option for option in options if option.get("type") != "null"]
        types = {option.get("type") for option in real}
        if len(real) == 1:
            return {**self._choices(dict(real[0]), path), **rest}
        if types <= {"integer", "number", "string"} and {"integer", "string"} <= types:
            rest.pop("type", None)
            return {**rest, "x-kubernetes-int-or-string": True}
        if "allOf" not in node and (tag := node.get("discriminator", {}).get("propertyName")):
            members = [self._resolve(option, path, ())[0] for option in real]
            return {**rest, **merge_union(members, tag, path)}
        raise Unrepresentable(
            path, "a union of types: only 'or null', integer-or-string and tagged unions are possible"
        )

    def _refuse(self, node: Schema, path: str) -> None:
        if "prefixItems" in node:
            raise Unrepresentable(path, "a fixed tuple: use tuple[X, ...] or an object")
        if node.get("format") == "duration":
            raise Unrepresentable(
                path, "timedelta is ISO 8601 in JSON schema: use dynamo_ctrl.objects.duration.Duration"
            )
        if "pattern" in node and _NOT_RE2.search(node["pattern"]):
            raise Unrepresentable(path, f"pattern {node['pattern']!r}: the server's engine is RE2")

    def _enum(self, node: Schema, out: Schema, path: str) -> None:
        values = [node["const"]] if "const" in node else node.get("enum")
        if values is None:
            return
        types = {_json_type(value) for value in values}
        if len(types) != 1 or not types <= _SCALARS:
            raise Unrepresentable(path, f"enum {values!r}: all values must be scalars of one type")
        out["enum"] = list(values)
        out["type"] = types.pop()

    def _object(self, node: Schema, out: Schema, path: str, inside: tuple[str, ...]) -> None:
        extra = node.get("additionalProperties")
        properties: Mapping[str, Any] = node.get("properties", {})
        if isinstance(extra, Mapping):
            if properties:
                raise Unrepresentable(
                    path, "declared properties beside a map of values: a structural schema has one or the other"
                )
            out["additionalProperties"] = self.convert(extra, f"{path}.*", inside)
        elif extra is True or out.get("x-kubernetes-embedded-resource"):
            out[_PRESERVE] = True
        if properties:
            out["properties"] = {
                name: self.convert(value, f"{path}.{name}", inside) for name, value in sorted(properties.items())
            }
        if node.get("required"):
            out["required"] = sorted(node["required"])

    def _array(self, node: Schema, out: Schema, path: str, inside: tuple[str, ...]) -> None:
        if "items" not in node:
            raise Unrepresentable(path, "a list without an item type")
        items = out["items"] = self.convert(node["items"], f"{path}[]", inside)
        if node.get("uniqueItems"):
            out["x-kubernetes-list-type"] = "set"
        match out.get("x-kubernetes-list-type"):
            case "set" if items.get("type") not in _SCALARS:
                raise Unrepresentable(path, "a list set holds scalars only")
            case "map":
                _check_keys(out["x-kubernetes-list-map-keys"], items, path)

    def _number(self, node: Schema, out: Schema, path: str) -> None:
        for bound, flag in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if flag in node:
                out[bound], out[flag] = node[flag], True
        if out["type"] == "number":
            out["format"] = node.get("format", "double")
            return
        values = out.get("enum", (out.get("minimum"), out.get("maximum")))
        format_ = node.get("format") or _integer_format(values)
        if format_ not in _LIMITS:
            raise Unrepresentable(path, "an integer without bounds: use Int32 or Int64")
        out["format"] = format_
        for bound, limit in zip(("minimum", "maximum"), _LIMITS[format_], strict=True):
            if out.get(bound) == limit:
                del out[bound]

    def _string(self, node: Schema, out: Schema, path: str) -> None:
        if node.get("format") in _FORMATS:
            out["format"] = node["format"]


def _integer_format(values: Sequence[int | None]) -> str | None:
    """The smallest format that holds all values; `None` when one of them is not known."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return next((f for f, (low, high) in _LIMITS.items() if low <= min(known) and max(known) <= high), None)


def _check_keys(keys: Iterable[str], items: Schema, path: str) -> None:
    for key in keys:
        found = items.get("properties", {}).get(key)
        if found is None or found.get("type") not in _SCALARS:
            raise Unrepresentable(path, f"list-map key {key!r} is not a scalar field of the items")
        if key not in items.get("required", ()) and "default" not in found:
            raise Unrepresentable(path, f"list-map key {key!r} must be required or have a server default")


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            return "other"
