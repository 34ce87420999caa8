"""What a controller remembers for people: the last run of each key, and what changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.controller.history import Changes, History, last_run
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import Entry
from dynamo_ctrl.queue.workqueue import WorkQueue


def config_map(version: int, name: str = "c", **data: str) -> Object[Any, Any]:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": str(version), "generation": version}
    made: Object[Any, Any] = CONFIG_MAP.object({"metadata": metadata, "data": data})
    return made


def cause(old: int, new: int, name: str = "c") -> Cause:
    return Cause("configmaps", "updated", Key("ns", name), str(old), str(new))


def ran(queue: WorkQueue[Key], key: Key, now: float = 0.0) -> Entry[Key]:
    queue.add(key, now, cause=cause(1, 2))
    entry = queue.get(now)
    assert entry is not None
    queue.done(entry, now)
    return entry


def test_the_changed_paths_of_a_cause_are_found_out_on_demand() -> None:
    changes = Changes()
    changes.keep("configmaps", Change(config_map(1, a="1", b="2"), config_map(2, a="1", b="3", c="4")))
    changes.keep("configmaps", Change(config_map(2), config_map(3, a="x")))
    assert changes.paths(cause(1, 2)) == ("data.b", "data.c")
    assert changes.paths(cause(2, 3)) == ("data.a",)


def test_the_paths_of_something_else_are_not_known() -> None:
    changes = Changes()
    changes.keep("configmaps", Change(config_map(1), config_map(2, a="1")))
    for other in (cause(1, 3), cause(0, 2), cause(1, 2, "other"), replace(cause(1, 2), source="secrets")):
        assert changes.paths(other) is None


def test_creations_and_deletions_are_not_kept() -> None:
    changes = Changes()
    changes.keep("configmaps", Change(None, config_map(1)))
    changes.keep("configmaps", Change(config_map(1), None))
    assert len(changes) == 0


def test_changes_are_bounded_by_number_and_by_size() -> None:
    changes = Changes(limit=10)
    for number in range(100):
        changes.keep("configmaps", Change(config_map(number), config_map(number + 1)))
    assert len(changes) == 10
    assert changes.paths(cause(99, 100)) == ()
    assert changes.paths(cause(50, 51)) is None
    changes = Changes(size=10_000)
    for number in range(100):
        changes.keep("configmaps", Change(config_map(number, a="x" * 1000), config_map(number + 1, a="y" * 1000)))
    assert 3 <= len(changes) <= 5


def test_the_keys_that_ran_last_are_kept() -> None:
    history, queue = History(keys=10), WorkQueue[Key]()
    for number in range(1000):
        history.keep(ran(queue, Key("ns", str(number))))
        assert len(history) <= 20
        for recent in range(max(0, number - 8), number + 1):
            assert history.last(Key("ns", str(recent))) is not None
    assert history.last(Key("ns", "0")) is None


def test_the_last_run_is_told_in_words() -> None:
    clock, queue, changes = ManualClock(), WorkQueue[Key](), Changes()
    began = clock.now()
    changes.keep("configmaps", Change(config_map(1, a="1"), config_map(2, a="2")))
    key = Key("ns", "p")
    queue.add(key, clock.monotonic(), cause=cause(1, 2), priority=7)
    queue.add(key, clock.monotonic(), cause=cause(8, 9))
    clock.advance(3)
    entry = queue.get(clock.monotonic())
    assert entry is not None
    clock.advance(0.25)
    entry.outcome, entry.error = "error", "OSError: no"
    queue.failed(entry, clock.monotonic())
    clock.advance(100)
    told = last_run(entry, "graph", changes, clock)
    assert (told.id, told.at, told.waited, told.took, told.priority, told.outcome, told.error) == (
        "graph-1",
        began + timedelta(seconds=3),
        timedelta(seconds=3),
        timedelta(seconds=0.25),
        7,
        "error",
        "OSError: no",
    )
    assert told.causes == ((cause(1, 2), ("data.a",)), (cause(8, 9), None))
