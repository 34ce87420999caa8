"""`RecordingEngine`: an engine that writes down every write that goes through it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.forwarding import WRITES, Call, ForwardingEngine
from dynamo_ctrl.engine.port import AnyKind, Engine
from dynamo_ctrl.objects.difference import changed_paths
from dynamo_ctrl.objects.key import Key, Ref

T = TypeVar("T")


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


class RecordingEngine(ForwardingEngine):
    """Hands everything on to `engine` and keeps the list `writes`. Meant for tests: it reads before and after each write."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.writes: list[Write] = []

    async def around(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Writes down what is written, and what came of it."""
        if call.verb not in WRITES:
            return await send()
        changes = call.verb in ("update", "patch")
        before = await self._content(call.kind, call.key) if changes else {}
        try:
            answer = await send()
        except EngineError as error:
            self._write(call, _asked(call), error=error)
            raise
        after = await self._content(call.kind, call.key) if changes else {}
        created = call.kind.decode(answer).ref if call.verb == "create" and isinstance(answer, bytes) else None
        self._write(call, created or _asked(call), tuple(changed_paths(before, after)))
        return answer

    def _write(self, call: Call, ref: Ref, paths: tuple[str, ...] = (), error: EngineError | None = None) -> None:
        self.writes.append(Write(verb=call.verb, ref=ref, subresource=call.subresource, paths=paths, error=error))

    async def _content(self, kind: AnyKind, key: Key) -> object:
        try:
            tree = msgspec.json.decode(await self.inner.get(kind, key))
        except EngineError:
            return {}
        for name in ("resourceVersion", "generation", "managedFields"):
            tree.get("metadata", {}).pop(name, None)
        return tree


def _asked(call: Call) -> Ref:
    """What was to be written; the body of a create knows its name."""
    if call.verb != "create":
        return call.kind.ref(call.key)
    return call.kind.ref(Key(call.key.namespace, call.kind.decode(call.body).metadata.name))
