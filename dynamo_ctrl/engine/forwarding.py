"""`ForwardingEngine`: an engine that goes around another one and sees every call that passes.

Contract: each call reaches the inner engine as it was made, at most once, within `around`; what the inner engine answers or
raises comes out unless `around` says otherwise. A watch and a discovery have a method of their own: the first is opened, not
awaited, the second concerns no object.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from dynamo_ctrl.engine.port import (
    AnyKind,
    Engine,
    ListOptions,
    Page,
    Preconditions,
    Propagation,
    Resource,
    WatchEvent,
    WatchOptions,
)
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

T = TypeVar("T")

Verb: TypeAlias = Literal["list", "watch", "get", "create", "update", "patch", "delete"]

WRITES: frozenset[Verb] = frozenset({"create", "update", "patch", "delete"})
"""The verbs that change something."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call on its way.

    Attributes:
        verb: what is asked for.
        kind: of which kind.
        key: of which object. The name is empty for a create, whose `body` has it (or leaves it to the server), and for a list.
        subresource: empty, `status` or `scale`.
        body: the object of a create or an update.
    """

    verb: Verb
    kind: AnyKind
    key: Key
    subresource: str = ""
    body: bytes = b""


class ForwardingEngine:
    """Passes every call on to `inner`, which stays its owner's. Subclasses override `around`."""

    def __init__(self, inner: Engine) -> None:
        self.name = inner.name
        self.inner = inner

    async def around(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Carries out one call: `send` sends it and gives the answer, or raises what the inner engine raises."""
        return await send()

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        return await self.around(Call("list", kind, Key("", "")), partial(self.inner.list, kind, options))

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        return self.inner.watch(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object as it is now, or its scale."""
        send = partial(self.inner.get, kind, key, subresource=subresource)
        return await self.around(Call("get", kind, key, subresource), send)

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object."""
        send = partial(self.inner.create, kind, namespace, body, strict=strict)
        return await self.around(Call("create", kind, Key(namespace, ""), body=body), send)

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        send = partial(self.inner.update, kind, key, body, subresource=subresource)
        return await self.around(Call("update", kind, key, subresource, body), send)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource."""
        send = partial(self.inner.patch, kind, key, patch, subresource=subresource, strict=strict)
        return await self.around(Call("patch", kind, key, subresource), send)

    async def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Delete an object."""
        send = partial(
            self.inner.delete,
            kind,
            key,
            preconditions=preconditions,
            propagation=propagation,
            grace_seconds=grace_seconds,
        )
        return await self.around(Call("delete", kind, key), send)

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version."""
        return await self.inner.discover(group, version)

    async def close(self) -> None:
        """Closes the engine beneath."""
        await self.inner.close()
