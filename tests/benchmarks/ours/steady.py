"""Empty reconciles through a manager's controller: priority queue, causes, metrics, outer reconciler; keys fed in process."""

from __future__ import annotations

import asyncio
import time

from dynamo_ctrl import Key, ManagerOptions, Request, Result, watching
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.queue.causes import Cause
from tests.benchmarks.ours.kinds import NAMESPACE, POD, Pod
from tests.benchmarks.ours.measure import cpu, emit, run, until
from tests.benchmarks.ours.objects import name
from tests.benchmarks.ours.world import arguments, managed

SOURCE = "bench"


class Empty:
    """Answers at once, and counts."""

    name = "bench"
    watches = watching(POD)

    def __init__(self, window: int) -> None:
        self.calls = 0
        self.outstanding = 0
        self._window = window
        self._room: asyncio.Future[None] | None = None

    def reconcile(self, request: Request[Pod]) -> Result[None]:
        self.calls += 1
        self.outstanding -= 1
        if self._room is not None and self.outstanding < self._window:
            self._room.set_result(None)
            self._room = None
        return Result()

    async def room(self) -> None:
        """Wait, while the window is full: returns when less is outstanding."""
        self._room = asyncio.get_running_loop().create_future()
        await self._room


async def main(engine: str, n: int, workers: int, total: int, window: int) -> None:
    program = Empty(window)
    options = ManagerOptions(controller=ControllerOptions(workers=workers))
    async with managed(engine, n, program, options=options) as manager:
        running = asyncio.create_task(manager.run())
        await manager.synced()
        await until(lambda: program.calls >= n)
        await asyncio.sleep(0.5)
        (controller,) = manager.controllers
        keys = [Key(NAMESPACE, name(i)) for i in range(n)]
        program.calls = program.outstanding = 0
        before, began = cpu(), time.perf_counter()
        for i in range(total):
            if program.outstanding >= window:
                await program.room()
            program.outstanding += 1
            key = keys[i % n]
            controller.wake(key, Cause(SOURCE, "fed", key))
        await until(lambda: program.calls >= total, every=0.001)
        wall, used = time.perf_counter() - began, cpu() - before
        emit(
            cmd="steady",
            n=n,
            workers=workers,
            window=window,
            wall_s=wall,
            per_s=total / wall,
            cpu_us=used / total * 1e6,
        )
        manager.stop()
        await running


if __name__ == "__main__":
    flags = arguments()
    flags.add_argument("--workers", type=int, default=1)
    flags.add_argument("--total", type=int, default=300_000, help="keys that are added")
    flags.add_argument("--window", type=int, default=1_000, help="most keys outstanding")
    given = flags.parse_args()
    run(main(given.engine, given.n, given.workers, given.total, given.window))
