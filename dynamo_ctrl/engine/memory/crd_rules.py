"""What makes a CRD acceptable: names, versions, subresources, and schemas that are structural."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynamo_ctrl.engine.memory import names, rules
from dynamo_ctrl.engine.memory.field_error import FieldError, forbidden_field, invalid_value, required, unsupported
from dynamo_ctrl.engine.memory.schema import Schema
from dynamo_ctrl.engine.memory.served import Tree

_SCOPES: Final = ("Cluster", "Namespaced")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_NAMES: Final = ("plural", "singular", "kind", "listKind")
_SCALE_PATHS: Final = (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status"))


def definition_errors(new: Tree, old: Tree | None) -> list[FieldError]:
    """Everything that is wrong with a CRD; `old` is what it replaces."""
    spec = new.get("spec") or {}
    return [
        *_name_errors(new["metadata"].get("name", ""), spec),
        *_version_errors(spec, new.get("status") or {}),
        *_change_errors(spec, (old or {}).get("spec")),
    ]


def _name_errors(name: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    group, called = spec.get("group", ""), spec.get("names") or {}
    if name != f"{called.get('plural', '')}.{group}":
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not group:
        yield required("spec.group")
    if spec.get("scope") not in _SCOPES:
        yield unsupported("spec.scope", spec.get("scope", ""), _SCOPES)
    for field in _NAMES:
        value = called.get(field)
        if not value:
            yield required(f"spec.names.{field}")
            continue
        for fault in names.name_faults(value if field in ("plural", "singular") else value.lower(), "dns-1035"):
            yield invalid_value(f"spec.names.{field}", value, fault)


def _version_errors(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[FieldError]:
    versions = spec.get("versions") or []
    called = [version.get("name", "") for version in versions]
    told = [_as_go(version) for version in versions]
    if len(set(called)) != len(called):
        yield invalid_value("spec.versions", told, "must contain unique version names")
    stored = [version.get("name", "") for version in versions if version.get("storage")]
    if len(stored) != 1:
        yield invalid_value("spec.versions", told, "must have exactly one version marked as storage version")
    if not stored:
        yield invalid_value("status.storedVersions", None, "must have at least one stored version")
    elif stored[-1] not in status.get("storedVersions", stored):
        rule = f"must have the storage version {stored[-1]}"
        yield invalid_value("status.storedVersions", status.get("storedVersions"), rule)
    if spec.get("preserveUnknownFields"):
        rule = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid_value("spec.preserveUnknownFields", True, rule)
    for index, version in enumerate(versions):
        for fault in names.name_faults(called[index], "dns-1035"):
            yield invalid_value(f"spec.versions[{index}].name", called[index], fault)
        for number, field in enumerate(version.get("selectableFields") or ()):
            if not field.get("jsonPath"):
                yield required(f"spec.versions[{index}].selectableFields[{number}].jsonPath")
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in versions]
    alike = all(schema == schemas[0] for schema in schemas)
    for index, version in enumerate(versions):
        single = "spec" if alike else f"spec.versions[{index}]"
        schema = schemas[index]
        if schema is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
        elif not alike or index == 0:
            part = "validation" if alike else "schema"
            yield from _root_errors(schema, f"{single}.{part}.openAPIV3Schema")
        if not alike or index == 0:
            yield from _scale_errors((version.get("subresources") or {}).get("scale"), f"{single}.subresources.scale")


def _as_go(version: Mapping[str, Any]) -> Tree:
    return {
        "Name": version.get("name", ""),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": None,
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _scale_errors(scale: Mapping[str, Any] | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for field, root in _SCALE_PATHS:
        value = scale.get(field, "")
        if not value:
            yield required(f"{path}.{field}")
        elif not value.startswith(f"{root}."):
            yield invalid_value(f"{path}.{field}", value, f"should be a json path under {root}")


def _root_errors(schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if not schema.get("type"):
        yield required(f"{path}.type", "must not be empty at the root")
    yield from _node_errors(schema, path, typed=False)
    if schema.get("type") not in (None, "", "object"):
        yield invalid_value(f"{path}.type", schema["type"], "must be object at the root")


def _node_errors(node: Mapping[str, Any], path: str, *, typed: bool = True) -> Iterator[FieldError]:
    kind = node.get("type", "")
    loose = node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields")
    for name, child in sorted((node.get("properties") or {}).items()):
        yield from _node_errors(child, f"{path}.properties[{name}]")
    additional = node.get("additionalProperties")
    if isinstance(additional, Mapping):
        yield from _node_errors(additional, f"{path}.additionalProperties")
    if isinstance(node.get("items"), Mapping):
        yield from _node_errors(node["items"], f"{path}.items")
    if kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if kind == "array" and not node.get("items"):
        yield required(f"{path}.items", "must be specified")
    if not kind and typed and not loose:
        yield required(f"{path}.type", "must not be empty for specified object fields")
    if additional not in (None, False) and node.get("properties"):
        yield forbidden_field(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    yield from _pattern_errors(node.get("pattern", ""), path)
    yield from _list_errors(node, path)
    if node.get("default") is not None and kind in _TYPES:
        yield from Schema(node).errors(node["default"], f"{path}.default", body=f"{path}.default")


def _pattern_errors(pattern: str, path: str) -> Iterator[FieldError]:
    try:
        rules.go_pattern(pattern)
    except re.error as error:
        rule = f"must be a valid regular expression, but isn't: error parsing regexp: {error.msg}: `{pattern}`"
        yield invalid_value(f"{path}.pattern", pattern, rule)


def _list_errors(node: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    if node.get("x-kubernetes-list-type") != "map":
        return
    keys = node.get("x-kubernetes-list-map-keys") or []
    if not keys:
        yield required(f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map")
    items = node.get("items") or {}
    for key in keys:
        known = (items.get("properties") or {}).get(key)
        if known is None:
            rule = "entries must all be names of item properties"
            yield invalid_value(f"{path}.x-kubernetes-list-map-keys", keys, rule)
        elif key not in (items.get("required") or ()) and known.get("default") is None:
            yield required(
                f"{path}.items.properties[{key}].default",
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            )


def _change_errors(spec: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[FieldError]:
    if old is None:
        return
    for field in ("group", "scope"):
        if spec.get(field) != old.get(field):
            yield invalid_value(f"spec.{field}", spec.get(field), "field is immutable")
    for field in ("kind", "plural"):
        value = (spec.get("names") or {}).get(field)
        if value != old["names"].get(field):
            yield invalid_value(f"spec.names.{field}", value, "field is immutable")
