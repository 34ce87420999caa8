"""Priorities: the order of R 3.6, an end to starving (R 4, 29), priorities that are kept (R 4, 30), bounded labels (R 4, 28)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.queue.entry import LOW, Entry
from dynamo_ctrl.queue.fifo import Fifo
from dynamo_ctrl.queue.priority import MAX_LABELS, OVERFLOW, Ageing, Priorities
from dynamo_ctrl.queue.workqueue import WorkQueue

Queue = WorkQueue[str]


def run(queue: Queue, now: float = 0.0) -> Entry[str]:
    entry = queue.get(now)
    assert entry is not None
    return entry


def names(queue: Queue, now: float = 0.0) -> list[str]:
    """Take everything that is ready, and end each run."""
    taken = []
    while (entry := queue.get(now)) is not None:
        taken.append(entry.key)
        queue.done(entry, now)
    return taken


def fill(queue: Queue, **priorities: int) -> None:
    for key, priority in priorities.items():
        queue.add(key, 0, priority=priority)


def test_the_highest_priority_goes_first_and_within_one_who_came_first() -> None:
    queue = Queue()
    fill(queue, a=0, b=LOW, c=5, d=0, e=LOW, f=5)
    assert names(queue) == ["c", "f", "a", "d", "b", "e"]


def test_a_known_key_is_raised_and_never_lowered() -> None:
    queue = Queue()
    fill(queue, a=0, b=0)
    queue.add("b", 0, priority=5)
    queue.add("b", 0, priority=LOW)
    assert names(queue) == ["b", "a"]


def test_a_raised_key_goes_to_the_end_of_its_new_class() -> None:
    queue = Queue()
    fill(queue, a=LOW, b=0, c=LOW, d=0)
    queue.add("a", 0)
    assert names(queue) == ["b", "d", "a", "c"]


def test_a_waiting_key_takes_the_earlier_time_and_the_higher_priority() -> None:
    queue = Queue()
    queue.add_after("a", 10, 0, priority=5)
    queue.add_after("a", 3, 0, priority=LOW)
    queue.add("b", 3)
    assert names(queue, 3) == ["a", "b"]


def test_a_key_that_becomes_ready_stands_behind_those_that_are() -> None:
    queue = Queue()
    queue.add_after("a", 1, 0)
    queue.add("b", 0.5)
    assert names(queue, 2) == ["b", "a"]


def test_a_key_that_is_wanted_while_it_runs_keeps_its_place() -> None:
    queue = Queue()
    queue.add("a", 0)
    first = run(queue)
    for key in ("a", "b"):
        queue.add(key, 0)
    queue.done(first, 0)
    assert names(queue) == ["a", "b"]


def test_keys_that_were_passed_over_while_they_ran_go_in_the_order_of_their_places() -> None:
    queue = Queue()
    fill(queue, a=0, b=0)
    first, second = run(queue), run(queue)
    for key in ("a", "b", "c", "d"):
        queue.add(key, 0)
    queue.done(run(queue), 0)  # c: a and b are passed over
    queue.done(second, 0)
    queue.done(first, 0)
    assert names(queue) == ["a", "b", "d"]


def test_a_key_that_is_raised_while_it_runs_moves_to_the_higher_class() -> None:
    queue = Queue()
    queue.add("a", 0)
    first = run(queue)
    for key in ("b", "a", "c"):
        queue.add(key, 0)
    queue.add("a", 0, priority=5)
    assert run(queue).key == "b"
    queue.done(first, 0)
    assert names(queue) == ["a", "c"]


def test_a_key_that_is_raised_while_it_runs_counts_once_when_it_is_done() -> None:
    queue = Queue()
    queue.add("a", 0)
    first = run(queue)
    queue.add("a", 0)
    queue.add("a", 0, priority=5)
    assert len(queue) == 0
    queue.done(first, 0)
    assert dict(queue.depths()) == {"0": 0, "5": 1}
    assert names(queue) == ["a"]
    assert len(queue) == 0


def test_in_the_plain_order_priorities_change_nothing() -> None:
    queue = Queue(order=Fifo())
    fill(queue, a=LOW, b=5, c=0)
    queue.add("c", 0, priority=9)
    assert dict(queue.depths()) == {"": 3}
    assert names(queue) == ["a", "b", "c"]


# -- R 4, 30


@pytest.mark.parametrize("end", ["failed", "conflicted", "progressed"])
def test_r4_30_the_priority_is_kept_until_a_successful_run(end: str) -> None:
    queue = Queue()
    fill(queue, a=7, b=0)
    getattr(queue, end)(run(queue), 0)
    queue.add("c", 0.1)
    again = run(queue, 0.1)
    assert (again.key, again.priority) == ("a", 7)
    queue.done(again, 0.1)
    queue.add("a", 0.2)
    assert names(queue, 0.2) == ["b", "c", "a"]


def test_r4_30_a_requeue_keeps_the_priority_too() -> None:
    queue = Queue()
    fill(queue, a=7)
    queue.done(run(queue), 0, after=5)
    queue.add("b", 5)
    assert names(queue, 5) == ["a", "b"]


@pytest.mark.parametrize("end", ["done", "failed", "conflicted", "progressed"])
def test_an_end_can_override_the_priority(end: str) -> None:
    queue = Queue()
    fill(queue, a=7)
    options = {"after": 0.0} if end == "done" else {}
    getattr(queue, end)(run(queue), 0, priority=LOW, **options)
    queue.add("b", 1)
    assert names(queue, 1) == ["b", "a"]


def test_what_is_wanted_meanwhile_and_what_comes_back_have_the_higher_of_both_priorities() -> None:
    queue = Queue()
    fill(queue, a=LOW)
    entry = run(queue)
    queue.add("a", 0, priority=3)
    queue.failed(entry, 0)
    assert run(queue, 1).priority == 3
    queue = Queue()
    fill(queue, a=3)
    entry = run(queue)
    queue.add("a", 0, priority=LOW)
    queue.done(entry, 0, after=1)
    assert run(queue, 0).priority == 3


# -- R 4, 29


def test_r4_29_a_low_priority_under_endless_high_ones_runs_after_its_patience() -> None:
    queue = Queue(order=Priorities(Ageing(patience=10, share=4)))
    queue.add("low", 0, priority=LOW)
    served, now = [], 0.0
    while "low" not in served:
        now += 0.1
        queue.add(f"high-{now}", now)
        entry = run(queue, now)
        served.append(entry.key)
        queue.done(entry, now)
    assert 10.0 <= now <= 10.0 + 4 * 0.1 + 1e-6


def test_r4_29_a_class_that_was_empty_for_a_while_ages_again() -> None:
    queue = Queue(order=Priorities(Ageing(patience=10, share=2)))
    for start in (0.0, 100.0, 200.0):
        queue.add("low", start, priority=LOW)
        served = []
        for step in range(8):
            queue.add(f"high-{step}", start + 20)
            served.append(run(queue, start + 20))
            queue.done(served[-1], start + 20)
        assert "low" in [entry.key for entry in served]
        names(queue, start + 20)


def test_before_patience_is_over_priorities_are_strict() -> None:
    queue = Queue(order=Priorities(Ageing(patience=10, share=1)))
    queue.add("low", 0, priority=LOW)
    for number in range(50):
        queue.add(str(number), 9.9)
        assert run(queue, 9.9).key == str(number)


def test_aged_keys_leave_the_larger_share_to_higher_priorities() -> None:
    queue = Queue(order=Priorities(Ageing(patience=10, share=4)))
    for number in range(100):
        queue.add(f"low-{number}", 0, priority=LOW)
    for number in range(300):
        queue.add(f"high-{number}", 100)
    served = [run(queue, 100).key for _ in range(100)]
    assert sum(key.startswith("low") for key in served) == 25
    assert [key for key in served if key.startswith("low")] == [f"low-{number}" for number in range(25)]


@settings(deadline=None)
@given(
    before=st.lists(st.sampled_from([-200, LOW, 0, 5]), max_size=12),
    adversary=st.lists(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([LOW, 0, 5, 99])), max_size=4)),
    share=st.integers(1, 5),
    data=st.data(),
)
def test_r4_29_the_wait_is_bounded_whatever_is_added(
    before: list[int], adversary: list[list[tuple[int, int]]], share: int, data: st.DataObject
) -> None:
    """k entries were ready when it got its place: it runs within (k + 1) * share hand-outs once its patience is over."""
    patience = 10.0
    queue = Queue(order=Priorities(Ageing(patience=patience, share=share)))
    for number, priority in enumerate(before):
        queue.add(f"before-{number}", 0, priority=priority)
    bound = (len(queue) + 1) * share
    queue.add("target", 1, priority=LOW)
    running: list[Entry[str]] = []
    now = 1 + patience
    for step in range(bound):
        now += data.draw(st.sampled_from([0.0, 0.1, 20.0]), label="time")
        for key, priority in adversary[step % len(adversary)] if adversary else []:
            queue.add(f"k{key}", now, priority=priority)
        queue.add(f"high-{step}", now, priority=50)
        entry = run(queue, now)
        if entry.key == "target":
            break
        running.append(entry)
        if len(running) > 3:
            queue.done(running.pop(0), now)
    else:
        raise AssertionError(f"starved for {bound} hand-outs")


# -- R 4, 28


def test_r4_28_depth_is_told_by_priority_and_ready_keys_count_only() -> None:
    queue = Queue()
    fill(queue, a=0, b=LOW, c=LOW, d=0)
    queue.add_after("e", 10, 0, priority=3)
    assert dict(queue.depths()) == {"0": 2, "-100": 2}
    entry = run(queue)
    queue.add(entry.key, 0)
    assert dict(queue.depths()) == {"0": 1, "-100": 2}
    queue.done(entry, 0)
    queue.add("b", 0, priority=4)
    assert dict(queue.depths()) == {"0": 2, "-100": 1, "4": 1}
    names(queue, 20)
    assert dict(queue.depths()) == {"0": 0, "-100": 0, "4": 0, "3": 0}


def test_r4_28_at_most_25_priorities_are_told_apart() -> None:
    queue = Queue()
    for number in range(40):
        queue.add(str(number), 0, priority=number)
    depths = dict(queue.depths())
    assert len(depths) == MAX_LABELS + 1 == 26
    assert depths.pop(OVERFLOW) == 15
    assert depths == {str(number): 1 for number in range(25)}
    names(queue)
    queue.add("x", 0, priority=1000)
    assert dict(queue.depths())[OVERFLOW] == 1


# -- bounds


def test_keys_that_are_raised_again_and_again_leave_no_growing_trail() -> None:
    order = Priorities[str]()
    queue = Queue(order=order)
    queue.add("stays", 0, priority=LOW)
    for _ in range(5000):
        queue.add("a", 0, priority=LOW)
        queue.add("a", 0, priority=0)
        queue.done(run(queue), 0)
    assert len(order._lanes[LOW].places) < 300
    assert names(queue) == ["stays"]


def test_ever_new_priorities_leave_no_growing_trail() -> None:
    order = Priorities[str]()
    queue = Queue(order=order)
    for number in range(5000):
        queue.add("a", number, priority=number)
        queue.done(run(queue, number), number)
    assert len(order._lanes) < 200
    assert len(order._dates) < 200


def test_a_lane_whose_marks_are_many_is_cleaned_and_keeps_its_order() -> None:
    queue = Queue()
    keys = [f"k{number:03}" for number in range(300)]
    for key in keys:
        queue.add(key, 0, priority=LOW)
    for key in keys[:200]:
        queue.add(key, 0)
    assert len(queue) == 300
    assert names(queue) == keys


@pytest.mark.parametrize(("field", "value"), [("patience", -1), ("share", 0)])
def test_ageing_names_the_field_that_is_wrong(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must"):
        Ageing(**{field: value})
