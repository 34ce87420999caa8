"""The initial objects of a streaming list (R 3.2), up to the bookmark that ends them. What that means, the watcher decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import structlog

from dynamo_ctrl.cache.aside import Aside
from dynamo_ctrl.cache.decisions import Replace
from dynamo_ctrl.cache.index import STEP
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, from_status
from dynamo_ctrl.engine.port import WatchEvent
from dynamo_ctrl.objects.kind import Kind

log = structlog.get_logger()

TOGETHER: Final = 4 * STEP
"""Events that are laid aside together."""

REMINDER: Final = 10.0
"""Seconds between two warnings about an end mark that does not come."""

_LIFE_SIGN: Final = 1.0
"""Seconds of the patience that may be lost, so that the timer is not wound up for each event."""

_END_MARK: Final = "k8s.io/initial-events-end"


class BookmarkMetadata(msgspec.Struct, rename="camel"):
    """All that a bookmark says."""

    resource_version: str = ""
    annotations: dict[str, str] = {}

    @property
    def ends_initial(self) -> bool:
        """Whether it carries the mark that ends the initial objects."""
        return self.annotations.get(_END_MARK) == "true"


class _Bookmark(msgspec.Struct):
    metadata: BookmarkMetadata


_BOOKMARK = msgspec.json.Decoder(_Bookmark)


def read_bookmark(event: WatchEvent) -> BookmarkMetadata | None:
    """What a BOOKMARK event says; `None` if it cannot be read."""
    try:
        return _BOOKMARK.decode(event.object).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def read_error(event: WatchEvent) -> EngineError:
    """The typed error of an ERROR event."""
    return from_status(500, event.object)


async def initial_objects(
    events: AsyncIterator[WatchEvent], watcher: Watcher, aside: Aside[Any], kind: Kind[Any], clock: Clock
) -> Replace | EngineError | None:
    """Lay the initial objects aside.

    What to do with them once the mark came; an error that the server told instead; or `None` when the stream is to be left
    because it ended, was silent for too long, or told a bookmark that was not the mark: the watcher knows that already.
    """
    loop = asyncio.get_running_loop()
    waiting: list[WatchEvent] = []
    alive = loop.time()
    try:
        async with asyncio.timeout(watcher.stream_patience) as limit:
            with _reminding(kind, watcher.scope, lambda: aside.told + len(waiting)):
                async for event in events:
                    if event.type == "BOOKMARK":
                        bookmark = read_bookmark(event)
                        if bookmark is not None:
                            decision = watcher.bookmark(bookmark.resource_version, ends_initial=bookmark.ends_initial)
                            break
                    elif event.type == "ERROR":
                        return read_error(event)
                    elif event.type in ("ADDED", "MODIFIED", "DELETED"):
                        waiting.append(event)
                        now = loop.time()
                        if now - alive > _LIFE_SIGN:
                            limit.reschedule(now + watcher.stream_patience)
                            alive = now
                        if len(waiting) >= TOGETHER:
                            await aside.events(waiting)
                            waiting.clear()
                else:
                    watcher.ended(clock.monotonic())
                    return None
    except TimeoutError:
        watcher.silent()
        return None
    if decision is not None:
        await aside.events(waiting)
    return decision


@contextmanager
def _reminding(kind: Kind[Any], namespace: str, told: Callable[[], int]) -> Iterator[None]:
    """Warn again and again while the mark is missing: nobody can read the kind until it comes."""
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []

    def arm(seconds: float) -> None:
        timers[:] = [loop.call_later(REMINDER, remind, seconds + REMINDER)]

    def remind(seconds: float) -> None:
        arm(seconds)
        log.warning(
            "the initial objects have not ended yet",
            kind=str(kind), namespace=namespace, objects=told(), seconds=seconds,
        )  # fmt: skip

    arm(0.0)
    try:
        yield
    finally:
        timers[0].cancel()
