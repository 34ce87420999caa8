"""`Reflector`: the I/O shell of one watcher. It does what the watcher asks for, and tells the informer what to store.

It ends only by cancellation: every failure becomes a state of the source and a back-off, a defect included (logged with its
stack and counted).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import msgspec
import structlog

from dynamo_ctrl.cache import state
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.state import LIVE, SourceState
from dynamo_ctrl.cache.store import Staging
from dynamo_ctrl.cache.watcher import Collect, ListPage, OpenWatch, Replace, Wait, Waiting, Watcher
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, Forbidden, NotFound, Unavailable, UnsupportedKind, from_status
from dynamo_ctrl.engine.port import Engine, Page, WatchEvent
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

log = structlog.get_logger()

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Remedy: TypeAlias = Callable[[Kind[Any]], str]
"""Says what to do so that the cluster serves a kind."""

CHUNK = 250
"""Objects that are decoded and laid aside, or told, before the pace is asked."""


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Bookmark(msgspec.Struct):
    metadata: _Version


_BOOKMARK = msgspec.json.Decoder(_Bookmark)


class Sink(Protocol[O]):
    """What a reflector needs of its informer."""

    kind: Kind[O]

    def mark(self) -> int:
        """The last own write so far: a list that is asked for after this holds it, if it is consistent."""

    def stage(self, scope: str, *, comparable: bool, since: int) -> Staging[O]:
        """Begin a replacement whose first page was asked for at that mark."""

    def replace(self, staging: Staging[O], decision: Replace) -> Iterator[None]:
        """Make it visible at once, then tell what changed, a chunk in each step."""

    def put(self, scope: str, obj: O) -> None:
        """A created or changed object."""

    def remove(self, scope: str, raw: bytes, obj: O | None) -> None:
        """A deleted object; `None` if its last state cannot be read."""

    def advance(self, scope: str, version: str) -> None:
        """The content stands for that version."""

    def bookmark(self, scope: str, version: str) -> None:
        """Everything up to that version was told."""

    def enter(self, scope: str, now: SourceState) -> None:
        """The state of that scope."""

    def is_complete(self, scope: str) -> bool:
        """Whether that scope was ever complete, and its API not gone since."""


class Reflector(Generic[O]):
    """Follows one scope of one informer.

    Args:
        lists: bounds how many lists of one cache are under way at once.
        remedy: what to do about a kind that is not served.

    Attributes:
        defects: how often something raised that is not an engine's error.
    """

    def __init__(
        self,
        scope: str,
        sink: Sink[O],
        engine: Engine,
        watcher: Watcher,
        intake: Intake[O],
        *,
        clock: Clock,
        lists: asyncio.Semaphore,
        pace: Pace,
        remedy: Remedy,
    ) -> None:
        self._scope = scope
        self._sink = sink
        self._engine = engine
        self._intake = intake
        self._clock = clock
        self._lists = lists
        self._pace = pace
        self._remedy = remedy
        self._staging: Staging[O] | None = None
        self._mark = 0
        self._nudge = asyncio.Event()
        self.watcher = watcher
        self.defects = 0

    def retry(self) -> None:
        """Something may have changed that mends a failure: do not sit out the back-off."""
        self._nudge.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                match self.watcher.ask():
                    case ListPage():
                        async with self._lists:
                            await self._list()
                    case OpenWatch() as ask:
                        await self._watch(ask)
                    case Wait(seconds):
                        await self._wait(seconds)
            except Exception as error:
                self.defects += 1
                log.exception("defect while following a source; it is listed anew", kind=str(self._sink.kind))
                await self._failed(error)

    async def _wait(self, seconds: float) -> None:
        self._nudge.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._nudge.wait()
        except TimeoutError:
            pass
        self._pace.restart()
        self.watcher.waited()

    async def _list(self) -> None:
        while isinstance(ask := self.watcher.ask(), ListPage):
            if not ask.options.continue_token:
                self._mark = self._sink.mark()
            comparable = not self.watcher.history_lost
            try:
                page = await self._engine.list(self._sink.kind, ask.options)
            except EngineError as error:
                await self._failed(error)
                continue
            self._pace.restart()
            decision = self.watcher.listed(page.resource_version, page.continue_token)
            await self._lay_aside(page, decision, comparable=comparable)

    async def _lay_aside(self, page: Page, decision: Collect | Replace, *, comparable: bool) -> None:
        if decision.fresh or self._staging is None:
            self._staging = self._sink.stage(self._scope, comparable=comparable, since=self._mark)
        staging = self._staging
        for start in range(0, len(page.items), CHUNK):
            for raw in page.items[start : start + CHUNK]:
                obj = self._intake.read(raw)
                if obj is not None:
                    staging.add(obj)
                elif (at := self._intake.where(raw)) is not None:
                    staging.keep(at)
            await self._pace.breathe()
        if isinstance(decision, Replace):
            self._staging = None
            for _ in self._sink.replace(staging, decision):
                await self._pace.breathe()

    async def _watch(self, ask: OpenWatch) -> None:
        try:
            async with self._engine.watch(self._sink.kind, ask.options) as events:
                self.watcher.opened(self._clock.monotonic())
                self._sink.enter(self._scope, LIVE)
                async for event in events:
                    if event.type == "ERROR":
                        await self._failed(_error(event))
                        return
                    self._event(event)
                    await self._pace.breathe()
        except EngineError as error:
            await self._failed(error)
        else:
            self.watcher.ended(self._clock.monotonic())
            self._fell_back()

    def _event(self, event: WatchEvent) -> None:
        match event.type:
            case "ADDED" | "MODIFIED":
                obj = self._intake.read(event.object)
                if obj is None:
                    self.watcher.skipped()
                    return
                self.watcher.changed(obj.metadata.resource_version, added=event.type == "ADDED")
                self._sink.put(self._scope, obj)
            case "DELETED":
                obj = self._intake.read(event.object)
                if obj is None:
                    self.watcher.skipped()
                else:
                    self.watcher.changed(obj.metadata.resource_version, added=False)
                self._sink.remove(self._scope, event.object, obj)
            case "BOOKMARK":
                self._bookmark(event.object)
                return
            case _:
                self.watcher.skipped()
                return
        self._sink.advance(self._scope, self.watcher.version)

    def _bookmark(self, raw: bytes) -> None:
        try:
            self.watcher.bookmark(_BOOKMARK.decode(raw).metadata.resource_version)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.watcher.skipped()
        else:
            self._sink.bookmark(self._scope, self.watcher.version)

    # --- failures become states

    async def _failed(self, error: Exception) -> None:
        """Tell the watcher; if it has to wait, say why."""
        if isinstance(error, Forbidden | NotFound | UnsupportedKind):
            error = await self._reviewed(error)
        self.watcher.failed(error, self._clock.monotonic())
        self._fell_back()

    async def _reviewed(self, error: EngineError) -> EngineError:
        """What a 403 or 404 means, asked of discovery.

        A server refuses an API that it does not have as well (403 comes before 404); and one that has just started may answer
        404 for an API that it will serve, which must not empty the cache.
        """
        kind = self._sink.kind
        try:
            resources = await self._engine.discover(kind.group, kind.version)
        except (NotFound, UnsupportedKind):
            served = False
        except EngineError:
            return error
        else:
            served = any(resource.plural == kind.plural for resource in resources)
        if not served:
            return UnsupportedKind(str(error))
        return error if isinstance(error, Forbidden) else Unavailable(f"{error} (discovery tells that it is served)")

    def _fell_back(self) -> None:
        if isinstance(self.watcher.state, Waiting) and self.watcher.failure is not None:
            self._sink.enter(self._scope, self._state_of(self.watcher.failure))

    def _state_of(self, error: Exception) -> SourceState:
        kind = self._sink.kind
        match error:
            case Forbidden():
                return state.forbidden(kind, self._scope, error)
            case NotFound() | UnsupportedKind():
                return state.absent(kind, self._remedy(kind))
            case _ if self._sink.is_complete(self._scope):
                return state.stale(kind, error)
            case _:
                return state.syncing(kind, error)


def _error(event: WatchEvent) -> EngineError:
    """The typed error of an ERROR event."""
    return from_status(500, event.object)
