"""An engine that counts what goes through it, for the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, TypeVar

from dynamo_ctrl.engine.forwarding import WRITES, Call, ForwardingEngine
from dynamo_ctrl.engine.port import AnyKind, Engine, Resource, WatchEvent, WatchOptions
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key

T = TypeVar("T")


class Target(NamedTuple):
    """What a write was sent to. The name is empty where the server makes one."""

    kind: str
    key: Key
    subresource: str = ""


class CountingEngine(ForwardingEngine):
    """Passes every call on to another engine and counts it, whatever comes of it.

    Attributes:
        requests: by verb; those for events are under `event`.
        writes: write requests by what they were sent to; events are left out, nobody converges on them.
    """

    def __init__(self, inner: Engine) -> None:
        super().__init__(inner)
        self.requests: Counter[str] = Counter()
        self.writes: Counter[Target] = Counter()

    async def around(self, call: Call, send: Callable[[], Awaitable[T]]) -> T:
        """Counted under its verb, and a write also under what it is sent to."""
        if call.verb in WRITES and call.kind == EVENT:
            self.requests["event"] += 1
        else:
            self.requests[call.verb] += 1
            if call.verb in WRITES:
                self.writes[_target(call)] += 1
        return await send()

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Counted as `watch`."""
        self.requests["watch"] += 1
        return super().watch(kind, options)

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """Counted as `discover`."""
        self.requests["discover"] += 1
        return await super().discover(group, version)


def _target(call: Call) -> Target:
    key = call.key
    if call.verb == "create":
        key = Key(key.namespace, call.kind.decode(call.body).metadata.name)
    return Target(call.kind.kind, key, call.subresource)
