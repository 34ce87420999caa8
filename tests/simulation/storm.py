"""What a storm is made of: options of every size, weather of the worst, and what else befalls managers and their server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from dynamo_ctrl.cache.options import CacheOptions, WatcherOptions
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.weather import Odds, Storm, Weather

UNTIL = 50.0
"""Seconds of bad weather; the user's script is over by then, where nothing holds him up."""

HARD = Odds(
    throttled=0.15, failed=0.15, refused=0.1, lost=0.15, slow=0.3,
    ended=0.1, cut=0.1, gone=0.1, silent=0.05, late=0.5, twice=0.3, again=0.2, mixed=0.3,
)  # fmt: skip
LONGEST_HANDLER = 20.0
DISASTERS = 6
BETWEEN_DISASTERS = 15.0
LONGEST_ABSENCE = 60.0


def configured(random: Random) -> ManagerOptions:
    """Options of every size."""
    watcher = WatcherOptions(
        initial=random.choice(["list", "stream"]),
        page_size=random.choice([1, 2, 500]),
        first_version=random.choice(["", "0"]),
        watch_timeout=random.choice([(5.0, 10.0), (300.0, 600.0)]),
        idle=random.choice([20.0, 150.0]),
    )
    cache = CacheOptions(
        watcher=watcher,
        own_writes=random.choice([2, 10_000]),
        batch=random.choice([1, 256]),
        lists_at_once=random.choice([1, 8]),
    )
    controller = ControllerOptions(
        workers=random.choice([1, 3]),
        priorities=random.random() < 0.7,
        debounce=random.choice([0.0, 0.5]),
        timeout=random.choice([0.0, LONGEST_HANDLER / 2]),
    )
    return ManagerOptions(cache=cache, controller=controller)


async def disaster(world: Simulation, replica: Replica, random: Random) -> None:
    """One thing that befalls the server or a manager."""
    absence = random.choice([1.0, 8.0, 12.0, 20.0, LONGEST_ABSENCE])
    later = asyncio.get_running_loop().call_later
    match random.choice(["down", "older cache", "cut off", "frozen", "crashed", "stopped", "compacted"]):
        case "down":
            world.server.down(absence)
        case "older cache":
            world.server.restart(behind=random.randint(0, 40), for_=absence)
        case "cut off":
            replica.wire.silence()
            later(absence, replica.wire.restore)
        case "frozen":
            replica.freeze()
            later(absence, replica.thaw)
        case "crashed":
            replica.crash()
            world.keep(f"{replica.name}+{len(world.replicas)}")
        case "stopped":
            if replica.manager is not None:
                replica.manager.stop()
            else:
                replica.cancel()
            world.keep(f"{replica.name}+{len(world.replicas)}")
        case _:
            world.core.compact()


async def disasters(world: Simulation, random: Random) -> None:
    """Some of them, one after the other."""
    for _ in range(random.randint(1, DISASTERS)):
        await asyncio.sleep(BETWEEN_DISASTERS * random.random())
        if living := [replica for replica in world.replicas if replica.running]:
            await disaster(world, random.choice(living), random)


def weathered(seed: int) -> Callable[[str], Weather]:
    """Every second seed has the worst weather; each manager has its own."""
    return lambda name: Storm(f"{seed} {name}", until=UNTIL, odds=HARD if seed % 2 else None)
