"""A leader loses its lease while it writes: its writes end before the lease does, and before anybody else's begin (R 4, 40)."""

from __future__ import annotations

import asyncio

import pytest

from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.manager.errors import LeadershipLost
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.testing.server import Arrival
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import Asked, Fate, Weather
from tests.simulation.pool import edit
from tests.simulation.stage import play

pytestmark = pytest.mark.slow

OPTIONS = LeaderElectionOptions()
PATIENCE = 60.0
"""Seconds for a manager to lead, or to find out that it does not any more."""

BUSY_UNTIL = 45.0
"""Seconds for which the user gives the managers something to do all the time: longer than everything that befalls them."""


async def busy(core: Core) -> None:
    """A user who changes something all the time."""
    for number in range(int(BUSY_UNTIL / 0.25)):
        await asyncio.sleep(0.25)
        edit(core, "a", {"spec": {"image": f"i{number}"}})


class Distant(Weather):
    """Requests take their time; those about the lease do not arrive from a moment on."""

    def __init__(self, away: float, lost_at: float) -> None:
        self._away = away
        self._lost_at = lost_at

    def request(self, asked: Asked) -> Fate:
        if asked.kind == LEASE:
            return Fate(instead=Unreachable("no way")) if asked.at >= self._lost_at else Fate()
        return Fate(there=self._away / 2, back=self._away / 2)


async def joined(world: Simulation, first: Replica) -> None:
    """Another manager, once the first one leads."""
    async with asyncio.timeout(PATIENCE):
        while not first.leading:  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(0.1)
    world.keep("m1")


def check(arrivals: list[Arrival], who: str) -> None:
    """The writes of a leader that was cut off end in time, and those of the next one follow."""
    renewals = [a for a in arrivals if a.who == who and a.asked.kind == LEASE and a.moved]
    writes = [a for a in arrivals if a.asked.kind != LEASE]
    until = renewals[-1].asked.at + OPTIONS.renew_deadline
    mine = [a for a in writes if a.who == who]
    assert max(a.asked.at for a in mine) < until - OPTIONS.guard_margin
    assert max(a.at for a in mine) < until, "what was under way has arrived before the lease could be lost"
    others = [a for a in writes if a.who != who and a.at > until]
    assert others, "somebody went on"
    assert min(a.at for a in others) > max(a.at for a in mine)
    assert all(a.holder == a.who for a in writes)


def test_a_lease_is_lost_in_the_middle_of_a_write(sweep: Sweep) -> None:
    """However long a write takes, up to twice the margin, and whenever the lease is lost."""

    def at(number: int) -> None:
        away, lost_at = 0.2 * (number % 10), 10 + 0.3 * (number // 10)
        arrivals: list[Arrival] = []

        async def act(world: Simulation, first: Replica) -> None:
            await joined(world, first)
            await asyncio.sleep(BUSY_UNTIL - asyncio.get_running_loop().time())
            arrivals.extend(world.server.arrivals)
            async with asyncio.timeout(PATIENCE):
                assert isinstance(await first.ended(), LeadershipLost)

        weather = {"m0": Distant(away, lost_at)}
        outcome = play(act, user=busy, weather=lambda name: weather.get(name, Weather()))
        check(arrivals, "m0")
        assert [type(end) for end in outcome.ends] == [LeadershipLost]

    sweep("losses", range(30), at)


@pytest.mark.parametrize("how", ["hangs", "is cut off"])
def test_a_leader_that_hangs_or_is_cut_off_does_not_write_when_it_is_back(sweep: Sweep, how: str) -> None:
    def at(second: int) -> None:
        arrivals: list[Arrival] = []

        async def act(world: Simulation, first: Replica) -> None:
            await joined(world, first)
            await asyncio.sleep(5 + second / 4)
            if how == "hangs":
                first.freeze()
            else:
                first.wire.silence()
            await asyncio.sleep(25)
            back_at = asyncio.get_running_loop().time()
            first.thaw()
            first.wire.restore()
            async with asyncio.timeout(PATIENCE):
                assert isinstance(await first.ended(), LeadershipLost)
            await asyncio.sleep(BUSY_UNTIL - back_at)
            arrivals.extend(world.server.arrivals)
            late = [a for a in arrivals if a.who == first.name and a.asked.at >= back_at and a.asked.kind != LEASE]
            assert late == []

        weather = {"m0": Distant(0.6, lost_at=BUSY_UNTIL)}
        play(act, user=busy, weather=lambda name: weather.get(name, Weather()))
        check(arrivals, "m0")

    sweep("moments", range(12), at)
