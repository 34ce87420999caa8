"""How sources wake keys: with which priority, after which delay, and whether a new spec may pass a back-off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.controller.answer import Answer
from dynamo_ctrl.controller.builder import Watch, watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.mapper import by_label
from dynamo_ctrl.controller.predicate import deleted
from dynamo_ctrl.controller.source import SLICE, Source
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import LOW, NORMAL
from dynamo_ctrl.queue.limiters import FastSlow
from dynamo_ctrl.testing import settle

FOR = by_label("for")


async def test_initial_objects_wake_at_low_priority_and_changes_at_the_normal_one(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    async with arena.running(arena.controller()):
        assert [entry.priority for entry in arena.entries] == [LOW]
        arena.edit("a", data={"x": "1"})
        await asyncio.sleep(0.01)
        assert [entry.priority for entry in arena.entries] == [LOW, NORMAL]


async def test_a_real_change_overtakes_a_backlog_of_initial_objects(new_arena: Any) -> None:
    arena = new_arena()
    arena.put(*(f"x{number}" for number in range(20)))
    controller = arena.controller()
    runs: list[str] = []

    async def slow(key: Key) -> Answer:
        await asyncio.sleep(1)
        runs.append(key.name)
        return Answer()

    async with arena.running(controller, slow):
        await asyncio.sleep(3)
        arena.edit("x19", data={"x": "1"})
        arena.put("new")
        await asyncio.sleep(4)
        assert runs[:2] == ["x0", "x1"]
        assert set(runs[3:6]) > {"new", "x19"}


async def test_a_change_that_left_the_version_as_it_was_wakes_at_low_priority(new_arena: Any) -> None:
    woken = await _woken(new_arena(), Change(_map("1"), _map("1")), Change(_map("1"), _map("2")))
    assert [how["priority"] for how in woken] == [LOW, NORMAL]


async def test_r4_35_ten_events_within_the_debounce_are_one_run(new_arena: Any) -> None:
    arena = new_arena()
    async with arena.running(arena.controller(debounce=1.0)):
        arena.put("a")
        for number in range(9):
            await asyncio.sleep(0.1)
            arena.edit("a", data={"n": str(number)})
        assert arena.runs == []
        await asyncio.sleep(0.2)
        assert arena.took() == ["a"]
        arena.edit("a", data={"n": "again"})
        await asyncio.sleep(0.9)
        assert arena.runs == []
        await asyncio.sleep(0.2)
        assert arena.runs == ["a"]


async def test_r4_35_a_source_can_have_a_debounce_of_its_own(new_arena: Any) -> None:
    arena = new_arena()
    watches = watching(CONFIG_MAP).mapping(SECRET, FOR, debounce=5.0)
    async with arena.running(arena.controller(watches)):
        arena.put("s", kind=SECRET, labels={"for": "a"})
        await asyncio.sleep(1)
        assert arena.runs == []
        arena.put("a")
        await asyncio.sleep(0.01)
        assert arena.took() == ["a"], (
            "an event of another source does not wait for the window, and takes the other along"
        )
        await asyncio.sleep(10)
        assert arena.runs == []
        arena.edit("s", SECRET, data={"x": "eA=="})
        await asyncio.sleep(4.9)
        assert arena.runs == []
        await asyncio.sleep(0.2)
        assert arena.runs == ["a"]


async def test_initial_objects_are_not_debounced(new_arena: Any) -> None:
    arena = new_arena()
    arena.put("a")
    async with arena.running(arena.controller(debounce=60)):
        assert arena.runs == ["a"]


def test_a_watch_names_a_debounce_that_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"^secrets: debounce must be a number of seconds, not negative, got -1"):
        watching(CONFIG_MAP).mapping(SECRET, FOR, debounce=-1)


# -- a new spec passes the back-off, once


async def test_r4_33b_a_mended_spec_runs_at_once_in_the_middle_of_a_long_back_off(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    failing, runs = True, 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        return Answer(error=OSError("broken spec")) if failing else Answer()

    async with arena.running(controller, reconcile):
        arena.put("a")
        await asyncio.sleep(100)
        assert controller.queue.failures(Key("default", "a")) == 15
        before = runs
        for number in range(5):
            arena.edit("a", metadata={"annotations": {"n": str(number)}})
            await asyncio.sleep(0.1)
        assert runs == before, "another event has to wait"
        failing = False
        arena.edit("a", data={"size": "3"})
        await asyncio.sleep(0.01)
        assert runs == before + 1
        assert controller.queue.failures(Key("default", "a")) == 0


async def test_a_deletion_runs_at_once_in_the_middle_of_a_long_back_off(new_arena: Any) -> None:
    arena = new_arena()
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        return Answer(error=OSError("no"))

    async with arena.running(arena.controller(), reconcile):
        arena.put("a")
        await asyncio.sleep(100)
        before = runs
        arena.core.delete(CONFIG_MAP, Key("default", "a"))
        await asyncio.sleep(0.01)
        assert runs == before + 1


async def test_r4_33b_a_child_of_a_key_that_backs_off_brings_nothing_forward(new_arena: Any) -> None:
    arena = new_arena()
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        return Answer(error=OSError("no"))

    async with arena.running(arena.controller(watching(CONFIG_MAP).mapping(SECRET, FOR)), reconcile):
        arena.put("a")
        await asyncio.sleep(100)
        before = runs
        arena.put("s", kind=SECRET, labels={"for": "a"})
        arena.edit("s", SECRET, data={"x": "eA=="})
        await asyncio.sleep(1)
        assert runs == before


async def test_what_mends_a_failure_runs_its_key_once_in_the_middle_of_a_long_back_off(new_arena: Any) -> None:
    arena = new_arena()
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        return Answer(error=OSError("the name is taken"))

    watches = watching(CONFIG_MAP).mapping(SECRET, FOR, when=deleted, mends=True)
    async with arena.running(arena.controller(watches), reconcile):
        for name in ("s", "t"):
            arena.put(name, kind=SECRET, labels={"for": "a"})
        arena.put("a")
        await asyncio.sleep(100)
        before = runs
        for name in ("s", "t"):
            arena.core.delete(SECRET, Key("default", name))
            await asyncio.sleep(0.01)
        assert runs == before + 1, "had once in a wait"


async def test_a_new_spec_that_the_reconcile_wrote_itself_passes_nothing(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    runs = 0

    def reconcile(key: Key) -> Answer:
        nonlocal runs
        runs += 1
        answer = arena.edit("a", data={"n": str(runs)})
        controller.written.wrote(CONFIG_MAP.decode(answer))
        return Answer(error=OSError("no"))

    async with arena.running(controller, reconcile):
        arena.put("a")
        await asyncio.sleep(100)
        assert runs <= 17, "as many as the back-off alone gives"


# -- slices


def _map(version: str, name: str = "a") -> Object[Any, Any]:
    made: Object[Any, Any] = CONFIG_MAP.object({"metadata": {"name": name, "resourceVersion": version}})
    return made


async def _woken(arena: Any, *changes: Change[Any]) -> list[dict[str, Any]]:
    """How those changes wake their keys."""
    woken: list[dict[str, Any]] = []
    controller = arena.controller()
    source: Source[Any] = controller._sources.needed[0].source
    source._add = lambda key, cause, **how: woken.append(how)
    for change in changes:
        for _ in source._map(change, lambda obj, view: (obj.key,)):
            pass
    controller.close()
    return woken


async def test_a_mapper_of_many_keys_and_many_objects_take_the_loop_in_slices(new_arena: Any) -> None:
    arena = new_arena()
    clock = ManualClock()
    arena.put(*(f"x{number}" for number in range(50)))
    longest, began, mapped = 0.0, clock.monotonic(), 0

    def mapper(obj: Object[Any, Any], view: View) -> Iterable[Key]:
        nonlocal mapped
        for number in range(20):
            clock.advance(0.001)
            mapped += 1
            yield Key("default", f"{obj.metadata.name}-{number}")

    async def ticker() -> None:
        nonlocal longest, began
        while True:
            longest, began = max(longest, clock.monotonic() - began), clock.monotonic()
            await asyncio.sleep(0)

    informer = arena.cache.informer(CONFIG_MAP)
    controller = arena.controller()
    source = Source(
        Watch(kind=CONFIG_MAP, mapper=mapper),
        informer,
        view=controller.view,
        add=lambda key, cause, **how: None,
        numbers=controller.numbers,
        clock=clock,
        log=controller._log,
    )
    async with arena.caching():
        await informer.wait_complete()
        tasks = [asyncio.create_task(ticker()), asyncio.create_task(source.run())]
        await source.settled.wait()
        assert mapped == 1000
        assert longest <= SLICE + 0.002
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    controller.close()


async def test_an_event_after_a_long_silence_is_mapped_in_one_turn(new_arena: Any) -> None:
    arena = new_arena()
    turn, woken = 0, list[int]()

    def mapper(obj: Object[Any, Any], view: View) -> list[Key]:
        return [Key("default", "a"), Key("default", "b")]

    controller = arena.controller(watching(CONFIG_MAP).mapping(SECRET, mapper))
    handle = controller._sources.needed[1]
    handle.source._add = lambda key, cause, **how: woken.append(turn)
    async with arena.running(controller):
        await asyncio.sleep(10)
        arena.put("s", kind=SECRET)
        for turn in range(10):  # noqa: B007  (read by the lambda above)
            await asyncio.sleep(0)
    assert len(woken) == 2
    assert woken[0] == woken[1]


async def test_waking_every_primary_takes_the_loop_in_slices(new_arena: Any) -> None:
    arena = new_arena()
    arena.put(*(f"x{number}" for number in range(500)))
    controller = arena.controller()
    async with arena.running(controller):
        clock = controller._clock = ManualClock()
        add, longest, began = controller._workers.add, 0.0, 0.0

        def slow(*args: Any, **options: Any) -> None:
            clock.advance(0.001)
            add(*args, **options)

        async def ticker() -> None:
            nonlocal longest, began
            while True:
                longest, began = max(longest, clock.monotonic() - began), clock.monotonic()
                await asyncio.sleep(0)

        controller._workers.add = slow
        arena.took()
        task = asyncio.create_task(ticker())
        await controller._woken(Cause("gadgets", "live"))
        task.cancel()
        await settle()
        assert len(arena.took()) == 500
        assert longest <= SLICE + 0.002


async def test_the_pace_says_when_the_slice_is_over() -> None:
    clock = ManualClock()
    pace = Pace(clock, 0.005)
    looks = [pace.over]
    clock.advance(0.006)
    looks.append(pace.over)
    await pace.breathe()
    looks.append(pace.over)
    assert looks == [False, True, False]


# -- another order, another limiter


async def test_without_priorities_keys_go_in_the_order_in_which_they_come(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller(priorities=False)
    for name, priority in (("low", LOW), ("high", 7), ("normal", NORMAL)):
        controller.wake(Key("default", name), Cause("somebody", "asked"), priority=priority)
    async with arena.running(controller):
        assert arena.runs == ["low", "high", "normal"]
        assert dict(controller.queue.depths()) == {"": 0}


async def test_with_priorities_the_highest_goes_first(new_arena: Any) -> None:
    arena = new_arena()
    controller = arena.controller()
    for name, priority in (("low", LOW), ("high", 7), ("normal", NORMAL)):
        controller.wake(Key("default", name), Cause("somebody", "asked"), priority=priority)
    async with arena.running(controller):
        assert arena.runs == ["high", "normal", "low"]


async def test_a_controller_takes_any_limiter(new_arena: Any) -> None:
    arena = new_arena()
    controller = Controller(
        name="test",
        watches=watching(CONFIG_MAP),
        cache=arena.cache,
        clock=arena.clock,
        limiter=FastSlow(fast=1, slow=60, tries=2),
    )
    times: list[float] = []

    def reconcile(key: Key) -> Answer:
        times.append(round(arena.clock.monotonic()))
        return Answer(error=OSError("no"))

    arena.put("a")
    async with arena.running(controller, reconcile):
        await asyncio.sleep(130)
    assert times == [0, 1, 2, 62, 122]
