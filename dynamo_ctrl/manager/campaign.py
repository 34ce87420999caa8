"""`Campaign`: carries out what an `Election` decides, through an engine. It knows no rule of its own.

It belongs to one loop; `beat`, `resign` and `release` are called there. What it tells (`told`) is immutable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, NotFound, Unanswered
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.election import Create, Election, End, Read, Sleep, Standing, Update
from dynamo_ctrl.manager.lease import Claim
from dynamo_ctrl.objects.builtin.coordination import LEASE

T = TypeVar("T")

MIN_SLEEP = 0.001
"""Seconds of the shortest sleep: what is left of a sum of times may be too little for any clock to show."""


class Campaign:
    """The way of one election.

    Args:
        election: decides.
        clock: its time.
        told: called with the standing whenever it changed.
    """

    def __init__(self, election: Election, clock: Clock, told: Callable[[Standing], None]) -> None:
        self._election = election
        self._clock = clock
        self._told = told
        self._known = election.standing
        self._scope: asyncio.Timeout | None = None

    def beat(self, at: float) -> None:
        """The main loop was alive at that moment."""
        self._election.beat(at)

    def resign(self) -> None:
        """See `Election.resign`. A candidate's request that is under way is given up."""
        self._election.resign()
        self._look_again()

    def release(self) -> None:
        """See `Election.release`. A request that is under way is given up."""
        self._election.release()
        self._look_again()

    async def run(self, engine: Engine) -> None:
        """Until the election is over, by whatever end."""
        election, clock = self._election, self._clock
        while True:
            action = election.next(clock.monotonic(), clock.now())
            self._tell()
            match action:
                case End():
                    return
                case Sleep(seconds):
                    await self._sleep(max(seconds, MIN_SLEEP))
                    continue
                case Read(timeout):
                    await self._read(engine, timeout)
                case Create(body, timeout):
                    request = engine.create(LEASE, election.key.namespace, body)
                    await self._write(request, timeout)
                case Update(body, timeout):
                    request = engine.update(LEASE, election.key, body)
                    await self._write(request, timeout)
            self._tell()

    async def _read(self, engine: Engine, timeout: float) -> None:  # noqa: ASYNC109  (its end is a value of the election)
        try:
            claim = Claim.read(await self._within(timeout, engine.get(LEASE, self._election.key)))
        except NotFound:
            self._election.found(None, self._clock.monotonic())
        except EngineError as error:
            self._election.failed(error, self._clock.monotonic())
        else:
            self._election.found(claim, self._clock.monotonic())

    async def _write(self, request: Awaitable[bytes], timeout: float) -> None:  # noqa: ASYNC109
        try:
            claim = Claim.read(await self._within(timeout, request))
        except EngineError as error:
            self._election.failed(error, self._clock.monotonic())
        else:
            self._election.wrote(claim, self._clock.monotonic())

    async def _within(self, seconds: float, request: Awaitable[T]) -> T:
        """Raises `Unanswered` when the time is over or the request was given up."""
        try:
            async with asyncio.timeout(seconds) as self._scope:
                return await request
        except TimeoutError as error:
            raise Unanswered(f"lease {self._election.key}: no answer within {seconds:g} s") from error
        finally:
            self._scope = None

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds) as self._scope:
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            pass
        finally:
            self._scope = None

    def _look_again(self) -> None:
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    def _tell(self) -> None:
        if self._election.standing != self._known:
            self._known = self._election.standing
            self._told(self._known)
