"""`Reflector`: the I/O shell of one watcher. It does what the watcher asks for, and tells the informer what to store.

It ends only by cancellation: every failure becomes a state of the source and a back-off, a defect included (logged with its
stack and counted). While one page is laid aside the next one is on its way. Whatever takes long takes turns with the other
long works of the cache (`dynamo_ctrl.cache.turns`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final, Generic, TypeVar

import structlog

from dynamo_ctrl.cache.aside import Aside
from dynamo_ctrl.cache.decisions import ListPage, OpenWatch, Replace, Wait, Waiting
from dynamo_ctrl.cache.diagnosis import Diagnosis
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.sink import Sink
from dynamo_ctrl.cache.state import LIVE, Phase
from dynamo_ctrl.cache.streaming import initial_objects, read_bookmark, read_error
from dynamo_ctrl.cache.turns import Turns
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import Engine, ListOptions, Page, WatchEvent
from dynamo_ctrl.objects.object import Object

log = structlog.get_logger()

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

EVENTS: Final = 64
"""Events that are taken in one go; then the loop turns, whether more are there or not."""

FEW: Final = 8
"""Events after which the loop turns if it has had a slice of work already, of whichever source."""


class Reflector(Generic[O]):
    """Follows one scope of one informer.

    Args:
        lists: bounds how many lists of one cache are under way at once, streaming ones included.
        turns: shares the loop with the other long works of the cache.

    Attributes:
        listed: how many objects lists told.
        events: how many events watches told, without those that belong to a list.
        list_seconds: how long all complete lists took together, from the first question to the last object laid aside.
        defects: how often something raised that is not an engine's error.
        heard: when the server was last heard of this scope, in seconds of the clock; `None` before.
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
        turns: Turns,
        diagnosis: Diagnosis,
    ) -> None:
        self._scope = scope
        self._sink = sink
        self._engine = engine
        self._intake = intake
        self._clock = clock
        self._lists = lists
        self._turns = turns
        self._diagnosis = diagnosis
        self._aside: Aside[O] | None = None
        self._mark = 0
        self._comparable = True
        self._began = 0.0
        self._nudge = asyncio.Event()
        self.watcher = watcher
        self.listed = self.events = self.defects = 0
        self.list_seconds = 0.0
        self.heard: float | None = None

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
                await self._failed(_bare(error))

    async def _wait(self, seconds: float) -> None:
        self._nudge.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._nudge.wait()
        except TimeoutError:
            pass
        self.watcher.waited()

    # --- a list in pages

    async def _list(self) -> None:
        async with asyncio.TaskGroup() as requests:
            page = self._next_page(requests)
            while page is not None:
                answer = await page
                if isinstance(answer, Page):
                    self.heard = self._clock.monotonic()
                    decision = self.watcher.listed(answer.resource_version, answer.continue_token)
                    aside = self._laid_aside(fresh=decision.fresh)
                    page = self._next_page(requests)
                    await aside.page(answer.items)
                    if isinstance(decision, Replace):
                        await self._replace(decision)
                else:
                    await self._failed(answer)
                    page = self._next_page(requests)

    def _next_page(self, requests: asyncio.TaskGroup) -> asyncio.Task[Page | EngineError] | None:
        ask = self.watcher.ask()
        if not isinstance(ask, ListPage):
            return None
        if not ask.options.continue_token:
            self._begin()
        return requests.create_task(self._page(ask.options), name=f"page of {self._sink.kind}")

    async def _page(self, options: ListOptions) -> Page | EngineError:
        try:
            return await self._engine.list(self._sink.kind, options)
        except EngineError as error:
            return error

    def _begin(self) -> None:
        """A list is asked for now."""
        self._mark = self._sink.mark()
        self._comparable = not self.watcher.history_lost
        self._began = self._clock.monotonic()

    def _laid_aside(self, *, fresh: bool) -> Aside[O]:
        if fresh or self._aside is None:
            staging = self._sink.stage(self._scope, comparable=self._comparable, since=self._mark)
            self._aside = Aside(staging, self._intake, self._turns)
        return self._aside

    async def _replace(self, decision: Replace) -> None:
        assert self._aside is not None  # noqa: S101  (something was laid aside)
        aside, self._aside = self._aside, None
        self.listed += aside.told
        self.list_seconds += self._clock.monotonic() - self._began
        await self._turns.work(self._sink.replace(aside.staging, decision))

    # --- a watch

    async def _watch(self, ask: OpenWatch) -> None:
        initial = ask.options.send_initial
        try:
            async with AsyncExitStack() as slot:
                if initial:
                    await slot.enter_async_context(self._lists)
                    self._begin()
                async with self._engine.watch(self._sink.kind, ask.options) as events:
                    self.watcher.opened(self._clock.monotonic())
                    self.heard = self._clock.monotonic()
                    if initial and not await self._fill(events):
                        return
                    await slot.aclose()
                    self._sink.enter(self._scope, LIVE)
                    if not await self._follow(events):
                        return
        except EngineError as error:
            await self._failed(error)
        else:
            self.watcher.ended(self._clock.monotonic())
            await self._fell_back()

    async def _follow(self, events: AsyncIterator[WatchEvent]) -> bool:
        """Tell events until the stream ends; false if it ended with an ERROR event."""
        taken = 0
        async for event in events:
            if event.type == "ERROR":
                await self._failed(read_error(event))
                return False
            self._event(event)
            taken += 1
            if taken % EVENTS == 0 or (taken % FEW == 0 and self._turns.over):
                await asyncio.sleep(0)
        return True

    def _event(self, event: WatchEvent) -> None:
        self.heard = self._clock.monotonic()
        self.events += 1
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
                bookmark = read_bookmark(event)
                if bookmark is None:
                    self.watcher.skipped()
                else:
                    self.watcher.bookmark(bookmark.resource_version)
                    self._sink.bookmark(self._scope, self.watcher.version)
                return
            case _:
                self.watcher.skipped()
                return
        self._sink.advance(self._scope, self.watcher.version)

    async def _fill(self, events: AsyncIterator[WatchEvent]) -> bool:
        """The initial objects of a streaming list. False: the stream is to be left, and the watcher knows what comes instead."""
        aside = self._laid_aside(fresh=True)
        found = await initial_objects(events, self.watcher, aside, self._sink.kind, self._clock)
        self.heard = self._clock.monotonic()
        if isinstance(found, Replace):
            await self._replace(found)
            return True
        if found is None:
            await self._fell_back()
        else:
            await self._failed(found)
        return False

    # --- failures become states

    async def _failed(self, error: Exception) -> None:
        """Tell the watcher; if it has to wait, say why."""
        self.watcher.failed(await self._diagnosis.review(error), self._clock.monotonic())
        await self._fell_back()

    async def _fell_back(self) -> None:
        failure = self.watcher.failure
        if not isinstance(self.watcher.state, Waiting) or failure is None:
            return
        complete = self._sink.is_complete(self._scope)
        now = self._diagnosis.state(failure, complete=complete)
        if complete and now.phase is Phase.ABSENT:
            await self._turns.work(self._sink.clear(self._scope, now))
        else:
            self._sink.enter(self._scope, now)


def _bare(error: Exception) -> Exception:
    """The one error inside a group of tasks."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
