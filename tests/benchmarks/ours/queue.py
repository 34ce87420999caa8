"""The work queue alone: what a controller asks of it for each run, with the clock read as often as a worker does."""

from __future__ import annotations

import argparse
import time

from dynamo_ctrl import Key
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.workqueue import WorkQueue
from tests.benchmarks.ours.kinds import NAMESPACE
from tests.benchmarks.ours.measure import emit, per_operation
from tests.benchmarks.ours.objects import name

KEYS = 10_000


def main(seconds: float) -> None:
    keys = [Key(NAMESPACE, name(i)) for i in range(KEYS)]
    cause = Cause("bench", "fed")
    queue: WorkQueue[Key] = WorkQueue()
    monotonic = time.monotonic

    def one(i: int) -> None:
        queue.add(keys[i % KEYS], monotonic(), cause=cause)
        entry = queue.get(monotonic())
        assert entry is not None
        queue.done(entry, monotonic())

    def batch(_: int) -> None:
        for key in keys:
            queue.add(key, monotonic(), cause=cause)
        for _ in range(KEYS):
            entry = queue.get(monotonic())
            assert entry is not None
            queue.done(entry, monotonic())

    of_one = per_operation(one, seconds)
    of_many = per_operation(batch, seconds)
    emit(cmd="queue", pingpong=of_one, batch10k={"ns": of_many["ns"] / KEYS, "ops": of_many["ops"] * KEYS})


if __name__ == "__main__":
    flags = argparse.ArgumentParser()
    flags.add_argument("--seconds", type=float, default=1.0, help="for one figure, at least")
    main(flags.parse_args().seconds)
