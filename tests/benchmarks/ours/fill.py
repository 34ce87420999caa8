"""Fill, memory, stall: an informer from its start to synced."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from dynamo_ctrl import Kind, Manager
from dynamo_graph.pods.projection import slim_pod
from tests.benchmarks.ours.kinds import POD, WIDGET
from tests.benchmarks.ours.measure import Ticker, collected, cpu, emit, fail, memory, run

KINDS: dict[str, Kind[Any]] = {"pod": POD, "widget": WIDGET}


async def main(kind: Kind[Any], n: int, *, slim: bool, touch: bool, ticking: bool) -> None:
    async with Manager(engine="kubernetes") as manager:
        informer = manager.cache.informer(kind, project=slim_pod if slim else None)
        view = manager.cache.view({kind: informer})
        base = collected()
        ticker = None
        if ticking:
            ticker = Ticker()
            await asyncio.sleep(0.02)
        before, began = cpu(), time.perf_counter()
        running = asyncio.create_task(manager.run())
        await informer.wait_complete()
        if touch:
            for pod in view.list(kind):
                if not (pod.spec.node_name and pod.status.phase):
                    fail(f"{pod} has no node or no phase")
        wall, used = time.perf_counter() - began, cpu() - before
        answer: dict[str, Any] = {"cmd": "fill", "n": n, "sync_s": wall, "cpu_s": used, "cpu_us": used / n * 1e6}
        if ticker is not None:
            answer["ticker"] = ticker.finish()
        filled = memory("VmRSS")
        await asyncio.sleep(1)
        held = collected()
        if (found := len(view.list(kind))) != n:
            fail(f"the cache holds {found} objects, not {n}")
        emit(
            **answer,
            rss_per_obj_after_fill=(filled - base) / n,
            rss_per_obj=(held - base) / n,
            peak_rss_mb=memory("VmHWM") / 1e6,
        )
        manager.stop()
        await running


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--kind", choices=sorted(KINDS), default="pod")
    flags.add_argument("--n", type=int, default=10_000, help="objects on the server")
    flags.add_argument("--slim", action="store_true", help="with the Pod projection of the component program")
    flags.add_argument("--touch", action="store_true", help="read one spec and one status field of each afterwards")
    flags.add_argument("--ticker", action="store_true", help="record the gaps of a 1 ms ticker")
    given = flags.parse_args()
    run(main(KINDS[given.kind], given.n, slim=given.slim, touch=given.touch, ticking=given.ticker))
