"""The reflector that users of kubernetes-asyncio write by hand: list in pages, keep in a dictionary, watch on from there.

usage: reflector.py N

kubernetes-asyncio has no informer; this is what its examples lead to, models and all. One fill with N Pods, one line of JSON.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
from kubernetes_asyncio import client, config, watch

PAGE = 500


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


class Reflector:
    """All Pods by namespace and name."""

    def __init__(self, api: client.CoreV1Api) -> None:
        self.api = api
        self.store: dict[tuple[str, str], Any] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        token = ""
        while True:
            page = await self.api.list_pod_for_all_namespaces(limit=PAGE, _continue=token)
            for pod in page.items:
                self.store[pod.metadata.namespace, pod.metadata.name] = pod
            token = page.metadata._continue
            if not token:
                break
        self.synced.set()
        events = watch.Watch().stream(
            self.api.list_pod_for_all_namespaces, resource_version=page.metadata.resource_version
        )
        async for event in events:
            pod = event["object"]
            key = pod.metadata.namespace, pod.metadata.name
            if event["type"] == "DELETED":
                self.store.pop(key, None)
            else:
                self.store[key] = pod


async def main(n: int) -> None:
    await config.load_kube_config()
    async with client.ApiClient() as connection:
        reflector = Reflector(client.CoreV1Api(connection))
        base = collected()
        before, began = cpu(), time.perf_counter()
        running = asyncio.create_task(reflector.run())
        waiting = asyncio.create_task(reflector.synced.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        wall, used = time.perf_counter() - began, cpu() - before
        if running.done():
            await running
        filled = memory("VmRSS")
        await asyncio.sleep(1)
        held = collected()
        if len(reflector.store) != n:
            sys.exit(f"the store holds {len(reflector.store)} Pods, not {n}")
        print(
            json.dumps({
                "impl": "kubernetes-asyncio", "cmd": "fill", "n": n, "sync_s": wall, "cpu_s": used, "cpu_us": used / n * 1e6,
                "rss_per_obj_after_fill": (filled - base) / n, "rss_per_obj": (held - base) / n,
                "peak_rss_mb": memory("VmHWM") / 1e6,
            }),
            flush=True,
        )  # fmt: skip
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
