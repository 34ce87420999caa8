"""What can go wrong between us and an API server, as types.

`from_status` is the one place where an HTTP status and a `metav1.Status` body become a type; both engines use it, so that
"not found" means the same thing everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from dynamo_ctrl.objects.frozen import EMPTY, JsonMap, freeze


class EngineError(Exception):
    """An answer that is not a success, or no answer at all.

    Attributes:
        code: HTTP status, 0 when there was no answer.
        reason: the machine-readable `reason` of the Status.
        message: the human-readable text.
        details: the `details` of the Status, frozen.
        retry_after: seconds that the server asked to wait, if it did.
    """

    default_code: ClassVar[int] = 500
    default_reason: ClassVar[str] = "InternalError"
    maybe_done: ClassVar[bool] = False
    """Whether a write that failed like this may have been carried out all the same."""

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        reason: str | None = None,
        details: JsonMap = EMPTY,
        retry_after: float | None = None,
    ) -> None:
        self.message = message
        self.code = self.default_code if code is None else code
        self.reason = self.default_reason if reason is None else reason
        self.details: JsonMap = freeze(details)
        self.retry_after = retry_after
        super().__init__(message)

    def status(self) -> dict[str, Any]:
        """The error as a `metav1.Status` object."""
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": self.message, "reason": self.reason}
        if self.details:
            status["details"] = self.details
        return {**status, "code": self.code}


class Unreachable(EngineError):
    """The request was not sent: no connection, name not resolved, TLS refused."""

    default_code, default_reason = 0, "Unreachable"


class Untrusted(Unreachable):
    """The request was not sent: the server's certificate is not one that we trust. Trying again cannot help."""

    default_reason = "Untrusted"


class Unanswered(EngineError):
    """The request was sent and no answer came: time-out, or the connection broke. A write may have happened."""

    default_code, default_reason, maybe_done = 0, "Unanswered", True


class BadRequest(EngineError):
    """400: the server could not read the request."""

    default_code, default_reason = 400, "BadRequest"


class Unauthorized(EngineError):
    """401: no valid credentials."""

    default_code, default_reason = 401, "Unauthorized"


class Forbidden(EngineError):
    """403: the credentials are known and lack the right, or an admission policy refused, or the namespace is going."""

    default_code, default_reason = 403, "Forbidden"

    @property
    def namespace_terminating(self) -> bool:
        """Whether no right is missing: the namespace is being deleted, and takes nothing new."""
        causes = self.details.get("causes") or ()
        return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


class NotFound(EngineError):
    """404: no such object, or no such resource (`details.name` is empty then)."""

    default_code, default_reason = 404, "NotFound"


class MethodNotAllowed(EngineError):
    """405: the resource does not know that verb."""

    default_code, default_reason = 405, "MethodNotAllowed"


class AlreadyExists(EngineError):
    """409 on create: the name is taken."""

    default_code, default_reason = 409, "AlreadyExists"


class Conflict(EngineError):
    """409: the object is not the one that the write was made for (resourceVersion, uid, or a failed JSON-patch test)."""

    default_code, default_reason = 409, "Conflict"


class Expired(EngineError):
    """410: the resourceVersion or the continue token is too old.

    Attributes:
        continue_token: a token that goes on with an inconsistent list, empty when the server offers none.
    """

    default_code, default_reason = 410, "Expired"
    continue_token: str = ""

    def status(self) -> dict[str, Any]:
        """The error as a `metav1.Status` object, with the token that it offers."""
        status = super().status()
        return {**status, "metadata": {"continue": self.continue_token}} if self.continue_token else status


class TooLarge(EngineError):
    """413: the object is larger than the server takes."""

    default_code, default_reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(EngineError):
    """415: a patch format that the resource does not take."""

    default_code, default_reason = 415, "UnsupportedMediaType"


class Invalid(EngineError):
    """422: the content breaks a rule; `details.causes` names the fields."""

    default_code, default_reason = 422, "Invalid"


class TooManyRequests(EngineError):
    """429: throttled; `retry_after` says for how long."""

    default_code, default_reason = 429, "TooManyRequests"


class ServerError(EngineError):
    """500 and other server faults. A write may have happened."""

    default_code, default_reason, maybe_done = 500, "InternalError", True


class MalformedAnswer(ServerError):
    """What came is no HTTP, no JSON, or encoded as nobody asked for. A write may have happened."""

    default_code, default_reason = 0, "MalformedAnswer"


class Unavailable(EngineError):
    """502, 503: the server cannot serve now. A write may have happened, since a proxy before it may be who says so.

    Only a 503 with a Retry-After is certain to come from a server that turned the request away; engines send that again.
    """

    default_code, default_reason, maybe_done = 503, "ServiceUnavailable", True


class ServerTimeout(EngineError):
    """504: the server gave up. A write may have happened."""

    default_code, default_reason, maybe_done = 504, "Timeout", True


class TooLargeResourceVersion(ServerTimeout):
    """504 with the cause `ResourceVersionTooLarge`: the server has not reached the version that was asked for."""


class UnsupportedKind(EngineError):
    """The engine cannot speak about this kind at all (no such API): 404 without an object name."""

    default_code, default_reason = 404, "NotFound"


class WriteRefused(EngineError):
    """A write that the engine itself refused to send: lost leadership, or an object outside the cache's selector."""

    default_code, default_reason = 0, "WriteRefused"


_BY_REASON: Mapping[str, type[EngineError]] = {
    cls.default_reason: cls
    for cls in (
        BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, AlreadyExists, Conflict, Expired, TooLarge,
        UnsupportedMediaType, Invalid, TooManyRequests, ServerError, Unavailable,
    )
} | {"Gone": Expired, "Timeout": ServerTimeout, "ServerTimeout": ServerTimeout}  # fmt: skip

_BY_CODE: Mapping[int, type[EngineError]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: MethodNotAllowed, 409: Conflict, 410: Expired,
    413: TooLarge, 415: UnsupportedMediaType, 422: Invalid, 429: TooManyRequests, 502: Unavailable, 503: Unavailable,
    504: ServerTimeout,
}  # fmt: skip


def from_status(code: int, body: bytes | JsonMap, *, retry_after: float | None = None) -> EngineError:
    """The typed error for an HTTP status and its body, which may be a Status object or anything else."""
    status: Any = body
    if isinstance(body, bytes):
        try:
            status = msgspec.json.decode(body)
        except msgspec.DecodeError:
            status = None
    if not isinstance(status, Mapping) or status.get("kind") != "Status":
        text = body[:512].decode(errors="replace").strip() if isinstance(body, bytes) else str(body)
        cls = _BY_CODE.get(code, ServerError)
        return cls(text or f"HTTP {code}", code=code, retry_after=retry_after)
    reason = status.get("reason") or ""
    details = status.get("details") or {}
    real = status.get("code") or code
    cls = _BY_REASON.get(reason) or _BY_CODE.get(real, ServerError)
    message = status.get("message") or reason or f"HTTP {real}"
    causes = details.get("causes") or ()
    too_large = any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)
    if cls is ServerTimeout and (too_large or "Too large resource version" in message):
        cls = TooLargeResourceVersion
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    error = cls(message, code=real, reason=reason or None, details=details, retry_after=retry_after)
    if isinstance(error, Expired):
        error.continue_token = (status.get("metadata") or {}).get("continue") or ""
    return error
