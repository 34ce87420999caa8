"""Watch events into the store, from a stream that `player.py` plays."""

from __future__ import annotations

import argparse
import asyncio
import time

from dynamo_ctrl import Manager
from tests.benchmarks.ours.kinds import POD
from tests.benchmarks.ours.measure import cpu, emit, run


async def main(n: int, events: int) -> None:
    async with Manager(engine="kubernetes") as manager:
        informer = manager.cache.informer(POD)
        running = asyncio.create_task(manager.run())
        await informer.wait_complete()
        before, began = cpu(), time.perf_counter()
        await informer.wait_version(str(n + events))
        wall, used = time.perf_counter() - began, cpu() - before
        emit(cmd="events", n=n, events=events, per_s=events / wall, cpu_us=used / events * 1e6)
        manager.stop()
        await running


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--n", type=int, default=1_000, help="Pods that the player lists")
    flags.add_argument("--events", type=int, default=50_000, help="events that it plays")
    given = flags.parse_args()
    run(main(given.n, given.events))
