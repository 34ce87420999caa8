"""What a patch and a status write make of an object."""

from __future__ import annotations

from typing import Any

import msgspec

from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.objects.patch import Patch, PatchError, PatchTestFailed, apply_json, merge

_GO_TYPES = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def patched(tree: Tree, patch: Patch) -> Tree:
    """The tree after the patch.

    Raises:
        BadRequest: not JSON, or of the wrong shape.
        Conflict: a `test` did not hold.
        Invalid: the patch does not apply.
    """
    try:
        content = msgspec.json.decode(patch.body)
    except msgspec.DecodeError as error:
        raise failure.bad_request("invalid JSON patch") from error
    if patch.type == "merge":
        if not isinstance(content, dict):
            raise _wrong_shape(content, "map[string]interface {}")
        result = merge(tree, content)
    else:
        if not isinstance(content, list):
            raise _wrong_shape(content, "[]handlers.jsonPatchOp")
        try:
            result = _apply(tree, content)
        except PatchTestFailed as error:
            raise failure.test_failed() from error
        except (PatchError, AttributeError) as error:
            refusal = failure.test_failed() if patch.tests else failure.patch_refused()
            raise refusal from error
    if not isinstance(result, dict):
        raise failure.patch_refused()
    return result


def _apply(tree: Tree, operations: list[Any]) -> Any:
    """The JSON patch as the server applies it: `replace` of a key that is not there adds it."""
    if not any(operation.get("op") == "replace" for operation in operations):
        return apply_json(tree, operations)
    result: Any = tree
    for operation in operations:
        if operation.get("op") == "replace" and _is_new_key(result, operation.get("path")):
            result = apply_json(result, [{**operation, "op": "add"}])
        else:
            result = apply_json(result, [operation])
    return result


def _is_new_key(tree: Any, path: Any) -> bool:
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    *parents, last = (token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:])
    for token in parents:
        if isinstance(tree, list) and token.isdecimal() and int(token) < len(tree):
            tree = tree[int(token)]
        elif isinstance(tree, dict):
            tree = tree.get(token)
        else:
            return False
    return isinstance(tree, dict) and last not in tree


def _wrong_shape(content: Any, wanted: str) -> Exception:
    found = "nil" if content is None else _GO_TYPES[type(content)]
    return failure.bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go value of type {wanted}")


def with_status(served: Served, old: Tree, sent: Tree) -> Tree:
    """The object after a write of its status: for custom resources nothing else counts, for built-in ones metadata does."""
    new = dict(old)
    if not served.custom:
        new["metadata"] = sent["metadata"]
    if "status" in sent:
        new["status"] = sent["status"]
    else:
        new.pop("status", None)
    return new


def without_status(new: Tree, old: Tree) -> None:
    """Put the old status in place of the one that was sent."""
    if "status" in old:
        new["status"] = old["status"]
    else:
        new.pop("status", None)
