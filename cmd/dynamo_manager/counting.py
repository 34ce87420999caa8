"""An engine that counts what goes through it, for the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

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
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch


class Target(NamedTuple):
    """What a write was sent to. The name is empty where the server makes one."""

    kind: str
    key: Key
    subresource: str = ""


class CountingEngine:
    """Passes every call on to another engine and counts it, whatever comes of it.

    Attributes:
        requests: by verb; those for events are under `event`.
        writes: write requests by what they were sent to; events are left out, nobody converges on them.
    """

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.name = inner.name
        self.requests: Counter[str] = Counter()
        self.writes: Counter[Target] = Counter()

    def _write(self, verb: str, kind: AnyKind, key: Key, subresource: str = "") -> None:
        if kind == EVENT:
            self.requests["event"] += 1
        else:
            self.requests[verb] += 1
            self.writes[Target(kind.kind, key, subresource)] += 1

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """Counted as `list`."""
        self.requests["list"] += 1
        return await self.inner.list(kind, options)

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Counted as `watch`."""
        self.requests["watch"] += 1
        return self.inner.watch(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """Counted as `get`."""
        self.requests["get"] += 1
        return await self.inner.get(kind, key, subresource=subresource)

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Counted as `create`, and as a write of the object that is to be made."""
        self._write("create", kind, Key(namespace, kind.decode(body).metadata.name))
        return await self.inner.create(kind, namespace, body, strict=strict)

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Counted as `update` and as a write."""
        self._write("update", kind, key, subresource)
        return await self.inner.update(kind, key, body, subresource=subresource)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Counted as `patch` and as a write."""
        self._write("patch", kind, key, subresource)
        return await self.inner.patch(kind, key, patch, subresource=subresource, strict=strict)

    async def delete(
        self,
        kind: AnyKind,
        key: Key,
        *,
        preconditions: Preconditions | None = None,
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> bytes:
        """Counted as `delete` and as a write."""
        self._write("delete", kind, key)
        return await self.inner.delete(
            kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
        )

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """Counted as `discover`."""
        self.requests["discover"] += 1
        return await self.inner.discover(group, version)

    async def close(self) -> None:
        """Closes the inner engine."""
        await self.inner.close()
