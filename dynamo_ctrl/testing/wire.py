"""`Wire`: the engine of one process of a simulation: what it asks of the server, and is told, goes through the weather.

Contract:

- A request travels by itself: once sent it reaches the server whether its sender still waits or not, is frozen, or is dead. So a
  write may be carried out whose answer nobody gets.
- A request that is not answered in time ends as `Unanswered`; where nobody listens, at once as `Unreachable`.
- A watch tells the server's events in order, unless the weather decides otherwise, and breaks as the weather or the server says.
- `silence` cuts the process off without a word: what it sends does not arrive, and it hears nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeVar

import msgspec

from dynamo_ctrl.engine.errors import EngineError, Unanswered, Unreachable
from dynamo_ctrl.engine.forwarding import Verb
from dynamo_ctrl.engine.memory import failure
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
from dynamo_ctrl.testing.server import Server
from dynamo_ctrl.testing.weather import WRITES, Asked, Break, Fate, Told, Weather

T = TypeVar("T")

REQUEST_TIMEOUT: Final = 30.0
"""Seconds after which a request without an answer is given up."""

MIN_WAIT: Final = 0.001
"""Seconds that a watch sleeps at least when only time can bring something."""


DEAF: Final = 1.0
"""Seconds between two looks whether a line that is cut off is still so."""


class Wire:
    """See the module.

    Args:
        server: at the other end.
        who: the process.
        weather: on the way.

    Attributes:
        sent: how many requests were sent, those about Leases included.
        told: how many events came, over all watches.
        silent: whether it is cut off.
    """

    name = "memory"

    def __init__(self, server: Server, who: str, weather: Weather | None = None) -> None:
        self.weather = weather if weather is not None else Weather()
        self.sent = self.told = 0
        self.silent = False
        self._server = server
        self._who = who
        self._outside = contextvars.Context()

    def silence(self) -> None:
        """Cut off, until `restore`."""
        self.silent = True

    def restore(self) -> None:
        """Not cut off any more."""
        self.silent = False

    # -- requests

    async def list(self, kind: AnyKind, options: ListOptions) -> Page:
        """One page of objects."""
        return await self._ask("list", kind, Key(options.namespace, ""), lambda: self._server.list(kind, options))

    async def get(self, kind: AnyKind, key: Key, *, subresource: str = "") -> bytes:
        """One object, or its scale."""
        core = self._server.core
        return await self._ask("get", kind, key, lambda: core.get(kind, key, subresource=subresource), subresource)

    async def create(self, kind: AnyKind, namespace: str, body: bytes, *, strict: bool = False) -> bytes:
        """Create an object."""
        core, key = self._server.core, Key(namespace, kind.decode(body).metadata.name)
        return await self._ask("create", kind, key, lambda: core.create(kind, namespace, body, strict=strict))

    async def update(self, kind: AnyKind, key: Key, body: bytes, *, subresource: str = "") -> bytes:
        """Replace an object, its status or its scale."""
        core = self._server.core
        carry_out = lambda: core.update(kind, key, body, subresource=subresource)  # noqa: E731
        return await self._ask("update", kind, key, carry_out, subresource)

    async def patch(
        self, kind: AnyKind, key: Key, patch: Patch, *, subresource: str = "", strict: bool = False
    ) -> bytes:
        """Patch an object or a subresource."""
        core = self._server.core
        carry_out = lambda: core.patch(kind, key, patch, subresource=subresource, strict=strict)  # noqa: E731
        return await self._ask("patch", kind, key, carry_out, subresource)

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
        core = self._server.core
        carry_out = lambda: core.delete(  # noqa: E731
            kind, key, preconditions=preconditions, propagation=propagation, grace_seconds=grace_seconds
        )
        return await self._ask("delete", kind, key, carry_out)

    async def discover(self, group: str, version: str) -> tuple[Resource, ...]:
        """The resources of one group version. The weather has no eye for this."""
        await asyncio.sleep(0)
        if self.silent or not self._server.listens:
            raise Unreachable("connection refused")
        return self._server.core.discover(group, version)

    async def close(self) -> None:
        """Nothing is to be given back."""

    async def _ask(self, verb: Verb, kind: AnyKind, key: Key, carry_out: Callable[[], T], subresource: str = "") -> T:
        asked = self._send(verb, kind, key, subresource)
        fate = self.weather.request(asked)
        if not self._server.listens:
            raise Unreachable("connection refused")
        answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._later(fate.there, self._arrive, asked, fate, carry_out, answered)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                return await answered
        except TimeoutError:
            raise Unanswered(f"no answer within {REQUEST_TIMEOUT:g} s") from None

    def _send(self, verb: Verb, kind: AnyKind, key: Key, subresource: str = "") -> Asked:
        self.sent += 1
        now = asyncio.get_running_loop().time()
        return Asked(number=self.sent, at=now, verb=verb, kind=kind, key=key, subresource=subresource)

    def _later(self, seconds: float, happens: Callable[..., None], *arguments: Any) -> None:
        """Call it from outside of every process."""
        loop = asyncio.get_running_loop()
        if seconds > 0:
            loop.call_later(seconds, happens, *arguments, context=self._outside)
        else:
            loop.call_soon(happens, *arguments, context=self._outside)

    def _arrive(self, asked: Asked, fate: Fate, carry_out: Callable[[], T], answered: asyncio.Future[T]) -> None:
        if self.silent:
            return
        error: EngineError | None = fate.instead
        answer: T | None = None
        if not self._server.listens:
            error = Unanswered("the connection broke")
        elif error is None:
            try:
                answer = self._carried_out(asked, carry_out, answered)
            except EngineError as refused:
                error = refused
        if fate.lost and fate.instead is None:
            error = Unanswered("the answer is lost")
        self._later(fate.back, self._answer, answered, answer, error)

    def _carried_out(self, asked: Asked, carry_out: Callable[[], Any], answered: asyncio.Future[T]) -> Any:
        if asked.verb not in WRITES:
            return carry_out()
        return self._server.write(self._who, asked, carry_out, awaited=not answered.done())

    def _answer(self, answered: asyncio.Future[T], answer: T, error: EngineError | None) -> None:
        if answered.done() or self.silent:
            return
        if error is None:
            answered.set_result(answer)
        else:
            answered.set_exception(error)

    # -- watches

    def watch(self, kind: AnyKind, options: WatchOptions) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """A stream of events."""
        return self._watch(kind, options)

    @asynccontextmanager
    async def _watch(self, kind: AnyKind, options: WatchOptions) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        await self._ask("watch", kind, Key(options.namespace, ""), lambda: None)
        asked = self._send("watch", kind, Key(options.namespace, ""))
        feed = self._server.watch(kind, options)
        stream = _Stream(feed)
        self._server.attach(stream.break_)
        try:
            yield self._events(stream, asked, options)
        finally:
            self._server.detach(stream.break_)
            feed.close()

    async def _events(self, stream: _Stream, asked: Asked, options: WatchOptions) -> AsyncIterator[WatchEvent]:
        loop, feed, idle = asyncio.get_running_loop(), stream.feed, options.idle
        last = loop.time()
        while True:
            for each in await self._batch(stream, asked):
                if isinstance(each, Break):
                    if each is Break.SILENT:
                        await _sleep(last + idle - loop.time() if idle else None)
                        raise Unanswered(f"watch: no event within {idle:g} s")
                    if each is Break.CUT:
                        raise Unanswered("watch: the connection broke")
                    if each is Break.GONE:
                        yield self._gone(options)
                    return
                last = loop.time()
                yield each
            if stream.broken is None and feed.closed:
                return
            if idle and loop.time() >= last + idle:
                raise Unanswered(f"watch: no event within {idle:g} s")
            await stream.wait(last + idle if idle else None, DEAF if self.silent else self._server.behind_for)

    async def _batch(self, stream: _Stream, asked: Asked) -> Sequence[Told]:
        """What is there to be told."""
        if stream.broken is not None:
            return [stream.broken]
        if self.silent or self._server.behind_for:
            return ()
        now = asyncio.get_running_loop().time
        if late := self.weather.late(asked, now()):
            await _sleep(late)
        events = stream.feed.take()
        if not events:
            return ()
        first, self.told = self.told + 1, self.told + len(events)
        return self.weather.events(asked, now(), first, events)

    def _gone(self, options: WatchOptions) -> WatchEvent:
        """History is compacted, and the server tells so."""
        core = self._server.core
        core.compact()
        version = options.resource_version
        error = failure.too_old(int(version or 0), core.version)
        return WatchEvent("ERROR", msgspec.json.encode(error.status()))


class _Stream:
    """One open watch.

    Attributes:
        feed: where its events come from.
        broken: how it was broken from the server's side.
    """

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.broken: Break | None = None
        self._ready = asyncio.Event()
        feed.on_ready = self._ready.set

    def break_(self, how: Break) -> None:
        """It breaks now."""
        self.broken = how
        self._ready.set()

    async def wait(self, deadline: float | None, pause: float) -> None:
        """Return when there may be something to tell: the feed said so, it is due, it broke, or the deadline or pause is over."""
        loop = asyncio.get_running_loop()
        due = loop.time() + pause if pause else self.feed.due
        moments = [moment for moment in (due, deadline) if moment is not None]
        wait = max(MIN_WAIT, min(moments) - loop.time()) if moments else None
        try:
            async with asyncio.timeout(wait):
                await self._ready.wait()
        except TimeoutError:
            pass
        self._ready.clear()


async def _sleep(seconds: float | None) -> None:
    if seconds is None:
        await asyncio.get_running_loop().create_future()
    else:
        await asyncio.sleep(max(0.0, seconds))
