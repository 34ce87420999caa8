"""The stages of a run: apply, wait until everything is ready, next; at the end a summary."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.kind import Kind
from dynamo_manager import passes
from dynamo_manager.apply import Applier
from dynamo_manager.counting import CountingEngine
from dynamo_manager.display import Display
from dynamo_manager.errors import NotReadyError
from dynamo_manager.manifests import Manifest
from dynamo_manager.observer import Observer
from dynamo_manager.summary import Summary

LOOK_EVERY = 0.1
"""Seconds between two looks at the world."""


class Stages:
    """Applies the stages one after the other.

    Args:
        manager: whose controllers are waited for and forced at the end.
        engine: what the manager writes through.
        applier: applies manifests.
        clock: the time.
        stages: manifests, in order.
        watches: what the programs watch; it says which kinds the owner tree has.
    """

    def __init__(
        self,
        manager: Manager,
        engine: CountingEngine,
        applier: Applier,
        clock: Clock,
        stages: Sequence[tuple[Manifest, ...]],
        watches: Sequence[Watches[Any]],
    ) -> None:
        self._manager = manager
        self._engine = engine
        self._applier = applier
        self._clock = clock
        self._stages = stages
        self._watches = watches
        self._observer: Observer | None = None

    @property
    def some(self) -> bool:
        """Whether there is anything to apply."""
        return bool(self._stages)

    def not_ready(self) -> NotReadyError:
        """Why not everything is ready, as the error to end with."""
        pending = self._observer.pending() if self._observer is not None else ()
        reasons = tuple(f"{name}: {reason}" for name, reason in self._manager.reasons.items())
        return NotReadyError((*pending, *reasons) or ("nothing was applied yet",))

    async def run(self, display: Display, *, summary: bool) -> int:
        """Everything in order. Returns the exit code; without stages it is 0 at once.

        Raises:
            UsageError: a manifest that cannot be applied.
        """
        if not self._stages:
            return 0
        namespaces = {manifest.key("default").namespace for stage in self._stages for manifest in stage}
        self._observer = Observer(
            self._engine.inner, clock=self._clock, namespaces=sorted(namespaces), kinds=kinds(self._watches)
        )
        told = Summary(self._engine, self._manager, self._clock)
        following = asyncio.create_task(self._observer.run(), name="observer")
        try:
            return await self._each(self._observer, display, told, summary=summary)
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _each(self, observer: Observer, display: Display, told: Summary, *, summary: bool) -> int:
        for number, stage in enumerate(self._stages, start=1):
            display.say(f"applying {', '.join(dict.fromkeys(manifest.source for manifest in stage))}")
            observer.expect(await self._applier.apply(stage))
            await self._ready(observer, display)
            told.stage(number)
            display.say(f"everything is ready after {told.seconds:.1f} s")
        if not summary:
            return 0
        await passes.rest(self._manager.controllers)
        told.converged()
        await passes.force(self._manager.controllers)
        return told.tell(display)

    async def _ready(self, observer: Observer, display: Display) -> None:
        while True:
            display.show(observer.rows())
            if not observer.pending():
                return
            await asyncio.sleep(LOOK_EVERY)


def kinds(watches: Sequence[Watches[Any]]) -> tuple[Kind[Any], ...]:
    """The owner tree's kinds from the top: the programs' primaries as they own each other, then Deployments and Pods."""
    owned = {watch.kind for one in watches for watch in one.others}
    primaries = sorted((one.primary.kind for one in watches), key=lambda kind: kind in owned)
    return tuple(dict.fromkeys((*primaries, DEPLOYMENT, REPLICA_SET, POD)))
