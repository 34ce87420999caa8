"""From a write to the reconcile: the reader. It notes when a reconcile saw which write."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from dynamo_ctrl import Manager, Request, Result, watching
from tests.benchmarks.ours.kinds import TIMESTAMP, WIDGET, Widget
from tests.benchmarks.ours.measure import cpu, emit, run, until


class Reader:
    """Notes name, timestamp of the write, and the time of entry."""

    name = "bench"
    watches = watching(WIDGET)

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int]] = []

    def reconcile(self, request: Request[Widget]) -> Result[None]:
        entry = time.time_ns()
        metadata = request.object.metadata
        self.rows.append((metadata.name, metadata.annotations.get(TIMESTAMP, ""), entry))
        return Result()

    def write(self, out: Path) -> None:
        out.write_text("".join(f"{name},{stamp},{entry}\n" for name, stamp, entry in self.rows))


async def main(n: int, out: Path, tell: Callable[[], None], idle: float) -> None:
    reader = Reader()
    async with Manager(engine="kubernetes", programs=[reader]) as manager:
        running = asyncio.create_task(manager.run())
        await until(lambda: len(reader.rows) >= n)
        await asyncio.sleep(0.5)
        reader.rows.clear()
        before = cpu()
        tell()
        await until(lambda: bool(reader.rows))
        await until(lambda: time.time_ns() - reader.rows[-1][2] > idle * 1e9, every=0.05)
        used = cpu() - before
        reader.write(out)
        emit(cmd="latency", workers=1, rows=len(reader.rows), cpu_s=used)
        manager.stop()
        await running


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--n", type=int, default=2_000, help="widgets on the server")
    flags.add_argument("--out", type=Path, required=True, help="where the rows go")
    flags.add_argument("--ready", type=Path, required=True, help="the file that is made when the controller is idle")
    flags.add_argument("--idle", type=float, default=3.0, help="stop so many seconds after the last event")
    given = flags.parse_args()
    run(main(given.n, given.out, given.ready.touch, given.idle))
