"""A manager ends, or stands still, at every step of its life; another one goes on, and the world comes to the same.

A step is one resumption of a task (or one timer) of the manager's process by the virtual loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import Asked, Fate, Weather
from tests.simulation.pool import errand
from tests.simulation.stage import Outcome, play, same

pytestmark = pytest.mark.slow

FROZEN_FOR = 30.0
"""Seconds: longer than a lease lasts."""


class Distance(Weather):
    """Every request is on its way for a while, so that a manager can end while one is."""

    def request(self, asked: Asked) -> Fate:
        del asked
        return Fate(there=0.05, back=0.05)


def crash(replica: Replica) -> None:
    replica.crash()


def cancel(replica: Replica) -> None:
    replica.cancel()


def stop(replica: Replica) -> None:
    if replica.manager is None:
        replica.cancel()
    else:
        replica.manager.stop()


def freeze(replica: Replica) -> None:
    replica.freeze()
    asyncio.get_running_loop().call_later(FROZEN_FOR, replica.thaw)


@pytest.mark.parametrize("distance", [False, True], ids=["near", "far"])
@pytest.mark.parametrize("ends", [crash, cancel, stop, freeze], ids=lambda ends: ends.__name__)
def test_a_manager_at_any_step(
    sweep: Sweep, undisturbed_errand: Outcome, ends: Callable[[Replica], None], distance: bool
) -> None:
    weather = Distance if distance else Weather

    def at(step: int) -> None:
        async def act(world: Simulation, first: Replica) -> None:
            def happens() -> None:
                ends(first)
                world.keep("other")

            first.at_step(step, happens)

        same(play(act, user=errand, weather=lambda name: weather()), undisturbed_errand)

    steps = play(user=errand, weather=lambda name: weather()).steps
    sweep("steps", range(1, steps + 1), at)
