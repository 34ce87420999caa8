"""From the start of the process to the first reconcile, and to the n-th: an operator's whole main program, and two clocks."""

import time

STARTED = time.time_ns()

import asyncio  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

import structlog  # noqa: E402
import uvloop  # noqa: E402

from dynamo_ctrl import Manager, Request, Result, watching  # noqa: E402
from dynamo_ctrl.objects.builtin.core import POD, Pod  # noqa: E402


class Counter:
    name = "bench"
    watches = watching(POD)

    def __init__(self, n: int) -> None:
        self.calls = self.first = self.last = 0
        self.everything = asyncio.Event()
        self._n = n

    def reconcile(self, request: Request[Pod]) -> Result[None]:
        self.calls += 1
        if self.calls == 1:
            self.first = time.time_ns()
        if self.calls == self._n:
            self.last = time.time_ns()
            self.everything.set()
        return Result()


async def main(n: int) -> None:
    counter = Counter(n)
    async with Manager(engine="kubernetes", programs=[counter]) as manager:
        built = time.time_ns()
        running = asyncio.create_task(manager.run())
        await counter.everything.wait()
        spawned = int(os.environ["BENCH_T0_NS"])
        marks = {"main_ms": STARTED, "built_ms": built, "first_ms": counter.first, "all_ms": counter.last}

        from tests.benchmarks.ours.measure import cpu, emit

        emit(cmd="restart", n=n, cpu_s=cpu(), **{name: (at - spawned) / 1e6 for name, at in marks.items()})
        manager.stop()
        await running


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        runner.run(main(int(sys.argv[1])))
