"""What people may look at in a queue: where a key stands, and how long its back-off goes."""

from __future__ import annotations

import math

from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import State
from dynamo_ctrl.queue.workqueue import WorkQueue

AGAIN = Cause("pods", "updated")


def test_a_key_can_be_looked_at_wherever_it_stands() -> None:
    queue: WorkQueue[str] = WorkQueue(failures=Backoff(base=8, cap=8))
    assert queue.wanted("a") is None
    queue.add("a", 0)
    found = queue.wanted("a")
    assert found is not None
    assert found.state is State.QUEUED
    entry = queue.get(1)
    assert entry is not None
    assert queue.wanted("a") is entry
    queue.add("a", 2, cause=AGAIN)
    assert entry.successor is not None
    assert entry.successor.causes == (AGAIN,)
    queue.failed(entry, 3)
    waiting = queue.wanted("a")
    assert waiting is not None
    assert (waiting.state, waiting.due) == (State.WAITING, 11)


def test_looking_changes_nothing() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.wanted("a")
    queue.not_before("a")
    assert "a" not in queue
    assert queue.get(0) is None


def test_a_back_off_has_an_end() -> None:
    queue: WorkQueue[str] = WorkQueue(failures=Backoff(base=8, cap=8))
    assert queue.not_before("a") == -math.inf
    queue.add("a", 0)
    entry = queue.get(0)
    assert entry is not None
    queue.failed(entry, 3)
    assert queue.not_before("a") == 11
    assert queue.failures("a") == 1
