"""The limiters of R 3.7, figure by figure."""

from __future__ import annotations

import math

import pytest

from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.limiters import FastSlow, Limiter, MaxOf, MaxWait, TokenBucket
from dynamo_ctrl.queue.workqueue import WorkQueue


def delays(limiter: Limiter, *failures: int, now: float = 0.0) -> list[float]:
    return [limiter.delay(count, now) for count in failures]


def test_exponential_doubles_from_its_base_to_its_cap() -> None:
    limiter = Backoff(base=0.005, cap=1000)
    assert delays(limiter, 0, 1, 2, 3, 18, 19, 20) == [0, 0.005, 0.01, 0.02, 0.005 * 2**17, 1000, 1000]


def test_exponential_waits_in_total_what_client_go_waits() -> None:
    total = [sum(delays(Backoff(), *range(1, n + 1))) for n in (10, 15, 18)]
    assert total == pytest.approx([5.115, 163.835, 1310.715])


@pytest.mark.parametrize("failures", [64, 65, 1000, 10**9])
def test_exponential_never_overflows(failures: int) -> None:
    assert Backoff(base=0.005, cap=1000).delay(failures) == 1000
    assert Backoff(base=1e-9, cap=1e300).delay(failures) <= 1e300


def test_a_bucket_gives_its_burst_at_once_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=10, burst=100)
    assert delays(bucket, *[1] * 100) == [0] * 100
    assert delays(bucket, 1, 1, 1) == pytest.approx([0.1, 0.2, 0.3])


def test_a_bucket_refills_with_time_up_to_its_burst() -> None:
    bucket = TokenBucket(rate=10, burst=2)
    assert delays(bucket, 1, 1, 1) == pytest.approx([0, 0, 0.1])
    assert bucket.delay(1, 0.1) == pytest.approx(0.1), "the token of 0.1 is reserved already"
    assert delays(bucket, 1, 1, 1, now=1000) == pytest.approx([0, 0, 0.1])


def test_a_bucket_is_not_confused_by_a_time_that_went_back() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    assert bucket.delay(1, 10) == 0
    assert bucket.delay(1, 5) == 1


def test_max_of_takes_the_longest_and_advances_all() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    both = MaxOf(Backoff(base=5, cap=100), bucket)
    assert delays(both, 1, 2) == [5, 10]
    assert bucket.delay(1, 0) == 2, "the two tokens were taken although they did not matter"
    assert MaxOf().delay(3, 0) == 0


def test_fast_slow() -> None:
    assert delays(FastSlow(fast=0.01, slow=5, tries=3), 1, 2, 3, 4, 5) == [0.01, 0.01, 0.01, 5, 5]


def test_max_wait_cuts() -> None:
    assert delays(MaxWait(Backoff(base=1, cap=1000), 3), 1, 2, 3, 30) == [1, 2, 3, 3]


@pytest.mark.parametrize(("rate", "burst", "field"), [(0, 1, "rate"), (math.inf, 1, "rate"), (1, 0, "burst")])
def test_a_bucket_names_the_field_that_is_wrong(rate: float, burst: int, field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must"):
        TokenBucket(rate=rate, burst=burst)


def test_a_queue_takes_any_limiter_and_forgets_on_success() -> None:
    queue: WorkQueue[str] = WorkQueue(failures=FastSlow(fast=1, slow=60, tries=1))
    queue.add("a", 0)
    waits, now = [], 0.0
    for _ in range(3):
        entry = queue.get(now)
        assert entry is not None
        waits.append(queue.failed(entry, now))
        now += waits[-1]
    assert waits == [1, 60, 60]
    entry = queue.get(now)
    assert entry is not None
    queue.done(entry, now)
    queue.add("a", now)
    entry = queue.get(now)
    assert entry is not None
    assert queue.failed(entry, now) == 1


def test_the_default_controller_limiter_slows_many_keys_together() -> None:
    queue: WorkQueue[int] = WorkQueue(failures=MaxOf(Backoff(), TokenBucket(rate=10, burst=100)))
    waits = []
    for key in range(102):
        queue.add(key, 0)
        entry = queue.get(0)
        assert entry is not None
        waits.append(queue.failed(entry, 0))
    assert waits[:100] == [0.005] * 100
    assert waits[100:] == pytest.approx([0.1, 0.2])
