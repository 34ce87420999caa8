"""`Leadership`: what one lease means to a manager, on the manager's loop.

Contract:

- It is told standings, in order, and believes only the clock: writes are permitted for `left()` seconds, which is never more than
  what the last successful renewal gives, however late that is told.
- `elected` returns when we lead and may write. `lost` is called once, at the renew deadline at the latest, also when whoever
  renews has fallen silent. After `close` nothing is permitted and nothing is called any more.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.manager.election import Role, Standing
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.key import Key

MIN_WAIT = 0.001
"""Seconds between two looks at the deadline: what is left of a sum of times may be too little for any clock to show."""


class Leadership:
    """One lease, seen from the work that it protects.

    Args:
        key: of the Lease.
        options: durations.
        clock: the same as the election's.
        lost: called with the reason when a leadership ends.

    Attributes:
        standing: what was told last.
    """

    def __init__(self, key: Key, options: LeaderElectionOptions, clock: Clock, lost: Callable[[str], None]) -> None:
        self.key = key
        self.standing = Standing()
        self._options = options
        self._clock = clock
        self._lost = lost
        self._until = -math.inf
        self._elected = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def told(self, standing: Standing) -> None:
        """The election stands there now."""
        if self._closed:
            return
        self.standing = standing
        self._until = standing.writes_until
        if standing.lost:
            self._end(standing.lost)
        elif standing.role is Role.LEADER:
            self._arm()
            if self.left() > 0:
                self._elected.set()

    async def elected(self) -> None:
        """Returns when we lead."""
        await self._elected.wait()

    @property
    def leading(self) -> bool:
        """Whether we lead and may write."""
        return self.left() > 0

    @property
    def claims(self) -> bool:
        """Whether we lead by what was told, even if the time to write has run out."""
        return self.standing.role is Role.LEADER

    def left(self) -> float:
        """Seconds for which writes are permitted; zero or less for not at all."""
        return self._until - self._clock.monotonic()

    def check(self) -> str | None:
        """The health check (R 3.8): fails while we claim a lease that is much older than it may be."""
        standing, options = self.standing, self._options
        if self._closed or standing.role is not Role.LEADER:
            return None
        age = self._clock.monotonic() - standing.renewed_at
        if age <= options.lease_duration + options.health_tolerance:
            return None
        return f"lease {self.key} was renewed {age:.0f} s ago, and this process still claims it"

    def close(self) -> None:
        """Nothing is permitted from now on."""
        self._closed, self._until = True, -math.inf
        if self._timer is not None:
            self._timer.cancel()

    def _end(self, reason: str) -> None:
        self.close()
        self._lost(reason)

    def _arm(self) -> None:
        if self._timer is None:
            self._look()

    def _look(self) -> None:
        left = self.standing.renewed_at + self._options.renew_deadline - self._clock.monotonic()
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(max(left, MIN_WAIT), self._look)
        elif self.standing.role is Role.LEADER:
            self._end(f"it was not renewed for {self._options.renew_deadline:g} s")
