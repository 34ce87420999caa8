"""`Elector`: where the campaigns of a manager run: on the manager's loop, or on a thread with a loop and an engine of its own.

Contract:

- Between threads nothing passes but calls by `call_soon_threadsafe`, with immutable arguments: times, standings.
- On a thread, a busy manager does not lose its leases, and one that hangs does not keep them: the manager's loop beats, and
  without a beat for the renew deadline a leadership ends (see `Election`).
- Whatever ends the campaigns with an error is told to the owner, whose writes end with the last renewal.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, TypeAlias

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.campaign import Campaign
from dynamo_ctrl.manager.election import Election, Standing
from dynamo_ctrl.manager.errors import cause
from dynamo_ctrl.manager.leadership import Leadership

OpenEngine: TypeAlias = Callable[[], AbstractAsyncContextManager[Engine]]
"""Opens a connection of its own, in the loop that runs."""

GRACE = 0.1
"""Seconds that campaigns get to end when they are cut short."""

THREAD = "leader election"
"""The name of the thread."""


class Elector:
    """Runs a campaign for each leadership. Made and used on the manager's loop.

    Args:
        pairs: the elections, and who is told of each.
        opened: the engine of the campaigns.
        clock: of everything; read by both threads.
        beat_period: seconds between two beats; 0 runs the campaigns on this loop, where nothing has to beat.
        failed: told what ended the campaigns.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Election, Leadership]],
        opened: OpenEngine,
        clock: Clock,
        *,
        beat_period: float,
        failed: Callable[[Exception], None],
    ) -> None:
        self._opened = opened
        self._clock = clock
        self._beat_period = beat_period
        self._failed = failed
        self._home = asyncio.get_running_loop()
        self._abroad: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._campaigns = [Campaign(election, clock, partial(self._tell, leader)) for election, leader in pairs]
        self._main: asyncio.Task[Any] | None = None  # these two are touched only where the campaigns run
        self._halted = False

    def start(self) -> None:
        """Begin to campaign."""
        if not self._beat_period:
            self._task = asyncio.create_task(self._stay(), name="manager: leader election")
            return
        self._abroad = asyncio.new_event_loop()
        self._task = asyncio.create_task(self._beat(), name="manager: heartbeat of the leader election")
        self._thread = threading.Thread(target=self._travel, args=(self._abroad,), name=THREAD, daemon=True)
        self._thread.start()

    def resign(self) -> None:
        """Win no more; see `Election.resign`."""
        for campaign in self._campaigns:
            self._post(campaign.resign)

    async def end(self, *, release: bool, timeout: float) -> bool:  # noqa: ASYNC109  (the answer says whether it was enough)
        """End every campaign, with the leases given back if that can be done within `timeout` seconds, or not.

        Returns whether all of it has ended: a thread may be stuck.
        """
        if self._task is None:
            return True
        if release:
            for campaign in self._campaigns:
                self._post(campaign.release)
        else:
            self._post(self._halt)
        for seconds in (timeout, GRACE):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
                    break
            self._post(self._halt)
        self._task.cancel()
        await asyncio.wait([self._task])
        if self._thread is not None and self._ended.is_set():
            self._thread.join()  # it has nothing left to do
        return self._ended.is_set()

    # -- at home

    async def _stay(self) -> None:
        try:
            await self._campaign()
        except Exception as error:  # noqa: BLE001  (handed on: the owner stops everything)
            self._failed(cause(error))
        finally:
            self._ended.set()

    async def _beat(self) -> None:
        while True:
            now = self._clock.monotonic()
            for campaign in self._campaigns:
                self._post(partial(campaign.beat, now))
            await asyncio.sleep(self._beat_period)

    def _post(self, call: Callable[[], None]) -> None:
        """Call it where the campaigns run."""
        if self._abroad is None:
            call()
            return
        with suppress(RuntimeError):  # that loop is closed: the campaigns are over
            self._abroad.call_soon_threadsafe(call)

    # -- where the campaigns run

    def _travel(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(self._campaign())
        except Exception as error:  # noqa: BLE001  (handed on: the owner stops everything)
            self._call_home(self._failed, cause(error))
        finally:
            self._call_home(self._ended.set)

    async def _campaign(self) -> None:
        if self._halted:
            return
        self._main = asyncio.current_task()
        with suppress(asyncio.CancelledError):  # only `_halt` cancels
            async with self._opened() as engine, asyncio.TaskGroup() as tasks:
                for campaign in self._campaigns:
                    tasks.create_task(campaign.run(engine), name="leader election: campaign")

    def _halt(self) -> None:
        self._halted = True
        if self._main is not None:
            self._main.cancel()

    def _tell(self, leadership: Leadership, standing: Standing) -> None:
        self._call_home(leadership.told, standing)

    def _call_home(self, call: Callable[..., None], *arguments: object) -> None:
        if self._abroad is None:
            call(*arguments)
            return
        with suppress(RuntimeError):  # the manager's loop is closed: nobody is left to be told
            self._home.call_soon_threadsafe(call, *arguments)
