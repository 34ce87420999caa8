"""The port to a cluster. Everything above it speaks to an API server through `Engine` and nothing else.

Contract of every engine, proved by `tests/conformance`:

- Bytes in, bytes out: objects travel as JSON text, one `bytes` for each; nothing here decodes a spec.
- A method returns the server's answer or raises a subclass of `EngineError`; it never returns a Status in place of an object.
- Every request has a deadline. A request that was sent and not answered raises `Unanswered` (or another error whose
  `maybe_done` is true): a write may have happened.
- 429 and 5xx are retried within a bound where that is safe; what is raised has been retried already.
- Cancellation is passed on at once and leaves no connection and no task behind.
- An engine is used from one event loop, by any number of tasks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
Propagation = Literal["Background", "Foreground", "Orphan"]
VersionMatch = Literal["", "Exact", "NotOlderThan"]

AnyKind = Kind[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What to list.

    Attributes:
        namespace: one namespace; empty for all, and for kinds of cluster scope.
        label_selector: in query form.
        field_selector: in query form.
        limit: page size, 0 for everything in one answer.
        continue_token: token of the page before; `resource_version` must be empty then.
        resource_version: "" the newest, "0" any, else not older than (or as `match` says).
        match: meaning of `resource_version`.
    """

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: VersionMatch = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a list: the items' JSON texts (independent copies), the list's version, and how to go on."""

    items: Sequence[bytes]
    resource_version: str
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """What to watch, and from where.

    Attributes:
        resource_version: events after this version; "" or "0" replays what exists first, in no order of versions.
        bookmarks: ask for BOOKMARK events.
        timeout: seconds after which the server ends the watch (a normal end).
        idle: seconds without any event after which the engine ends the watch with `Unanswered`; 0 for never.
        send_initial: ask for the streaming initial list.
    """

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    bookmarks: bool = True
    timeout: float = 290.0
    idle: float = 0.0
    send_initial: bool = False


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event. `object` is the JSON text of the object, of a Status for ERROR, or of a bare object for BOOKMARK."""

    type: EventType
    object: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Preconditions:
    """What must still be true of an object for a delete to be carried out; empty values ask for nothing."""

    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served resource, as discovery tells it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()


class Engine(Protocol):
    """A connection to one cluster."""

    name: str
    """The entry point's name: `kubernetes`, `memory`."""

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects. Raises `Expired` for a token or version that is too old."""

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events. Opening it raises as a list does; the iterator ends when the server ends the watch.

        ERROR events are yielded, not raised: what they mean is for the watcher to decide.
        """

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object as it is now (a quorum read), or its `scale`."""

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object; returns it as the server stored it. `generateName` is honoured. Raises `AlreadyExists`.

        A field that the kind does not have is left out by the server. With `strict` it is refused instead (`BadRequest`); for
        built-in kinds an engine may know the fields of an object's first level and of its metadata only.
        """

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its `status` or its `scale`. A resourceVersion in the body is a precondition (`Conflict`)."""

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource. A failed `test` raises `Conflict`; `strict` is as for `create` (`Invalid`)."""

    async def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Delete an object. Returns its last state if finalizers, dependants or grace hold it, else that or a Status.

        `grace_seconds` (0 for at once) takes the place of the grace that the object itself asks for; only Pods have one.
        """

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version. Raises `NotFound` where the group version is not served."""

    async def close(self) -> None:
        """Give back every connection. Idempotent; running requests end with `Unreachable`."""
