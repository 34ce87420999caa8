"""The server is away, comes back with an old cache, or forgets its history, at any moment of a run."""

from __future__ import annotations

import asyncio

import pytest

from dynamo_ctrl.cache.options import CacheOptions, WatcherOptions
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.sweep import Sweep
from tests.simulation.stage import Outcome, play, same

pytestmark = pytest.mark.slow

MINUTE = 60.0

ANY_VERSION = ManagerOptions(cache=CacheOptions(watcher=WatcherOptions(first_version="0", page_size=2)))
STREAMING = ManagerOptions(cache=CacheOptions(watcher=WatcherOptions(initial="stream")))


@pytest.mark.parametrize("seconds", [0.5, 5.0, MINUTE])
def test_connections_are_refused_for_a_while(sweep: Sweep, undisturbed: Outcome, seconds: float) -> None:
    """A minute without the lease ends a leader; his successor goes on."""

    def at(second: int) -> None:
        async def act(world: Simulation, first: Replica) -> None:
            del first
            await asyncio.sleep(second)
            world.server.down(seconds)
            await asyncio.sleep(seconds)

        outcome = same(play(act, replicas=2), undisturbed)
        assert len(outcome.ends) == (1 if seconds == MINUTE else 0), outcome.ends

    sweep("moments", range(1, 25, 2), at)


@pytest.mark.parametrize("options", [None, ANY_VERSION, STREAMING], ids=["consistent", "any version", "streaming"])
@pytest.mark.parametrize("behind", [3, 1000], ids=["three versions", "all versions"])
def test_a_server_comes_back_with_an_older_cache(
    sweep: Sweep, undisturbed: Outcome, options: ManagerOptions | None, behind: int
) -> None:
    """Lists of any version get an older state, and those of a known one are refused: too large a resourceVersion."""

    def at(second: int) -> None:
        async def act(world: Simulation, first: Replica) -> None:
            del first
            await asyncio.sleep(second)
            world.core.compact()
            world.server.restart(behind=behind, for_=20)
            await asyncio.sleep(20)

        same(play(act, options=options, replicas=2), undisturbed)

    sweep("moments", range(1, 25, 2), at)


def test_history_is_forgotten_all_the_time(undisturbed: Outcome) -> None:
    """Watches that end soon, pages of one object, and no version that is older than a moment."""
    watcher = WatcherOptions(watch_timeout=(1.0, 2.0), page_size=1)

    async def act(world: Simulation, first: Replica) -> None:
        for _ in range(600):
            await asyncio.sleep(0.1)
            world.core.compact()

    same(play(act, options=ManagerOptions(cache=CacheOptions(watcher=watcher))), undisturbed)
