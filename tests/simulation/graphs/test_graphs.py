"""Graphs are made, rolled, rolled back, restarted, scaled, broken, mended and deleted, while everything befalls their managers.

What comes of it is what comes of making the last graphs at once in a calm world; on the way no rollout asks for more than it may
in any state of the server, statuses never go back, and who does not lead does not write. In calm weather enough Pods are
available as well, all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from dynamo_ctrl.cache.options import CacheOptions
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import Weather
from tests.simulation.graphs.play import Outcome, Work, play
from tests.simulation.graphs.user import User, Wanted, create
from tests.simulation.storm import configured, disasters, weathered

pytestmark = pytest.mark.slow

NAMES = ("g", "h")
DEEDS = 6

WRITES = 150
"""Writes for each deed of a user, at most; a calm world needs a third of it."""


def users(seed: int) -> list[User]:
    return [User(name, f"{seed} {name}", DEEDS) for name in NAMES]


def at_once(name: str, wanted: Wanted) -> Work:
    async def work(core: Any) -> None:
        create(core, name, wanted)

    return work


def same(outcome: Outcome, done: Sequence[User]) -> None:
    """It came to what the users want, and was no hot loop."""
    reference = play([at_once(name, user.wanted) for name, user in zip(NAMES, done, strict=True)])
    for kind, objects in reference.site.items():
        assert outcome.site[kind] == objects, kind
    most = WRITES * (DEEDS + 1) * len(NAMES)
    assert len(outcome.writes) <= most
    assert outcome.reconciles <= 2 * most


def remembering(options: ManagerOptions) -> ManagerOptions:
    """With room for all own writes: who reads back what was there before them makes the next generation too large."""
    return replace(options, cache=replace(options.cache, own_writes=CacheOptions().own_writes))


def test_graphs_in_calm_weather(sweep: Sweep) -> None:
    def at(seed: int) -> None:
        done = users(seed)
        same(play([user.work for user in done], seed=seed), done)

    sweep("seeds", sweep.seeds(4), at)


def test_graphs_in_a_storm_of_disasters(sweep: Sweep) -> None:
    def at(seed: int) -> None:
        random, done = Random(seed), users(seed)
        options = remembering(configured(random))

        async def act(world: Simulation, first: Replica) -> None:
            del first
            await disasters(world, random)

        weather: Callable[[str], Weather] = weathered(seed) if random.random() < 0.6 else lambda name: Weather()
        works = [user.work for user in done]
        same(play(works, act, weather=weather, options=options, seed=seed, replicas=2), done)

    sweep("seeds", sweep.seeds(6), at)
