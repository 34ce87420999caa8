"""Memory is bounded, whatever befalls a manager and for however long: four times as much of it leaves no more behind."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import pytest

from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.weather import Storm
from tests.simulation.pool import edit
from tests.simulation.stage import play

pytestmark = pytest.mark.slow

SHORT, LONG = 60.0, 240.0
"""Seconds of bad weather and of a user who changes something twice in each."""

CALM = 60.0
"""Seconds after which everything has come to its end."""

OURS = [tracemalloc.Filter(True, f"*/dynamo_ctrl/{layer}/*") for layer in ("cache", "queue", "controller", "program")]
"""Where the memory of a manager is made; the server of the simulation keeps everything that it is asked, and does not count."""

ROOM = 64 * 1024
"""Bytes by which two runs may differ: rings that are not full yet."""


def left_after(seconds: float) -> int:
    """Bytes that are still there when all is done."""
    left = 0

    async def busy(core: Core) -> None:
        for number in range(int(2 * seconds)):
            await asyncio.sleep(0.5)
            edit(core, "a", {"spec": {"image": f"i{number}", "size": number % 5}})

    async def act(world: Simulation, first: Replica) -> None:
        nonlocal left
        del first
        await asyncio.sleep(seconds + CALM)
        world.server.arrivals.clear()  # errors, and whom they passed by
        gc.collect()
        left = sum(each.size for each in tracemalloc.take_snapshot().filter_traces(OURS).statistics("filename"))

    tracemalloc.start()
    try:
        play(act, user=busy, weather=lambda name: Storm(name, until=seconds))
    finally:
        tracemalloc.stop()
    return left


def test_a_long_storm_leaves_no_more_behind_than_a_short_one() -> None:
    left_after(1)  # what is made once and kept
    short, long = left_after(SHORT), left_after(LONG)
    assert long <= short + ROOM, f"{short} bytes after {SHORT:g} s, {long} after {LONG:g} s"
