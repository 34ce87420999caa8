"""The state table of R 3.6, call by call, and what the queue does with time and back-off."""

from __future__ import annotations

import math

import pytest

from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.causes import MAX_CAUSES, Cause
from dynamo_ctrl.queue.delay import MAX_DELAY
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue

Queue = WorkQueue[str]


def run(queue: Queue, now: float = 0.0) -> Entry[str]:
    entry = queue.get(now)
    assert entry is not None
    return entry


def names(queue: Queue, now: float) -> list[str]:
    """Take everything that is ready, and end each run."""
    taken = []
    while (entry := queue.get(now)) is not None:
        taken.append(entry.key)
        queue.done(entry, now)
    return taken


def finished(queue: Queue) -> bool:
    return queue.finished


def test_a_key_is_in_the_queue_at_most_once() -> None:
    queue = Queue()
    for _ in range(3):
        queue.add("a", 0)
    assert len(queue) == 1
    assert names(queue, 0) == ["a"]
    assert "a" not in queue


def test_keys_come_in_the_order_of_their_first_add() -> None:
    queue = Queue()
    for key in "abca":
        queue.add(key, 0)
    assert names(queue, 0) == ["a", "b", "c"]


def test_a_processing_key_is_not_handed_out_again() -> None:
    queue = Queue()
    queue.add("a", 0)
    run(queue)
    queue.add("a", 0)
    assert queue.get(0) is None
    assert queue.processing == 1


def test_a_key_that_was_added_while_it_ran_is_queued_at_the_tail() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.add("b", 0)
    entry = run(queue)
    queue.add("a", 0)
    queue.add("a", 0)
    queue.done(entry, 0)
    assert names(queue, 0) == ["b", "a"]


def test_a_key_is_gone_after_a_run_that_nothing_disturbed() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.done(run(queue), 0)
    assert "a" not in queue
    assert queue.get(math.inf) is None


def test_an_entry_can_be_ended_only_once() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.add("b", 0)
    entry = run(queue)
    queue.add("a", 0)
    queue.done(entry, 0)
    with pytest.raises(ValueError, match="is not running"):
        queue.done(entry, 0)


def test_of_several_delays_the_earliest_wins() -> None:
    queue = Queue()
    queue.add_after("a", 10, 0)
    queue.add_after("a", 3, 0)
    queue.add_after("a", 7, 0)
    assert queue.next() == 3
    assert queue.waiting == 1
    assert names(queue, 2.9) == []
    assert names(queue, 3) == ["a"]
    assert queue.next() == math.inf


def test_delayed_keys_fire_in_the_order_of_their_times() -> None:
    queue = Queue()
    for key, delay in (("c", 3), ("a", 1), ("b", 2)):
        queue.add_after(key, delay, 0)
    assert names(queue, 5) == ["a", "b", "c"]


@pytest.mark.parametrize("delay", [0, -1, -math.inf])
def test_no_delay_means_now(delay: float) -> None:
    queue = Queue()
    queue.add_after("a", delay, 0)
    assert names(queue, 0) == ["a"]


def test_an_add_without_delay_takes_the_key_out_of_waiting() -> None:
    queue = Queue()
    queue.add_after("a", 10, 0)
    queue.add("a", 1)
    assert names(queue, 1) == ["a"]
    assert names(queue, 11) == []


@pytest.mark.parametrize("delay", [MAX_DELAY * 10, math.inf], ids=["R4-36-years", "R4-36-infinite"])
def test_a_delay_is_clamped(delay: float) -> None:
    queue = Queue()
    queue.add_after("a", delay, 0)
    assert queue.next() == MAX_DELAY


def test_a_delay_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        Queue().add_after("a", math.nan, 0)


def test_a_delayed_add_while_the_key_runs_counts_from_then() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue)
    queue.add_after("a", 5, 1)
    queue.done(entry, 2)
    assert queue.next() == 6


def test_a_requeue_and_an_add_while_running_give_one_run_now() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue)
    queue.add("a", 0)
    queue.done(entry, 1, after=60)
    assert names(queue, 1) == ["a"]
    assert queue.next() == math.inf


def test_requeue_after_waits_and_an_event_brings_it_forward() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.done(run(queue), 0, after=60)
    assert queue.next() == 60
    queue.add("a", 5)
    assert names(queue, 5) == ["a"]


def fail(queue: Queue, now: float) -> float:
    return queue.failed(run(queue, now), now)


def test_failures_back_off_exponentially_up_to_the_cap() -> None:
    queue = Queue()
    queue.add("a", 0)
    now, delays = 0.0, []
    for _ in range(25):
        delays.append(fail(queue, now))
        now += delays[-1]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[17] == 0.005 * 2**17
    assert delays[18:] == [1000.0] * 7  # the 19th failure reaches the cap (R 3.7)


def test_r4_33b_an_event_in_back_off_neither_runs_the_key_nor_changes_the_next_delay() -> None:
    queue = Queue()
    queue.add("a", 0)
    assert [fail(queue, 0), fail(queue, 0.005)] == [0.005, 0.01]
    for _ in range(100):
        queue.add("a", 0.006)
    assert queue.get(0.0149) is None
    assert queue.failures("a") == 2
    assert fail(queue, 0.015) == 0.02


def test_r4_33b_an_event_during_a_failing_run_does_not_bypass_its_back_off() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue)
    queue.add("a", 0)
    assert queue.failed(entry, 1) == 0.005
    assert queue.get(1) is None
    assert names(queue, 1.005) == ["a"]


def test_r4_33c_failures_and_successes_both_reach_the_back_off() -> None:
    queue = Queue()
    queue.add("a", 0)
    fail(queue, 0)
    queue.done(run(queue, 1), 1)
    queue.add("a", 1)
    assert fail(queue, 1) == 0.005


def test_back_off_belongs_to_one_key() -> None:
    queue = Queue()
    for key in "ab":
        queue.add(key, 0)
    fail(queue, 0)
    assert names(queue, 0) == ["b"]


def test_a_released_key_comes_back_with_the_next_add_and_at_once() -> None:
    queue = Queue()
    queue.add("a", 0)
    fail(queue, 0)
    queue.released(run(queue, 1), 1)
    assert queue.get(math.inf) is None
    queue.add("a", 2)
    assert run(queue, 2).key == "a"
    assert queue.failures("a") == 1


def test_r4_38_conflicts_come_back_quickly_within_a_bound_and_are_no_failures() -> None:
    queue = Queue(conflicts=Backoff(base=0.01, cap=0.1))
    queue.add("a", 0)
    now, waits = 0.0, []
    for count in range(1, 7):
        assert queue.conflicted(run(queue, now), now) == count
        waits.append(round(queue.next() - now, 6))
        now = queue.next()
    assert waits == [0.01, 0.02, 0.04, 0.08, 0.1, 0.1]
    assert queue.failures("a") == 0


def test_a_conflict_keeps_the_failures_before_it() -> None:
    queue = Queue()
    queue.add("a", 0)
    fail(queue, 0)
    queue.conflicted(run(queue, 1), 1)
    assert fail(queue, 2) == 0.01


def test_progress_runs_at_once_ten_times_and_then_backs_off() -> None:
    queue = Queue()
    queue.add("a", 0)
    assert [queue.progressed(run(queue), 0) for _ in range(10)] == [True] * 10
    assert queue.progressed(run(queue), 0) is False
    assert queue.next() == 0.005
    queue.add("a", 0)
    assert queue.get(0) is None, "an event does not help a key that spins"
    assert queue.progressed(run(queue, 0.005), 0.005) is False
    assert queue.next() == 0.015
    queue.done(run(queue, 1), 1)
    queue.add("a", 1)
    assert queue.progressed(run(queue, 1), 1) is True


def test_causes_are_merged_bounded_and_belong_to_one_run() -> None:
    queue = Queue()
    causes = [Cause("pods", "updated", None, str(n), str(n + 1)) for n in range(MAX_CAUSES + 3)]
    for cause in (causes[0], *causes):
        queue.add("a", 0, cause=cause)
    entry = run(queue)
    assert entry.causes == tuple(causes[:MAX_CAUSES])
    queue.add("a", 0, cause=causes[9])
    queue.done(entry, 0)
    assert run(queue).causes == (causes[9],)


def test_a_retry_says_so_in_its_causes_together_with_what_came_meanwhile() -> None:
    queue = Queue()
    queue.add("a", 0, cause=Cause("pods", "created"))
    fail(queue, 0)
    queue.add("a", 0, cause=Cause("pods", "deleted"))
    assert [str(cause) for cause in run(queue, 1).causes] == ["retry failed", "pods deleted"]


def test_shut_down_hands_out_what_is_ready_and_drops_the_rest() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.add("b", 0)
    queue.add_after("c", 1, 0)
    entry = run(queue)
    queue.shut_down()
    queue.add("d", 0)
    assert not finished(queue)
    assert names(queue, 10) == ["b"]
    assert finished(queue)
    assert queue.failed(entry, 10) > 0
    assert queue.get(math.inf) is None


def test_a_dirty_key_that_fails_after_the_shut_down_does_not_come_back() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue)
    queue.add("a", 0)
    queue.shut_down(drain=True)
    queue.failed(entry, 0)
    assert queue.finished
    assert "a" not in queue


def test_drain_waits_for_running_keys_and_for_those_that_they_left_dirty() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue)
    queue.add("a", 0)
    queue.shut_down(drain=True)
    assert not finished(queue)
    queue.done(entry, 0)
    assert not finished(queue)
    entry = run(queue)
    assert not finished(queue)
    queue.done(entry, 0, after=5)
    assert finished(queue)
    assert queue.next() == math.inf


def test_an_immediate_shut_down_wins_over_a_drain() -> None:
    queue = Queue()
    queue.add("a", 0)
    run(queue)
    queue.shut_down(drain=True)
    queue.shut_down()
    assert finished(queue)


def test_numbers_follow_client_go() -> None:
    queue = Queue()
    numbers = queue.numbers
    queue.add("a", 0)
    queue.add("a", 0)
    assert numbers.adds == 1
    entry = run(queue, 2)
    queue.add("a", 2)
    queue.add("a", 2)
    assert numbers.adds == 2
    queue.done(entry, 5)
    queue.done(run(queue, 5), 5, after=10)
    assert (numbers.adds, numbers.retries, len(queue)) == (2, 1, 0)
    run(queue, 15.5)
    assert numbers.adds == 3
    assert (numbers.waited.count, numbers.waited.sum) == (
        3,
        5.5,
    )  # as in client-go, a key that is wanted again has waited since it was added
    assert (numbers.worked.count, numbers.worked.sum) == (2, 3.0)
    assert dict(numbers.worked.cumulative())[1.0] == 1


def test_moved_keys_do_not_make_the_heap_grow() -> None:
    queue = Queue()
    for step in range(10_000):
        queue.add_after("a", 100 - step / 1000, 0)
    assert queue.waiting == 1
    assert len(queue._delays._heap) < 100


@pytest.mark.parametrize(("base", "cap"), [(0, 1), (-1, 1), (2, 1), (1, math.inf)])
def test_a_back_off_needs_sensible_bounds(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match="0 < base <= cap"):
        Backoff(base=base, cap=cap)


def test_a_back_off_never_overflows() -> None:
    assert Backoff(base=0.005, cap=1000).delay(10**9) == 1000
