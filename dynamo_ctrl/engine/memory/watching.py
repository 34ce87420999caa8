"""How a watch begins: where it starts, what it replays first, and what its bookmarks look like."""

from __future__ import annotations

from functools import partial

import msgspec

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, Expired
from dynamo_ctrl.engine.memory import failure
from dynamo_ctrl.engine.memory.field_error import quote
from dynamo_ctrl.engine.memory.history import Feed, Filter, spoken
from dynamo_ctrl.engine.memory.served import Served
from dynamo_ctrl.engine.memory.store import Store
from dynamo_ctrl.engine.memory.table import Table
from dynamo_ctrl.engine.port import WatchEvent, WatchOptions

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which everything that existed at the start has been sent."""


def bookmark(served: Served, api_version: str, version: int, *, initial: bool = False) -> WatchEvent:
    """A bookmark: a bare object that carries nothing but a resourceVersion."""
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if initial:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    body = {"kind": served.kind, "apiVersion": api_version, "metadata": metadata}
    return WatchEvent("BOOKMARK", msgspec.json.encode(body))


def error_event(error: EngineError) -> WatchEvent:
    """An ERROR event; the watch ends after it."""
    return WatchEvent("ERROR", msgspec.json.encode(error.status()))


def parse_start(options: WatchOptions) -> int:
    """The version after which events are wanted; 0 for "replay what exists". Raises `ServerError` for no number."""
    text = options.resource_version
    if text and not (text.isascii() and text.isdigit()):
        quoted = quote(text)
        raise failure.internal(
            f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
        )
    return int(text or 0)


def open_feed(
    table: Table, wanted: Filter, options: WatchOptions, api_version: str, clock: Clock, store: Store
) -> Feed:
    """The feed that a watch reads.

    A start that history does not reach any more, or that a streaming list cannot wait for, becomes an ERROR event and the
    end of the watch, as on the wire of a real server.
    """
    start = parse_start(options)
    speak = None if api_version == table.served.api_version else partial(spoken, api_version=api_version)
    first: list[WatchEvent] = []
    position, over = table.log.end, False
    replay = options.send_initial or not start
    if options.send_initial and start > store.version:
        first.append(error_event(failure.version_too_large(start, store.version)))
        over = True
    elif replay:
        there = (revision.raw for revision in table if wanted.matches(revision))
        first += [WatchEvent("ADDED", speak(raw) if speak else raw) for raw in there]
        if options.bookmarks:
            first.append(bookmark(table.served, api_version, store.version, initial=True))
    else:
        try:
            position = table.log.position(start)
        except Expired as error:
            first.append(error_event(error))
            over = True
    return Feed(
        table.log,
        wanted,
        position,
        after=0 if replay else start,
        clock=clock,
        timeout=options.timeout,
        bookmark=(lambda: bookmark(table.served, api_version, store.version)) if options.bookmarks else None,
        speak=speak,
        first=first,
        over=over,
    )
