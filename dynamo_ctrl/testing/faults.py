"""`FaultyEngine`: an engine that fails, or lets something happen in between, where a test says so.

    engine = FaultyEngine(MemoryEngine(core))
    engine.fail(Unanswered("lost"), "create", DEPLOYMENT, after=True)      # done, but the answer is lost
    engine.interleave(lambda: cache.edit(...), "patch", subresource="status")

Faults are used up in the order in which they were planned; what no fault matches goes through.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, TypeAlias

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

Verb: TypeAlias = Literal["list", "watch", "get", "create", "update", "patch", "delete"]


@dataclass(slots=True)
class _Fault:
    verb: Verb
    kind: AnyKind | None
    subresource: str | None
    left: int
    happens: Callable[[], object]
    after: bool

    def matches(self, verb: Verb, kind: AnyKind, subresource: str) -> bool:
        return (
            self.left > 0
            and self.verb == verb
            and (self.kind is None or self.kind == kind)
            and (self.subresource is None or self.subresource == subresource)
        )


class FaultyEngine:
    """Hands everything on to `engine`, except for what was planned."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self._engine = engine
        self._faults: list[_Fault] = []

    def fail(
        self,
        error: Exception,
        verb: Verb,
        kind: AnyKind | None = None,
        *,
        subresource: str | None = None,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Raise `error` in place of the next `times` matching requests; with `after` the request is carried out all the same."""

        def raises() -> None:
            raise error

        self._faults.append(_Fault(verb, kind, subresource, times, raises, after))

    def interleave(
        self,
        happens: Callable[[], object],
        verb: Verb,
        kind: AnyKind | None = None,
        *,
        subresource: str | None = None,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Let something happen right before (or after) the next `times` matching requests."""
        self._faults.append(_Fault(verb, kind, subresource, times, happens, after))

    @property
    def pending(self) -> int:
        """How many planned faults have not come yet."""
        return sum(fault.left for fault in self._faults)

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        fault = self._before("list", kind)
        answer = await self._engine.list(kind, options)
        self._after(fault)
        return answer

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        self._after(self._before("watch", kind))
        return self._engine.watch(kind, options)

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object, or its scale."""
        fault = self._before("get", kind, subresource)
        answer = await self._engine.get(kind, key, subresource=subresource)
        self._after(fault)
        return answer

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object."""
        fault = self._before("create", kind)
        answer = await self._engine.create(kind, namespace, body, strict=strict)
        self._after(fault)
        return answer

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        fault = self._before("update", kind, subresource)
        answer = await self._engine.update(kind, key, body, subresource=subresource)
        self._after(fault)
        return answer

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource."""
        fault = self._before("patch", kind, subresource)
        answer = await self._engine.patch(kind, key, patch, subresource=subresource, strict=strict)
        self._after(fault)
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
        fault = self._before("delete", kind)
        answer = await self._engine.delete(
            kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
        )
        self._after(fault)
        return answer

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version."""
        return await self._engine.discover(group, version)

    async def close(self) -> None:
        """Closes the engine beneath."""
        await self._engine.close()

    def _before(self, verb: Verb, kind: AnyKind, subresource: str = "") -> _Fault | None:
        """The fault that this request meets, used up; what is to happen before it has happened."""
        fault = next((fault for fault in self._faults if fault.matches(verb, kind, subresource)), None)
        if fault is None:
            return None
        fault.left -= 1
        if fault.after:
            return fault
        fault.happens()
        return None

    def _after(self, fault: _Fault | None) -> None:
        if fault is not None:
            fault.happens()
