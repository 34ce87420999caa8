"""Structural schemas: one compiled tree that gives an object its shape and checks it.

Contract, as apiextensions does it:

- `shape` drops what the schema does not know (unless it says to preserve it), drops nulls where they mean nothing, and then
  fills in defaults; it works in place, parent before child, and a second time changes nothing.
- `errors` checks every rule; a subtree that did not change since the old object is not held against its rules (ratcheting).
- The rules of a value itself (lengths, ranges, formats, compositions) are in `rules`.

CEL rules (`x-kubernetes-validations`) are not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.memory import metadata, rules
from dynamo_ctrl.engine.memory.field_error import FieldError, duplicate, required, wrong_type
from dynamo_ctrl.engine.memory.served import Tree, same

_ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata"})
_ABSENT: Final = object()
_NO_DEFAULT: Final = b""


def type_name(value: Any) -> str:
    """The JSON schema type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _fits(value: Any, types: Sequence[str]) -> bool:
    name = type_name(value)
    if name in types:
        return True
    if name == "integer":
        return "number" in types
    return name == "number" and "integer" in types and float(value).is_integer()


class Schema:
    """One node of a structural schema, compiled from its `openAPIV3Schema` form.

    Args:
        source: the node as JSON.
        root: whether it is the schema of a whole object, whose envelope is always kept.

    Attributes:
        nullable: whether null is a value.
        default: the JSON text of the default, empty for none.
    """

    __slots__ = (
        "_additional", "_constraints", "_defaults", "_embedded", "_embeds", "_envelope", "_items", "_list_keys",
        "_list_type", "_open", "_properties", "_required", "_types", "default", "nullable",
    )  # fmt: skip

    def __init__(self, source: Mapping[str, Any], *, root: bool = False) -> None:
        self._embedded = bool(source.get("x-kubernetes-embedded-resource"))
        self._envelope = root or self._embedded
        self.nullable = bool(source.get("nullable"))
        if source.get("x-kubernetes-int-or-string"):
            self._types: tuple[str, ...] = ("integer", "string")
        else:
            self._types = (source["type"],) if source.get("type") else ()
        self._properties = {name: Schema(each) for name, each in (source.get("properties") or {}).items()}
        additional = source.get("additionalProperties")
        self._additional = Schema(additional) if isinstance(additional, Mapping) else None
        self._open = bool(source.get("x-kubernetes-preserve-unknown-fields")) or additional is True
        self._items = Schema(source["items"]) if source.get("items") else None
        self._required = tuple(source.get("required") or ())
        self.default = msgspec.json.encode(source["default"]) if source.get("default") is not None else _NO_DEFAULT
        self._defaults = tuple((name, each) for name, each in self._properties.items() if each.default)
        self._list_type = source.get("x-kubernetes-list-type", "")
        self._list_keys = tuple(source.get("x-kubernetes-list-map-keys") or ())
        self._constraints = rules.constraints(source, Schema)
        inner = (*self._properties.values(), self._additional, self._items)
        self._embeds: bool = self._embedded or any(each._embeds for each in inner if each is not None)  # noqa: SLF001

    def property(self, name: str) -> Schema | None:
        """The schema of one property, if it has one."""
        return self._properties.get(name)

    def unreadable(self, value: Any, path: str = "") -> str | None:
        """Why the metadata of an embedded resource in `value` cannot be read; `None` when it can."""
        if not self._embeds:
            return None
        if isinstance(value, dict):
            if self._embedded and value.get("metadata") is not None:
                fault = metadata.type_fault(value["metadata"])
                if fault is not None:
                    text = msgspec.json.encode(value["metadata"]).decode()
                    return f"{_join(path, 'metadata')}: Invalid value: {text}: {fault}"
            children = [(_join(path, name), self._known(name), each) for name, each in value.items()]
        elif isinstance(value, list):
            children = [(f"{path}[{index}]", self._items, each) for index, each in enumerate(value)]
        else:
            return None
        faults = (known.unreadable(each, where) for where, known, each in children if known is not None)
        return next((fault for fault in faults if fault is not None), None)

    def _known(self, name: str) -> Schema | None:
        return self._properties.get(name, self._additional)

    def shape(self, value: Any) -> None:
        """Prune and default `value` in place."""
        if isinstance(value, dict):
            self._shape_object(value)
        elif isinstance(value, list) and self._items is not None:
            for item in value:
                self._items.shape(item)

    def _shape_object(self, value: Tree) -> None:
        for name in tuple(value):
            known = self._known(name)
            if self._envelope and name in _ENVELOPE:
                continue
            if known is None:
                if not self._open:
                    del value[name]
            elif value[name] is None and not known.nullable:
                del value[name]
            else:
                known.shape(value[name])
        for name, known in self._defaults:
            if name not in value:
                value[name] = msgspec.json.decode(known.default)
                known.shape(value[name])
        if self._embedded and isinstance(value.get("metadata"), dict):
            value["metadata"] = metadata.known_metadata(value["metadata"])

    def unknown(self, value: Any, path: str = "") -> Iterator[str]:
        """The paths of what `shape` drops because the schema does not know it."""
        if isinstance(value, dict):
            for name, each in value.items():
                known = self._known(name)
                if self._envelope and name in _ENVELOPE:
                    if self._embedded and name == "metadata" and isinstance(each, dict):
                        yield from (_join(path, f"{name}.{field}") for field in metadata.unknown_metadata(each))
                elif known is not None:
                    yield from known.unknown(each, _join(path, name))
                elif not self._open:
                    yield _join(path, name)
        elif isinstance(value, list) and self._items is not None:
            for index, item in enumerate(value):
                yield from self._items.unknown(item, f"{path}[{index}]")

    def errors(self, value: Any, path: str, *, body: str = "", old: Any = _ABSENT) -> Iterator[FieldError]:
        """The rules that `value` breaks.

        Args:
            value: what to check.
            path: where it is, for the causes.
            body: the beginning of `path` that messages leave out.
            old: what was there before; what did not change is not checked.
        """
        if old is not _ABSENT and same(value, old):
            return
        if value is None and self.nullable:
            return
        where = path.removeprefix(body).removeprefix(".")
        if self._types and not _fits(value, self._types):
            name = type_name(value)
            wanted = ",".join(self._types)
            yield wrong_type(path, name, f'{where} in body must be of type {wanted}: "{name}"')
            if self._types == ("integer",) and name == "number":
                yield rules.not_an_integer(where)
        yield from rules.broken(self._constraints, value, path, where)
        if isinstance(value, dict):
            yield from self._object_errors(value, path, body, old)
        elif isinstance(value, list):
            yield from self._list_errors(value, path, body, old)

    def _object_errors(self, value: Tree, path: str, body: str, old: Any) -> Iterator[FieldError]:
        before = old if isinstance(old, dict) else {}
        needed = (*self._required, "apiVersion", "kind") if self._embedded else self._required
        for name in dict.fromkeys(needed):
            if name not in value:
                yield required(_join(path, name))
        for name, each in value.items():
            if self._envelope and name in _ENVELOPE and name not in self._properties:
                continue
            known = self._known(name)
            if known is not None:
                yield from known.errors(each, _join(path, name), body=body, old=before.get(name, _ABSENT))

    def _list_errors(self, value: list[Any], path: str, body: str, old: Any) -> Iterator[FieldError]:
        before = {self._key(item): item for item in old} if self._list_type == "map" and isinstance(old, list) else {}
        seen: set[bytes] = set()
        for index, item in enumerate(value):
            if self._list_type in ("map", "set"):
                key = self._key(item)
                if key in seen:
                    yield duplicate(f"{path}[{index}]", msgspec.json.decode(key))
                seen.add(key)
            if self._items is not None:
                last = before.get(self._key(item), _ABSENT) if before else _ABSENT
                yield from self._items.errors(item, f"{path}[{index}]", body=body, old=last)

    def _key(self, item: Any) -> bytes:
        if self._list_type == "map" and isinstance(item, dict):
            item = {name: item[name] for name in self._list_keys if name in item}
        return msgspec.json.encode(item, order="deterministic")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
