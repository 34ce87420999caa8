"""`MemoryEngine`: the core behind the asynchronous port.

Contract: no verb suspends (a coroutine of one runs to its end at the first `send(None)`); only the iteration of a watch
waits, and it is woken by the core's own writes. Faults and delays are wrappers around an engine, never flags in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from dynamo_ctrl.engine.errors import Unanswered, Unreachable
from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.history import Feed
from dynamo_ctrl.engine.port import (
    AnyKind,
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

MIN_WAIT: Final = 0.001
"""Seconds that a watch sleeps at least when only time can bring something."""


class MemoryEngine:
    """An `Engine` over a `Core` of this process. Several engines may share one core, as clients share a server."""

    name = "memory"

    def __init__(self, core: Core | None = None) -> None:
        self.core = core or Core()
        self._feeds: set[Feed] = set()
        self._closed = False

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        return self._open().list(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object as it is now, or its scale."""
        return self._open().get(kind, key, subresource=subresource)

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object."""
        return self._open().create(kind, namespace, body, strict=strict)

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        return self._open().update(kind, key, body, subresource=subresource)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object, its status or its scale."""
        return self._open().patch(kind, key, patch, subresource=subresource, strict=strict)

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
        return self._open().delete(
            kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
        )

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version."""
        return self._open().discover(group, version)

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        return self._watch(kind, options)

    async def close(self) -> None:
        """End every watch of this engine. The core and its objects stay."""
        self._closed = True
        for feed in tuple(self._feeds):
            feed.close()

    def _open(self) -> Core:
        if self._closed:
            raise Unreachable("the memory engine is closed")
        return self.core

    @asynccontextmanager
    async def _watch(self, kind: AnyKind, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        feed = self._open().watch(kind, options)
        self._feeds.add(feed)
        try:
            yield self._events(feed, options.idle)
        finally:
            self._feeds.discard(feed)
            feed.close()

    async def _events(self, feed: Feed, idle: float) -> AsyncIterator[WatchEvent]:
        ready = asyncio.Event()
        feed.on_ready = ready.set
        clock = self.core.clock
        last = clock.monotonic()
        while not feed.closed:
            ready.clear()
            events = feed.take()
            for event in events:
                yield event
            now = clock.monotonic()
            if events:
                last = now
                continue
            moments = [moment for moment in (feed.due, last + idle if idle > 0 else None) if moment is not None]
            if idle > 0 and now >= last + idle:
                raise Unanswered(f"watch: no event within {idle:g} s")
            try:
                async with asyncio.timeout(max(MIN_WAIT, min(moments) - now) if moments else None):
                    await ready.wait()
            except TimeoutError:
                continue
        if self._closed:
            raise Unreachable("the memory engine is closed")
