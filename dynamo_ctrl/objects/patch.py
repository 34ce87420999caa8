"""Merge patches (RFC 7386) and JSON patches (RFC 6902).

Everything here is pure: trees that are given are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from dynamo_ctrl.objects.difference import changed_paths, same
from dynamo_ctrl.objects.frozen import JsonMap, thaw

PatchType = Literal["merge", "json"]


class PatchError(ValueError):
    """A JSON patch that cannot be applied."""


class PatchTestFailed(PatchError):
    """A `test` operation found another value: the object is not the one that the patch was made for."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch, ready to be sent.

    Attributes:
        type: which of the two formats.
        body: the JSON text.
        tests: whether a JSON patch carries `test` operations; a server that refuses it (422) then means "conflict".
    """

    type: PatchType
    body: bytes
    tests: bool = False

    @classmethod
    def merge(cls, content: JsonMap) -> Patch:
        """A merge patch; `None` removes a field."""
        return cls("merge", msgspec.json.encode(content))

    @classmethod
    def json(cls, operations: Sequence[JsonMap]) -> Patch:
        """A JSON patch of those operations."""
        return cls("json", msgspec.json.encode(operations), any(o.get("op") == "test" for o in operations))

    def apply(self, tree: Any) -> Any:
        """The patched tree. Raises `PatchError` (a JSON patch only)."""
        content = msgspec.json.decode(self.body)
        return merge(tree, content) if self.type == "merge" else apply_json(tree, content)


def merge(base: Any, patch: Any) -> Any:
    """`base` after the merge patch `patch`; a new tree."""
    if not isinstance(patch, Mapping):
        return thaw(patch)
    result = dict(base) if isinstance(base, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def merge_diff(old: JsonMap, new: JsonMap) -> dict[str, Any]:
    """The smallest merge patch that turns `old` into `new`; empty when they are equal.

    A merge patch cannot write `null`: a `None` in `new` counts as absent.
    """
    patch: dict[str, Any] = {}
    for key in old.keys() | new.keys():
        before, after = old.get(key), new.get(key)
        if same(before, after):
            continue
        if after is None:
            if before is not None:
                patch[key] = None
        elif isinstance(before, Mapping) and isinstance(after, Mapping):
            inner = merge_diff(before, after)
            if inner:
                patch[key] = inner
        elif next(changed_paths(before, after), None) is not None:  # to Python 1 equals True, to JSON it does not
            patch[key] = thaw(after)
    return patch


def escape(token: str) -> str:
    """One token of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer(*tokens: str | int) -> str:
    """The JSON pointer of a path."""
    return "".join(f"/{escape(str(token))}" for token in tokens)


def apply_json(tree: Any, operations: Sequence[JsonMap]) -> Any:
    """`tree` after the JSON patch; a new tree. All or nothing.

    Raises:
        PatchTestFailed: a `test` did not hold.
        PatchError: a path does not exist or an operation is malformed.
    """
    result = thaw(tree)
    for operation in operations:
        result = _operate(result, operation)
    return result


def _operate(tree: Any, operation: JsonMap) -> Any:
    name, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str):
        raise PatchError(f"operation {name!r} has no path")
    if name in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(f"operation {name!r} at {path!r} has no value")
    match name:
        case "add":
            return _add(tree, path, thaw(operation["value"]))
        case "replace":
            _get(tree, path)
            return _add(_remove(tree, path), path, thaw(operation["value"])) if path else thaw(operation["value"])
        case "remove":
            return _remove(tree, path)
        case "test":
            try:
                found = _get(tree, path)
            except PatchError:
                found = None
            if next(changed_paths(found, operation["value"]), None) is not None:
                raise PatchTestFailed(f"test failed at {path!r}")
            return tree
        case "move" | "copy":
            source = operation.get("from")
            if not isinstance(source, str):
                raise PatchError(f"operation {name!r} at {path!r} has no source")
            value = thaw(_get(tree, source))
            return _add(_remove(tree, source) if name == "move" else tree, path, value)
        case _:
            raise PatchError(f"unknown operation {name!r}")


def _tokens(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchError(f"not a JSON pointer: {path!r}")
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _get(tree: Any, path: str) -> Any:
    for token in _tokens(path):
        if isinstance(tree, dict) and token in tree:
            tree = tree[token]
        elif isinstance(tree, list):
            tree = tree[_index(token, len(tree) - 1, path)]
        else:
            raise PatchError(f"no such path: {path!r}")
    return tree


def _index(token: str, last: int, path: str) -> int:
    if not token.isdecimal() or (len(token) > 1 and token[0] == "0") or int(token) > last:
        raise PatchError(f"no such index: {path!r}")
    return int(token)


def _parent(tree: Any, path: str) -> tuple[Any, str]:
    tokens = _tokens(path)
    return _get(tree, "".join(f"/{escape(token)}" for token in tokens[:-1])), tokens[-1]


def _add(tree: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    parent, token = _parent(tree, path)
    if isinstance(parent, dict):
        parent[token] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if token == "-" else _index(token, len(parent), path), value)  # noqa: S105
    else:
        raise PatchError(f"no such path: {path!r}")
    return tree


def _remove(tree: Any, path: str) -> Any:
    if not path:
        return None
    _get(tree, path)
    parent, token = _parent(tree, path)
    del parent[token if isinstance(parent, dict) else int(token)]
    return tree
