"""What a patch and a status write make of an object."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.served import Served, Tree
from dynamo_ctrl.engine.memory.shape import ANYTHING, TEXT, Fields, Many, Mapped, Unreadable
from dynamo_ctrl.objects.patch import Patch, PatchError, PatchTestFailed, apply_json, merge

_MERGE: Final = Mapped(ANYTHING)
_OPERATION: Final = {"op": TEXT, "path": TEXT, "from": TEXT}
_OPERATIONS: Final = Many(Fields("handlers.jsonPatchOp", **_OPERATION))


def patched(tree: Tree, patch: Patch) -> Tree:
    """The tree after the patch.

    Raises:
        BadRequest: not JSON, or of the wrong shape.
        Conflict: a `test` did not hold.
        Invalid: the patch does not apply.
    """
    try:
        content = msgspec.json.decode(patch.body)
        (_MERGE if patch.type == "merge" else _OPERATIONS).check(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise failure.bad_request("invalid JSON patch") from error
    except Unreadable as fault:
        raise failure.bad_request(f"error decoding patch: {fault}") from fault
    if patch.type == "merge":
        result = merge(tree, content)
    else:
        try:
            result = _apply(tree, content)
        except PatchTestFailed as error:
            raise failure.test_failed() from error
        except PatchError as error:
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
