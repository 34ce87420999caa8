"""`LostAnswers`: writes that may have happened, although nobody knows (R 3.13).

A time-out after a commit leaves the cache behind for as long as the watch takes, and nothing says that anything is to be waited
for. So what the server has is read live, and told to the cache, before anything is decided anew: at once, and if that fails at
the beginning of the next attempt at the same primary, which fails while the server cannot be asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from dynamo_ctrl.cache.overlay import Written
from dynamo_ctrl.engine.errors import EngineError, NotFound
from dynamo_ctrl.engine.port import Engine, ListOptions
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

LIMIT: Final = 10_000
"""Primaries that are remembered. Beyond it the oldest is forgotten: its next writes are bound to what they saw anyway."""

PAGE: Final = 500
"""Objects that are asked for at once when a generated name is looked for."""

AnyObject = Object[Any, Any]


class LostAnswers:
    """Remembers, for each primary, which objects have to be read live.

    Args:
        engine: where they are read.
        written: who is told.

    Attributes:
        pending: by primary, what has to be read before the next attempt at it. To look at: each attempt does, so it is a plain
            mapping, and empty costs nothing.
    """

    def __init__(self, engine: Engine, written: Written) -> None:
        self._engine = engine
        self._written = written
        self.pending: dict[Key, list[AnyObject]] = {}

    async def lost(self, primary: Key, written: AnyObject) -> None:
        """The answer to a write was lost. `written` is the object as it was before, or the body of a create."""
        self.pending.setdefault(primary, []).append(written)
        if len(self.pending) > LIMIT:
            del self.pending[next(iter(self.pending))]
        try:
            await self.settle(primary)
        except EngineError:
            return

    async def settle(self, primary: Key) -> None:
        """Read what has to be read, and tell the cache. Raises `EngineError`; what was not read stays remembered."""
        pending = self.pending.get(primary, [])
        while pending:
            await self._read(pending[-1])
            pending.pop()
        self.pending.pop(primary, None)

    async def _read(self, written: AnyObject) -> None:
        if not written.metadata.name:
            async for made in self._generated(written):
                self._written.wrote(made)
            return
        try:
            live: AnyObject = written.kind.decode(await self._engine.get(written.kind, written.key))
        except NotFound:
            if written.metadata.uid:
                self._written.deleted(written.kind, written.key, written.metadata.uid)
        else:
            self._written.wrote(live)

    async def _generated(self, body: AnyObject) -> AsyncIterator[AnyObject]:
        """Everything that a create with that body may have made, now or before."""
        wanted = body.metadata
        options = ListOptions(
            namespace=wanted.namespace, label_selector=str(LabelSelector.of(wanted.labels)), limit=PAGE
        )
        while True:
            page = await self._engine.list(body.kind, options)
            for raw in page.items:
                found: AnyObject = body.kind.decode(raw)
                made = found.metadata
                if (made.generate_name, made.owner_references) == (wanted.generate_name, wanted.owner_references):
                    yield found
            if not page.continue_token:
                return
            options = replace(options, continue_token=page.continue_token)
