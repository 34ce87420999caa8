"""One read from the cache and one status patch for each object."""

from __future__ import annotations

import argparse
import asyncio
import time

from dynamo_ctrl import Event, Manager, ManagerOptions, Request, Result, watching
from dynamo_ctrl.controller.options import ControllerOptions
from tests.benchmarks.ours.kinds import WIDGET, Widget, WidgetStatus
from tests.benchmarks.ours.measure import collected, cpu, emit, fail, run


class Marker:
    """Sets `status.run`, once for each object."""

    name = "bench"
    watches = watching(WIDGET)

    def __init__(self, mark: str, n: int) -> None:
        self.calls = 0
        self.written = 0
        self.everything = asyncio.Event()
        self._mark, self._n = mark, n

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        self.calls += 1
        status = request.object.status
        if status.run == self._mark:
            return Result()
        return Result(status=status.model_copy(update={"run": self._mark}))

    def transitions(self, old: WidgetStatus | None, new: WidgetStatus) -> tuple[Event, ...]:
        self.written += 1
        if self.written == self._n:
            self.everything.set()
        return ()


async def main(n: int, workers: int) -> None:
    marker = Marker(f"{time.time_ns():x}", n)
    options = ManagerOptions(controller=ControllerOptions(workers=workers))
    async with Manager(engine="kubernetes", options=options) as manager:
        informer = manager.cache.informer(WIDGET)
        running = asyncio.create_task(manager.run())
        await informer.wait_complete()
        if (found := len(manager.cache.view({WIDGET: informer}).list(WIDGET))) != n:
            fail(f"the cache holds {found} objects, not {n}")
        await asyncio.sleep(1)
        collected()
        before, began = cpu(), time.perf_counter()
        manager.add(marker)
        await marker.everything.wait()
        wall, used = time.perf_counter() - began, cpu() - before
        await asyncio.sleep(1)
        emit(
            cmd="status", n=n, workers=workers, wall_s=wall, per_s=n / wall, cpu_s=used, cpu_us=used / n * 1e6,
            calls=marker.calls, patches=marker.written,
        )  # fmt: skip
        manager.stop()
        await running


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--n", type=int, default=2_000, help="widgets on the server")
    flags.add_argument("--workers", type=int, default=1)
    given = flags.parse_args()
    run(main(given.n, given.workers))
