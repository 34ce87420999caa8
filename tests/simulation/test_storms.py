"""Everything at once, at random, from a seed: what managers do must come to the same, whatever befalls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import Weather
from tests.simulation.pool import Census, SlowPool, programs
from tests.simulation.stage import Outcome, play, same
from tests.simulation.storm import LONGEST_HANDLER, configured, disasters, weathered

pytestmark = pytest.mark.slow


def slow_or_not(random: Random) -> Callable[[], list[Any]]:
    """Programs that answer at once, or take their time."""

    async def pause() -> None:
        await asyncio.sleep(LONGEST_HANDLER * random.random() ** 4)

    return programs if random.random() < 0.5 else lambda: [SlowPool(pause), Census()]


def test_a_storm(sweep: Sweep, undisturbed: Outcome) -> None:
    def at(seed: int) -> None:
        random = Random(seed)
        options, make = configured(random), slow_or_not(random)
        replicas = random.choice([1, 1, 2])
        same(play(weather=weathered(seed), options=options, make=make, seed=seed, replicas=replicas), undisturbed)

    sweep("seeds", sweep.seeds(100), at)


def test_a_storm_of_disasters(sweep: Sweep, undisturbed: Outcome) -> None:
    def at(seed: int) -> None:
        random = Random(seed)
        options, make = configured(random), slow_or_not(random)

        async def act(world: Simulation, first: Replica) -> None:
            del first
            await disasters(world, random)

        weather = weathered(seed) if random.random() < 0.6 else lambda name: Weather()
        same(play(act, weather=weather, options=options, make=make, seed=seed, replicas=2), undisturbed)

    sweep("seeds", sweep.seeds(60), at)
