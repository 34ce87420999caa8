"""The refusals of the API server, word for word.

Every function returns the typed error with the reason, message, details and code that a real kube-apiserver answers, so
that whoever reads a message from the memory engine knows it from a real cluster. Nothing here decides when to refuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from dynamo_ctrl.engine.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooLargeResourceVersion,
)
from dynamo_ctrl.engine.memory.field_error import FieldError, invalid_value, quote
from dynamo_ctrl.engine.memory.served import Served

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_REFUSED = "the server rejected our request due to an error in our request"


def _details(served: Served | None, name: str = "", *, by_kind: bool = False, **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if served is not None:
        if served.group:
            details["group"] = served.group
        details["kind"] = served.kind if by_kind else served.plural
    return details | more


def invalid(served: Served, name: str, errors: Sequence[FieldError]) -> Invalid:
    """422 with its causes."""
    return _invalid(f"{served.kind}.{served.group}" if served.group else served.kind, name, errors,
                    _details(served, name, by_kind=True))  # fmt: skip


def invalid_options(errors: Sequence[FieldError]) -> Invalid:
    """422 for the options of a list or a watch."""
    return _invalid("ListOptions.meta.k8s.io", "", errors, {"group": "meta.k8s.io", "kind": "ListOptions"})


def _invalid(what: str, name: str, errors: Sequence[FieldError], details: dict[str, Any]) -> Invalid:
    told = [f"{error.field}: {error.message}" for error in errors]
    unique = list(dict.fromkeys(told))
    text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    causes = [{"reason": e.reason, "message": e.message, "field": e.field} for e in errors]
    return Invalid(f"{what} {quote(name)} is invalid: {text}", details={**details, "causes": causes})


def patch_refused() -> Invalid:
    """422 for a JSON patch that does not apply. The server says no more than this."""
    return Invalid(_REFUSED)


def test_failed() -> Conflict:
    """A JSON patch with tests that does not apply: the port tells it as a conflict (the server itself says 422)."""
    return Conflict(f"a test of the patch failed: {_REFUSED}")


def no_such_resource() -> NotFound:
    """404 for a resource, a version or a subresource that is not served by a group that is."""
    return NotFound("the server could not find the requested resource")


def no_such_group() -> NotFound:
    """404 for a group version that nobody serves. The server answers with plain text."""
    return NotFound("404 page not found")


def not_found(served: Served, name: str) -> NotFound:
    """404 for an object."""
    return NotFound(f"{served} {quote(name)} not found", details=_details(served, name))


def taken(served: Served, name: str, *, generated: bool, terminating: bool) -> AlreadyExists:
    """409 on create, with what more the server says about a generated name and about an object that is going away."""
    error = f"{served} {quote(name)} already exists"
    details = _details(served, name)
    if generated:
        details["retryAfterSeconds"] = 1
        error += ", the server was not able to generate a unique name for the object"
    if terminating:
        error = f"object is being deleted: {error}"
    return AlreadyExists(error, details=details)


def version_required(served: Served, name: str) -> Invalid:
    """422 for an update without a resourceVersion, for kinds that want one."""
    error = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
    return _invalid(str(served), name, [error], _details(served, name))


def wrong_kind(served: Served, name: str, kind: str) -> Invalid:
    """422 for an object of another kind, as custom resources answer it."""
    error = invalid_value("kind", kind, f"must be {served.kind}")
    details = {**_details(served, name, by_kind=True), "kind": kind}
    return _invalid(f"{kind}.{served.group}", name, [error], details)


def modified(served: Served, name: str) -> Conflict:
    """409 for a resourceVersion that is not the newest."""
    return Conflict(f"Operation cannot be fulfilled on {served} {quote(name)}: {MODIFIED}",
                    details=_details(served, name))  # fmt: skip


def other_uid(served: Served, path: str, name: str, given: str, found: str) -> Conflict:
    """409 for an update of an object that was deleted and created again."""
    registry = f"/registry/{served.storage}/{path}"
    return Conflict(
        f"Operation cannot be fulfilled on {served} {quote(name)}: StorageError: invalid object, Code: 4, Key: {registry}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {given}, "
        f"UID in object meta: {found}",
        details=_details(served, name),
    )


def precondition(
    served: Served, name: str, what: Literal["UID", "ResourceVersion"], given: str, found: str
) -> Conflict:
    """409 for a delete whose precondition does not hold."""
    hint = (
        "The object might have been deleted and then recreated"
        if what == "UID"
        else "The object might have been modified"
    )
    kind = f"{served.kind}.{served.group}" if served.group else served.kind
    return Conflict(
        f"Operation cannot be fulfilled on {kind} {quote(name)}: the {what} in the precondition ({given}) does not match "
        f"the {what} in record ({found}). {hint}",
        details=_details(served, name, by_kind=True),
    )


def bad_request(message: str) -> BadRequest:
    """400."""
    return BadRequest(message)


def unreadable(kind: str, version: str, fault: object) -> BadRequest:
    """400 for an object that the kind cannot be read from."""
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {fault}')


def unreadable_patch(changed: Any, fault: object) -> Invalid:
    """422 for the same after a patch; the server names no object here, and quotes the whole of it."""
    return _invalid("", "", [invalid_value("patch", msgspec.json.encode(changed).decode(), str(fault))], {})


def unknown_fields(paths: Iterable[str]) -> str:
    """What is wrong with an object that has fields which its kind does not have, where the client asked to be told."""
    return "strict decoding error: " + ", ".join(f"unknown field {quote(path)}" for path in paths)


def unknown_field(served: Served, path: str) -> BadRequest:
    """400 for a field selector that the resource does not offer."""
    if served.custom:
        return BadRequest(f"field label not supported: {path}")
    return BadRequest(f'{quote(path)} is not a known field selector: only "metadata.name", "metadata.namespace"')


def internal(message: str) -> ServerError:
    """500, as the server answers some malformed input. Nothing was written."""
    return ServerError(message)


def terminating(served: Served, name: str, namespace: str) -> Forbidden:
    """403 for new content in a namespace that goes away."""
    why = f"namespace {namespace} is being terminated"
    return Forbidden(
        f"{served} {quote(name)} is forbidden: unable to create new content in namespace {namespace} because it is being "
        "terminated",
        details=_details(served, name, causes=[{"reason": "NamespaceTerminating", "message": why,
                                                "field": "metadata.namespace"}]),
    )  # fmt: skip


def forbidden(served: Served, name: str, why: str) -> Forbidden:
    """403 for a write that a rule of the server forbids."""
    return Forbidden(f"{served} {quote(name)} is forbidden: {why}", details=_details(served, name))


def version_too_large(asked: int, current: int) -> TooLargeResourceVersion:
    """504 for a resourceVersion of the future."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return TooLargeResourceVersion(
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": causes, "retryAfterSeconds": 1},
        retry_after=1.0,
    )


def too_old(asked: int, oldest: int) -> Expired:
    """410 for a resourceVersion that history no longer reaches."""
    return Expired(f"too old resource version: {asked} ({oldest})")


def token_expired(token: str) -> Expired:
    """410 for a continue token that history no longer reaches, with a token that goes on inconsistently."""
    error = Expired(INCONSISTENT)
    error.continue_token = token
    return error


def version_expired() -> Expired:
    """410 for an exact list of a version that history no longer reaches."""
    return Expired("The resourceVersion for the provided list is too old.")
