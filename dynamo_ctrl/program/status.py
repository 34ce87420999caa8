"""The one status write of an attempt.

Contract: a merge patch of what differs, to the status subresource, bound to the (uid, generation, status) that were seen. If
only metadata moved in between, the same status is written again, `REWRITES` times at most; otherwise `Conflict`. Nothing is
sent when nothing differs.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.engine.errors import Conflict, NotFound
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch, merge_diff
from dynamo_ctrl.program.errors import ProgramFault

REWRITES: Final = 3
"""How often a status is written again because metadata moved."""

AnyObject = Object[Any, Any]


async def write_status(engine: Engine, written: Written, seen: AnyObject, status: Any) -> AnyObject | None:
    """Bring the status of `seen` to `status`, a value of the kind's status type or JSON data.

    Returns the object as the server has it then; `None` when nothing was sent or nothing changed.

    Raises:
        Conflict: the object is not the one that was seen: another generation, another status, or gone.
        ProgramFault: it is no such value.
        EngineError: the server refused, or did not answer.
    """
    kind, base = seen.kind, seen
    wanted = _encoded(kind, status)
    difference = merge_diff(status_tree(seen), wanted)
    if not difference:
        return None
    subresource = "status" if kind.status_subresource else ""
    for _ in range(1 + REWRITES):
        bound = {"uid": base.metadata.uid, "resourceVersion": base.metadata.resource_version}
        patch = Patch.merge({"metadata": bound, "status": difference})
        try:
            answer: AnyObject = kind.decode(await engine.patch(kind, seen.key, patch, subresource=subresource))
        except NotFound as error:
            raise _gone(seen, error) from error
        except Conflict:
            base = await _again(engine, seen)
            continue
        written.wrote(answer)
        return answer if answer.metadata.resource_version != base.metadata.resource_version else None
    raise Conflict(f"{seen.ref} moves faster than its status can be written")


class _Reported(msgspec.Struct, gc=False):
    status: Any = None


_REPORTED: Final = msgspec.json.Decoder(_Reported)


def status_tree(obj: AnyObject) -> dict[str, Any]:
    """The status of an object as plain JSON data; empty when it has none."""
    return _REPORTED.decode(obj.raw).status or {}


def _encoded(kind: Kind[Any], status: Any) -> dict[str, Any]:
    error: Exception | None = None
    try:
        wanted = kind.status_codec.encode(status)
        if isinstance(wanted, dict):
            return wanted
    except TypeError as unsupported:
        error = unsupported
    expected = "a value of the kind's status type or a JSON object"
    raise ProgramFault(f"status of {kind.kind} must be {expected}, got {type(status).__name__}") from error


async def _again(engine: Engine, seen: AnyObject) -> AnyObject:
    """The object as it is now, if only its metadata moved. Raises `Conflict` otherwise."""
    try:
        live: AnyObject = seen.kind.decode(await engine.get(seen.kind, seen.key))
    except NotFound as error:
        raise _gone(seen, error) from error
    same = (
        live.metadata.uid == seen.metadata.uid
        and live.metadata.generation == seen.metadata.generation
        and status_tree(live) == status_tree(seen)
    )
    if not same:
        raise Conflict(f"{seen.ref} changed since it was read")
    return live


def _gone(seen: AnyObject, error: NotFound) -> Exception:
    return Conflict(f"{seen.ref} is gone") if error.details.get("name") else error
