"""`RecordingEngine`: an engine that writes down every write that goes through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec

from dynamo_ctrl.engine.errors import EngineError
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
from dynamo_ctrl.objects.difference import changed_paths
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.patch import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write that was sent.

    Attributes:
        verb: `create`, `update`, `patch` or `delete`.
        ref: the object; a create by `generateName` carries the name that the server made.
        subresource: empty, `status` or `scale`.
        paths: what differs between the object before and after, volatile metadata left out; empty for a write that changed
            nothing, for creates and for deletes.
        error: what the server raised, if it did.
    """

    verb: str
    ref: Ref
    subresource: str = ""
    paths: tuple[str, ...] = ()
    error: EngineError | None = None

    def __str__(self) -> str:
        target = f"{self.ref}/{self.subresource}" if self.subresource else str(self.ref)
        outcome = f" -> {type(self.error).__name__}" if self.error else ""
        return f"{self.verb} {target} {', '.join(self.paths)}{outcome}".strip()


class RecordingEngine:
    """Hands everything on to `engine` and keeps the list `writes`. Meant for tests: it reads before and after each write."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self.writes: list[Write] = []
        self._engine = engine

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        return await self._engine.list(kind, options)

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        return self._engine.watch(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object, or its scale."""
        return await self._engine.get(kind, key, subresource=subresource)

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version."""
        return await self._engine.discover(group, version)

    async def close(self) -> None:
        """Closes the engine beneath."""
        await self._engine.close()

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object."""
        wanted = kind.decode(body)
        try:
            answer = await self._engine.create(kind, namespace, body, strict=strict)
        except EngineError as error:
            self.writes.append(Write(verb="create", ref=kind.ref(Key(namespace, wanted.metadata.name)), error=error))
            raise
        self.writes.append(Write(verb="create", ref=kind.decode(answer).ref))
        return answer

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        before = await self._content(kind, key)
        try:
            answer = await self._engine.update(kind, key, body, subresource=subresource)
        except EngineError as error:
            self.writes.append(Write(verb="update", ref=kind.ref(key), subresource=subresource, error=error))
            raise
        await self._changed("update", kind, key, subresource, before)
        return answer

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource."""
        before = await self._content(kind, key)
        try:
            answer = await self._engine.patch(kind, key, patch, subresource=subresource, strict=strict)
        except EngineError as error:
            self.writes.append(Write(verb="patch", ref=kind.ref(key), subresource=subresource, error=error))
            raise
        await self._changed("patch", kind, key, subresource, before)
        return answer

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
        try:
            answer = await self._engine.delete(
                kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
            )
        except EngineError as error:
            self.writes.append(Write(verb="delete", ref=kind.ref(key), error=error))
            raise
        self.writes.append(Write(verb="delete", ref=kind.ref(key)))
        return answer

    async def _changed(self, verb: str, kind: AnyKind, key: Key, subresource: str, before: object) -> None:
        paths = tuple(changed_paths(before, await self._content(kind, key)))
        self.writes.append(Write(verb=verb, ref=kind.ref(key), subresource=subresource, paths=paths))

    async def _content(self, kind: AnyKind, key: Key) -> object:
        try:
            tree = msgspec.json.decode(await self._engine.get(kind, key))
        except EngineError:
            return {}
        for name in ("resourceVersion", "generation", "managedFields"):
            tree.get("metadata", {}).pop(name, None)
        return tree
