"""What `peers/kopf/operator_bench.py` does with kopf: all motes through one handler, or into an index first."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from dynamo_ctrl import Index, Manager, Request, Result, open_engine, watching
from tests.benchmarks.ours.kinds import MOTE, Mote
from tests.benchmarks.ours.measure import collected, cpu, emit, fail, memory, run

BY_APP = Index("app", MOTE, lambda mote: (mote.metadata.labels["app"],))
WATCHES = {"events": watching(MOTE), "index": watching(MOTE).indexing(BY_APP)}


class Handler:
    name = "bench"

    def __init__(self, mode: str, n: int) -> None:
        self.watches = WATCHES[mode]
        self.calls = 0
        self.everything = asyncio.Event()
        self._n = n

    def reconcile(self, request: Request[Mote]) -> Result[Any]:
        self.calls += 1
        if self.calls == self._n:
            self.everything.set()
        return Result()


async def main(mode: str, n: int) -> None:
    async with open_engine("kubernetes"):
        """Everything is imported before the clock starts, as kopf is."""
    handler = Handler(mode, n)
    base = collected()
    before, began = cpu(), time.perf_counter()
    async with Manager(engine="kubernetes", programs=[handler]) as manager:
        running = asyncio.create_task(manager.run())
        await handler.everything.wait()
        wall, used = time.perf_counter() - began, cpu() - before
        filled = memory("VmRSS")
        await asyncio.sleep(1)
        held = collected()
        if mode == "index" and len(manager.controllers[0].view.by_index(BY_APP, "app-7")) != 10:
            fail("the index does not hold ten motes")
        emit(
            cmd=mode, n=n, wall_s=wall, cpu_s=used, cpu_us=used / n * 1e6,
            rss_per_obj_after_fill=(filled - base) / n, rss_per_obj=(held - base) / n,
        )  # fmt: skip
        manager.stop()
        await running


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("mode", choices=sorted(WATCHES))
    flags.add_argument("n", type=int)
    given = flags.parse_args()
    run(main(given.mode, given.n))
