"""`Aside`: reads what a list tells, and lays it aside for a replacement, in turns with the other long works of the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.index import STEP, where
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.replacement import Staging, parts
from dynamo_ctrl.cache.turns import Turns
from dynamo_ctrl.engine.port import WatchEvent
from dynamo_ctrl.objects.object import Object

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Aside(Generic[O]):
    """One list's objects on their way.

    Attributes:
        staging: where they go.
        told: how many objects the server told so far.
    """

    def __init__(self, staging: Staging[O], intake: Intake[O], turns: Turns) -> None:
        self.staging = staging
        self.told = 0
        self._intake = intake
        self._turns = turns

    async def page(self, items: Sequence[bytes]) -> None:
        """The items of a page."""
        self.told += len(items)
        read, add = self._intake.read, self.staging.add
        async with self._turns.turn() as turn:
            for part in parts(items, STEP):
                for raw in part:
                    obj = read(raw)
                    if obj is not None:
                        add(obj)
                    else:
                        self._keep(raw)
                await turn.breathe()

    async def events(self, events: Sequence[WatchEvent]) -> None:
        """Events that came before the end mark of a streaming list."""
        self.told += len(events)
        async with self._turns.turn() as turn:
            for part in parts(events, STEP):
                for event in part:
                    self._event(event)
                await turn.breathe()
        await asyncio.sleep(0)  # more may be there already, so that nothing else would suspend

    def _event(self, event: WatchEvent) -> None:
        obj = self._intake.read(event.object)
        if event.type == "DELETED":
            at = self._intake.where(event.object) if obj is None else where(obj)
            if at is not None:
                self.staging.drop(at)
        elif obj is not None:
            self.staging.add(obj)
        else:
            self._keep(event.object)

    def _keep(self, raw: bytes) -> None:
        at = self._intake.where(raw)
        if at is not None:
            self.staging.keep(at)
