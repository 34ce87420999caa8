"""A million keys (R 4, 32): bounds by ratio, so that the speed of the machine does not matter."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from dynamo_ctrl.queue.entry import LOW
from dynamo_ctrl.queue.workqueue import WorkQueue

MILLION = 1_000_000
BYTES_PER_KEY = 400


@contextmanager
def no_garbage_collector() -> Iterator[None]:
    """The collector's own cost grows with everything that the process holds; it is not what is measured here."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds_each(action: Callable[[int], object], keys: range) -> float:
    began = time.process_time()
    for key in keys:
        action(key)
    return (time.process_time() - began) / len(keys)


def test_r4_32_adds_and_gets_cost_as_much_with_a_million_keys_as_with_a_few() -> None:
    random = Random(1)
    priorities = [random.choice((LOW, 0, 0, 0, 5)) for _ in range(1009)]
    delays = [random.random() * 1000 for _ in range(1013)]
    queue: WorkQueue[int] = WorkQueue()

    def add(key: int) -> None:
        if key % 4:
            queue.add(key, 0, priority=priorities[key % 1009])
        else:
            queue.add_after(key, delays[key % 1013], 0)

    def take(key: int) -> None:
        entry = queue.get(0)
        assert entry is not None
        queue.done(entry, 0)

    with no_garbage_collector():
        few = min(seconds_each(add, range(start, start + 10_000)) for start in range(0, 50_000, 10_000))
        seconds_each(add, range(50_000, MILLION - 50_000))
        many = min(
            seconds_each(add, range(start, start + 10_000)) for start in range(MILLION - 50_000, MILLION, 10_000)
        )
        assert len(queue) + queue.waiting == MILLION
        taken = min(seconds_each(take, range(10_000)) for _ in range(3))
    assert many < 5 * few, f"{many * 1e9:.0f} ns against {few * 1e9:.0f} ns"
    assert taken < 20 * few, f"{taken * 1e9:.0f} ns against {few * 1e9:.0f} ns"


def test_r4_32_a_million_keys_fit_into_memory() -> None:
    sample = MILLION // 10
    queue: WorkQueue[int] = WorkQueue()
    keys = list(range(sample))
    tracemalloc.start()
    try:
        for key in keys:
            queue.add(key, float(key))
        each = tracemalloc.get_traced_memory()[0] / sample
    finally:
        tracemalloc.stop()
    assert each < BYTES_PER_KEY, f"{each:.0f} bytes each, without the key itself"


def test_a_thousand_different_priorities_lose_no_key() -> None:
    queue: WorkQueue[int] = WorkQueue()
    for key in range(20_000):
        queue.add(key, key / 1000, priority=key * 7919 % 1000)
    served = []
    while (entry := queue.get(40)) is not None:
        served.append(entry.key)
        queue.done(entry, 40)
    assert sorted(served) == list(range(20_000))
