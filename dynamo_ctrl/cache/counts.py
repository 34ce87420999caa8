"""`Counts`: what metrics and health want to know about an informer, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

OBJECT_OVERHEAD = 1_200
"""Bytes that a cached object takes beside its JSON text: metadata, keys, index entries (measured: 3.5 KB for a text of 2.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of one informer, all its scopes together. Everything but the first four only grows.

    Attributes:
        objects: in the cache.
        bytes: of their JSON texts.
        own_writes: that the watch has not told yet.
        pending: changes that subscribers have not taken yet.
        malformed: objects that could not be read.
        index_failures: extractors that raised.
        lists: complete lists, streaming ones included.
        list_seconds: that they took together.
        listed: objects that they told.
        watches: that were opened.
        short_watches: that ended at once and without an event.
        events: that watches told.
        fallbacks: streaming lists that were given up for a list in pages.
        failures: lists and watches that failed.
        defects: errors of our own.
        heard: when the server was last heard of the scope that is silent longest, in seconds of the cache's clock.
    """

    objects: int
    bytes: int
    own_writes: int
    pending: int
    malformed: int
    index_failures: int
    lists: int
    list_seconds: float
    listed: int
    watches: int
    short_watches: int
    events: int
    fallbacks: int
    failures: int
    defects: int
    heard: float | None

    @property
    def memory(self) -> int:
        """An estimate of the bytes that the objects take."""
        return self.bytes + self.objects * OBJECT_OVERHEAD
