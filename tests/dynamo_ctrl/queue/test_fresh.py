"""Back-off that events cannot cheat, and the one run that a new spec gets before the back-off is over (R 4 33b, R 7.12)."""

from __future__ import annotations

from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue

Queue = WorkQueue[str]


def run(queue: Queue, now: float) -> Entry[str]:
    entry = queue.get(now)
    assert entry is not None
    return entry


def failing(times: int) -> tuple[Queue, float]:
    """A queue whose key "a" failed so many times in a row, and the time of the last failure."""
    queue, now = Queue(), 0.0
    queue.add("a", 0)
    for _ in range(times):
        now = max(now, queue.next() if queue.waiting else now)
        queue.failed(run(queue, now), now)
    return queue, now


def test_a_new_spec_runs_at_once_although_the_key_backs_off() -> None:
    queue, now = failing(15)
    assert queue.next() - now > 80
    queue.add("a", now + 1)
    assert queue.get(now + 1) is None, "any other event has to wait"
    queue.add("a", now + 1, fresh=True)
    assert run(queue, now + 1).key == "a"


def test_a_mended_spec_ends_the_back_off() -> None:
    queue, now = failing(15)
    queue.add("a", now, fresh=True)
    queue.done(run(queue, now), now)
    queue.add("a", now)
    assert queue.failed(run(queue, now), now) == 0.005


def test_r4_33b_it_is_had_once_in_a_wait() -> None:
    queue, now = failing(15)
    end = queue.next()
    queue.add("a", now + 1, fresh=True)
    queue.failed(run(queue, now + 1), now + 1)
    queue.add("a", now + 2, fresh=True)
    assert queue.get(now + 2) is None
    assert queue.next() == end


def test_r4_33b_a_failure_inside_the_wait_is_not_counted_again_and_moves_no_end() -> None:
    queue, now = failing(10)
    end = queue.next()
    queue.add("a", now + 0.5, fresh=True)
    assert queue.failed(run(queue, now + 0.5), now + 0.5) == end - (now + 0.5)
    assert queue.failures("a") == 10
    assert queue.next() == end
    assert queue.failed(run(queue, end), end) == 0.005 * 2**10


def test_the_next_wait_has_one_of_its_own() -> None:
    queue, now = failing(10)
    queue.add("a", now, fresh=True)
    queue.failed(run(queue, now), now)
    now = queue.next()
    queue.failed(run(queue, now), now)
    queue.add("a", now, fresh=True)
    assert run(queue, now).key == "a"


def test_a_new_spec_that_comes_while_a_run_fails_is_tried_at_once() -> None:
    queue, now = failing(10)
    now = queue.next()
    entry = run(queue, now)
    queue.add("a", now, fresh=True)
    queue.failed(entry, now)
    assert run(queue, now).key == "a"


def test_a_conflict_of_that_run_is_tried_again_soon_and_leaves_the_wait_alone() -> None:
    queue, now = failing(15)
    end = queue.next()
    queue.add("a", now, fresh=True)
    queue.conflicted(run(queue, now), now)
    assert queue.next() == now + 0.01
    entry = run(queue, now + 0.01)
    queue.add("a", now + 0.01)
    queue.failed(entry, now + 0.01)
    assert queue.next() == end


def test_a_held_back_key_lets_a_new_spec_through_once() -> None:
    queue = Queue()
    queue.add("a", 0)
    queue.slowed(run(queue, 0), 0, 100)
    queue.add("a", 1)
    assert queue.get(1) is None
    queue.add("a", 2, fresh=True)
    queue.slowed(run(queue, 2), 2, 100)
    assert queue.get(99) is None
    queue.add("a", 102)
    assert run(queue, 102).key == "a"


def test_slowing_down_forgets_failures_and_can_come_back_by_itself() -> None:
    queue, now = failing(5)
    now = queue.next()
    queue.slowed(run(queue, now), now, 10, after=3)
    assert queue.failures("a") == 0
    assert queue.next() == now + 10


# -- debounce


def test_r4_35_ten_events_in_a_second_are_one_run() -> None:
    queue = Queue()
    runs = []
    for step in range(30):
        now = step / 10
        if step < 10:
            queue.add("a", now, after=1.0)
        while (entry := queue.get(now)) is not None:
            runs.append(now)
            queue.done(entry, now)
    assert runs == [1.0]
    assert queue.numbers.retries == 0, "a debounced event is no retry"


def test_a_debounced_key_is_not_put_off_again_by_later_events() -> None:
    queue = Queue()
    for step in range(100):
        queue.add("a", step / 10, after=1.0)
        if (entry := queue.get(step / 10)) is not None:
            queue.done(entry, step / 10)
    assert queue.numbers.gets == 9


def test_an_event_without_debounce_does_not_wait_for_the_window() -> None:
    queue = Queue()
    queue.add("a", 0, after=1.0)
    queue.add("a", 0.1)
    assert run(queue, 0.1).key == "a"


# -- what is left behind


def test_an_ended_entry_holds_on_to_nothing() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue, 0)
    queue.add("a", 0)
    assert entry.successor is not None
    queue.done(entry, 0)
    assert entry.successor is None


def test_shut_down_drops_what_a_running_key_wants_later() -> None:
    queue = Queue()
    queue.add("a", 0)
    entry = run(queue, 0)
    queue.add_after("a", 5, 0)
    queue.shut_down(drain=True)
    queue.done(entry, 1)
    assert queue.finished
    assert "a" not in queue
    assert queue.get(10) is None
