"""`WriteGuard`: an engine that writes only while it is permitted to.

Contract (R 4, 40):

- Reads pass. A write passes while `left()` is positive, else it raises `WriteRefused` and nothing is sent.
- A write that is under way when the time runs out is given up at that moment: `Unanswered`, for it may have happened.
- Writes to the exempt objects always pass: what prolongs the permission must not need it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from dynamo_ctrl.engine.errors import Unanswered, WriteRefused
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
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.patch import Patch


class WriteGuard:
    """Goes around `engine`, which stays its owner's.

    Args:
        engine: carries out what is permitted.
        left: seconds for which writes are still permitted; zero or less refuses them. Asked before each write.
        why: completes "... was not sent: "; for errors.
        exempt: objects that may always be written.
    """

    def __init__(
        self,
        engine: Engine,
        left: Callable[[], float],
        *,
        why: str = "writes are not permitted now",
        exempt: Collection[Ref] = (),
    ) -> None:
        self.name = engine.name
        self._engine = engine
        self._left = left
        self._why = why
        self._exempt = frozenset(exempt)
        self._kinds = frozenset(ref.kind for ref in self._exempt)

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        return await self._engine.list(kind, options)

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        return self._engine.watch(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object as it is now, or its scale."""
        return await self._engine.get(kind, key, subresource=subresource)

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object. Raises `WriteRefused`."""
        key = _named(kind, namespace, body) if kind in self._kinds else Key(namespace, "(new)")
        async with self._permit("create", kind, key):
            return await self._engine.create(kind, namespace, body, strict=strict)

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale. Raises `WriteRefused`."""
        async with self._permit("update", kind, key):
            return await self._engine.update(kind, key, body, subresource=subresource)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource. Raises `WriteRefused`."""
        async with self._permit("patch", kind, key):
            return await self._engine.patch(kind, key, patch, subresource=subresource, strict=strict)

    async def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Delete an object. Raises `WriteRefused`."""
        async with self._permit("delete", kind, key):
            return await self._engine.delete(
                kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
            )

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version."""
        return await self._engine.discover(group, version)

    async def close(self) -> None:
        """Closes the engine beneath."""
        await self._engine.close()

    @asynccontextmanager
    async def _permit(self, verb: str, kind: AnyKind, key: Key) -> AsyncIterator[None]:
        if Ref(kind, key) in self._exempt:
            yield
            return
        left = self._left()
        if not left > 0:
            raise WriteRefused(f"{verb} {kind} {key} was not sent: {self._why}")
        timeout = asyncio.timeout(left if left < math.inf else None)
        try:
            async with timeout:
                yield
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise Unanswered(f"{verb} {kind} {key} was given up while it was under way: {self._why}") from error


def _named(kind: AnyKind, namespace: str, body: bytes) -> Key:
    return Key(namespace, kind.decode(body).metadata.name)
