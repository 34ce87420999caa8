"""Reads of a synced cache: by key, by a declared index, by namespace and label selector."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from dynamo_ctrl import Index, Key
from tests.benchmarks.ours.kinds import NAMESPACE, POD
from tests.benchmarks.ours.measure import collected, emit, fail, per_operation, run
from tests.benchmarks.ours.objects import app, name
from tests.benchmarks.ours.world import arguments, managed

BY_APP = Index("app", POD, lambda pod: (pod.metadata.labels["app"],))


async def main(engine: str, n: int, seconds: float) -> None:
    async with managed(engine, n) as manager:
        informer = manager.cache.informer(POD)
        informer.add_index(BY_APP)
        view = manager.cache.view({POD: informer})
        running = asyncio.create_task(manager.run())
        await informer.wait_complete()
        await asyncio.sleep(1)
        collected()
        emit(cmd="lookup", n=n, **figures(view, n, seconds))
        manager.stop()
        await running


def figures(view: Any, n: int, seconds: float) -> dict[str, dict[str, float]]:
    order = list(range(n))
    random.Random(1).shuffle(order)
    keys = [Key(NAMESPACE, name(i)) for i in order]
    apps = [app(i) for i in order]
    if any(view.get(POD, key) is None for key in keys):
        fail("a Pod is not in the cache")
    groups = (view.by_index(BY_APP, "app-7"), view.list(POD, namespace=NAMESPACE, selector={"app": "app-7"}))
    if any(len(group) != 10 for group in groups):
        fail(f"not ten Pods each: {groups}")
    return {
        "get_spread": per_operation(lambda i: view.get(POD, keys[i % n]), seconds),
        "index_spread": per_operation(lambda i: view.by_index(BY_APP, apps[i % n]), seconds),
        "index_hot": per_operation(lambda i: view.by_index(BY_APP, "app-7"), seconds),
        "label": per_operation(lambda i: view.list(POD, namespace=NAMESPACE, selector={"app": "app-7"}), seconds),
    }


if __name__ == "__main__":
    given = arguments().parse_args()
    run(main(given.engine, given.n, given.seconds))
