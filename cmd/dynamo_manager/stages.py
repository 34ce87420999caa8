"""The stages of a run: apply, wait until everything is ready, next; with `--until-ready` a summary, and the end.

It runs inside the manager, among what starts before the controllers; what it raises ends the manager and comes out of its `run`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.manager.manager import Manager
from dynamo_manager import passes
from dynamo_manager.apply import Applier
from dynamo_manager.counting import CountingEngine
from dynamo_manager.display import Display
from dynamo_manager.errors import NotReadyError, UsageError
from dynamo_manager.manifests import Manifest
from dynamo_manager.observer import Observer
from dynamo_manager.summary import Summary
from dynamo_manager.tree import blockers

LOOK_EVERY: Final = 0.1
"""Seconds between two looks at the world."""

UNREADABLE_FOR: Final = 20.0
"""Seconds that a needed kind may stay absent or forbidden while `--until-ready` waits: an API that was just installed is picked
up within ten."""


class Stages:
    """Applies the stages one after the other.

    Args:
        manager: whose controllers are waited for and forced at the end.
        engine: what the manager writes through.
        applier: applies manifests.
        observer: looks at what was applied; whoever makes it runs it.
        display: where it is shown.
        clock: the time.
        stages: manifests, in order.
        until_ready: end the manager when the last stage is ready.
        timeout: seconds until then.
    """

    def __init__(
        self,
        manager: Manager,
        engine: CountingEngine,
        *,
        applier: Applier,
        observer: Observer,
        display: Display,
        clock: Clock,
        stages: Sequence[tuple[Manifest, ...]],
        until_ready: bool,
        timeout: float | None,
    ) -> None:
        self._manager = manager
        self._engine = engine
        self._applier = applier
        self._observer = observer
        self._display = display
        self._clock = clock
        self._stages = stages
        self._until_ready = until_ready
        self._timeout = timeout
        self._took: list[float] = []
        self._interrupted: NotReadyError | None = None
        self._code: int | None = None

    def interrupt(self) -> None:
        """The process was asked to stop: remember what was not ready at this moment, and stop the manager."""
        if self._until_ready and self._code is None:
            self._interrupted = NotReadyError("stopped before everything was ready", self._reasons())
        self._manager.stop()

    @property
    def code(self) -> int:
        """The exit code, once the manager has stopped. Raises `NotReadyError` if it was interrupted before it had one."""
        if self._interrupted is not None and self._code is None:
            raise self._interrupted
        return self._code or 0

    async def run(self) -> None:
        """All stages in order.

        Raises:
            UsageError: a manifest that cannot be applied; kinds that the programs need and cannot read.
            NotReadyError: the time-out passed.
            EngineError: the server cannot be asked.
        """
        start = self._clock.monotonic()
        with self._display:
            await self._bounded(start)
            summary = await self._summary() if self._until_ready else None
        if summary is not None:
            self._display.say("")
            for line in summary.lines():
                self._display.say(line)
            self._code = summary.code
            self._manager.stop()

    async def _bounded(self, start: float) -> None:
        bound = asyncio.timeout(self._timeout)
        try:
            async with bound:
                for stage in self._stages:
                    await self._stage(stage, start)
        except TimeoutError:
            if not bound.expired():
                raise
            if unreadable := _unreadable(self._manager):
                raise _cannot_work(unreadable) from None
            raise NotReadyError(f"not ready within {self._timeout:g} s", self._reasons()) from None

    async def _stage(self, stage: tuple[Manifest, ...], start: float) -> None:
        self._display.say(f"applying {', '.join(dict.fromkeys(manifest.source for manifest in stage))}")
        self._observer.expect(await self._applier.apply(stage))
        readable_at = self._clock.monotonic()
        while True:
            self._display.show(self._observer.rows())
            if not self._observer.pending():
                break
            if not (unreadable := _unreadable(self._manager)):
                readable_at = self._clock.monotonic()
            elif self._until_ready and self._clock.monotonic() - readable_at > UNREADABLE_FOR:
                raise _cannot_work(unreadable)
            await asyncio.sleep(LOOK_EVERY)
        self._took.append(self._clock.monotonic() - start)
        self._display.say(f"everything is ready after {self._took[-1]:.1f} s")

    async def _summary(self) -> Summary:
        controllers = self._manager.controllers
        await passes.settled(controllers)
        reconciles = passes.reconciles(controllers)
        requests, writes = self._engine.requests.copy(), self._engine.writes.copy()
        forced = await passes.force(controllers)
        self._display.show(self._observer.rows())
        return Summary(
            stages=self._took,
            reconciles=reconciles,
            requests=requests,
            writes=writes,
            passes=passes.PASSES,
            pass_reconciles=forced,
            pass_writes=self._engine.writes - writes,
        )

    def _reasons(self) -> tuple[str, ...]:
        below = (f"{row.kind} {row.name}: {row.text}" for row in blockers(self._observer.rows()))
        sources = (f"{name}: {reason}" for name, reason in self._manager.reasons.items())
        return (*self._observer.pending(), *below, *sources) or ("nothing was applied yet",)


def _unreadable(manager: Manager) -> tuple[str, ...]:
    """What the controllers need and will not be able to read until somebody mends it."""
    return tuple(
        dict.fromkeys(
            f"{kind} is {state.phase}"
            for controller in manager.controllers
            for kind, state in controller.sources.items()
            if kind in controller.reasons and state.phase in (Phase.ABSENT, Phase.FORBIDDEN)
        )
    )


def _cannot_work(unreadable: Sequence[str]) -> UsageError:
    return UsageError(f"the programs cannot work: {', '.join(unreadable)}; what mends it is in the log above")
