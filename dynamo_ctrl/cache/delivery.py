"""`Subscription`: the changes of one informer for one reader, at the reader's own speed.

Contract:

- Bounded: at most one entry for each key, however slow the reader is. Events on a key that was not taken yet are merged into
  one change with the first old and the last new state. A deletion followed by a creation stays two changes (another uid); an
  object that came and went is told as a deletion, since somebody may know it from the overlay.
- Complete: a reader that comes late gets the present content first, flagged `initial`; nothing is lost or told twice.
- In order for each key; in order of first arrival between keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Where
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

Entry = tuple[Change[O], ...]


def merged(earlier: Change[O], later: Change[O]) -> Entry[O]:
    """Two changes of one key, as the fewest that tell the same."""
    if earlier.new is None and later.old is None:
        return (earlier, later)
    old = earlier.old
    if old is None and later.new is None:
        old = later.old
    return (Change(old, later.new, inferred=later.inferred),)


class Subscription(Generic[O]):
    """Asynchronous iteration gives batches of changes; `take` gives one without waiting.

    Args:
        batch: the most changes in one batch.
        on_close: told once when it is closed.

    Attributes:
        started: whether the initial objects were laid before the reader; changes are offered only after that.
    """

    def __init__(
        self, *, batch: int = 256, on_close: Callable[[Subscription[O]], None] = lambda subscription: None
    ) -> None:
        self._batch = batch
        self._on_close = on_close
        self._pending: dict[Where, Entry[O]] = {}
        self._backlog: list[O] = []  # initial objects, last first; what happened to them since is pending
        self.started = False
        self._unconfirmed = True  # initial objects may still be in the hands of the reader
        self._closed = False
        self._wake = asyncio.Event()
        self._sync = asyncio.Event()

    # --- the informer's side

    def begin(self, objects: Iterable[O]) -> None:
        """The informer is complete: these are the initial objects."""
        self._backlog = list(objects)
        self._backlog.reverse()
        self.started = True
        if not self._backlog:
            self._confirm()
        self._wake.set()

    def offer(self, changes: Iterable[Change[O]]) -> None:
        """Changes that happened after `begin`."""
        pending = self._pending
        for change in changes:
            metadata = (change.new if change.new is not None else change.latest).metadata
            at = (metadata.namespace, metadata.name)
            entry = pending.get(at)
            if entry is None:
                pending[at] = (change,)
            else:
                merge = (*entry[:-1], *merged(entry[-1], change))
                # The first deletion and what is there now; what came and went in between was never told.
                pending[at] = merge if len(merge) <= 2 else (merge[0], merge[-1])
        self._wake.set()

    # --- the reader's side

    @property
    def synced(self) -> bool:
        """Whether all initial objects were taken. A batch counts as taken when the next one is asked for."""
        return self._sync.is_set()

    async def wait_synced(self) -> None:
        """Return once `synced` is true; somebody else must be reading."""
        await self._sync.wait()

    def take(self) -> tuple[Change[O], ...]:
        """The next changes, without waiting; empty if there are none."""
        if self.started and not self._backlog and self._unconfirmed:
            self._confirm()
        if self._backlog:
            return self._initial()
        pending = self._pending
        if len(pending) <= self._batch:
            entries = list(pending.values())
            pending.clear()
        else:
            entries = [pending.pop(at) for at in list(islice(pending, self._batch))]
        return tuple([change for entry in entries for change in entry])

    def _initial(self) -> tuple[Change[O], ...]:
        changes: list[Change[O]] = []
        for _ in range(min(self._batch, len(self._backlog))):
            obj = self._backlog.pop()
            since = self._pending.pop((obj.metadata.namespace, obj.metadata.name), None)
            first = Change(None, obj, initial=True)
            changes += (first,) if since is None else (*merged(first, since[0]), *since[1:])
        return tuple(changes)

    def _confirm(self) -> None:
        self._unconfirmed = False
        self._sync.set()

    def __aiter__(self) -> Subscription[O]:
        return self

    async def __anext__(self) -> tuple[Change[O], ...]:
        while True:
            batch = self.take()
            if batch:
                return batch
            if self._closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()

    @property
    def closed(self) -> bool:
        """Whether it takes part no longer."""
        return self._closed

    def __len__(self) -> int:
        """How many keys wait."""
        return len(self._pending) + len(self._backlog)

    def close(self) -> None:
        """Take part no longer. What waits can still be taken; then the iteration ends. Idempotent."""
        if not self._closed:
            self._closed = True
            self._wake.set()
            self._on_close(self)
