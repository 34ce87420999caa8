"""kopf, with its default settings, on the motes of a real kube-apiserver. One measurement, one line of JSON.

usage: operator_bench.py events|index N

`events` hands each of the N objects to one handler; `index` files them in an index first. The clock runs from the start of the
operator to the N-th call of the handler. Runs in an environment of its own (requirements.txt), not in the project's.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import logging
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import kopf  # type: ignore[import-not-found]
import uvloop

MOTES = ("bench.example.com", "v1", "motes")


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def collected() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return memory("VmRSS")


async def main(mode: str, n: int) -> None:
    registry = kopf.OperatorRegistry()
    calls, everything, stop = 0, asyncio.Event(), asyncio.Event()

    @kopf.on.login(registry=registry)  # type: ignore[untyped-decorator]
    def login(**kwargs: Any) -> Any:
        return kopf.login_with_kubeconfig(**kwargs)

    @kopf.on.event(*MOTES, registry=registry)  # type: ignore[untyped-decorator]
    async def handler(**_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == n:
            everything.set()

    if mode == "index":

        @kopf.index(*MOTES, registry=registry)  # type: ignore[untyped-decorator]
        async def by_app(labels: Any, name: str, **_: Any) -> dict[str, str]:
            return {labels["app"]: name}

    base = collected()
    before, began = cpu(), time.perf_counter()
    operator = asyncio.create_task(kopf.operator(registry=registry, standalone=True, clusterwide=True, stop_flag=stop))
    await everything.wait()
    wall, used = time.perf_counter() - began, cpu() - before
    peak = memory("VmRSS")
    await asyncio.sleep(1)
    held = collected()
    print(
        json.dumps({
            "impl": "kopf", "cmd": mode, "n": n, "wall_s": wall, "cpu_s": used, "cpu_us": used / n * 1e6,
            "rss_per_obj_after_fill": (peak - base) / n, "rss_per_obj": (held - base) / n,
        }),
        flush=True,
    )  # fmt: skip
    stop.set()
    await operator


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2])))
