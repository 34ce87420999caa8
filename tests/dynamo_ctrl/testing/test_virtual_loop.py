"""Virtual time: jumps, dead ends, schedules from a seed, tasks that are left behind."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.testing import virtual_loop
from dynamo_ctrl.testing.virtual_loop import (
    Deadlock,
    Livelock,
    LoopClock,
    LoopErrors,
    TaskLeak,
    VirtualLoop,
    run,
    settle,
)


def test_a_day_of_sleep_takes_no_time() -> None:
    async def main() -> float:
        await asyncio.sleep(3 * 86400)
        return asyncio.get_running_loop().time()

    started = time.monotonic()
    assert run(main()) == 3 * 86400
    assert time.monotonic() - started < 30


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=10))
def test_timers_fire_in_order_and_at_their_time(delays: list[float]) -> None:
    fired: list[tuple[float, float]] = []

    async def one(delay: float) -> None:
        await asyncio.sleep(delay)
        fired.append((delay, asyncio.get_running_loop().time()))

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for delay in delays:
                group.create_task(one(delay))

    run(main())
    assert [delay for delay, _ in fired] == sorted(delays)
    assert all(abs(at - delay) < 1e-6 for delay, at in fired)


def test_timeouts_and_queues_work_as_ever() -> None:
    async def main() -> str:
        queue: asyncio.Queue[str] = asyncio.Queue()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await queue.get()
        asyncio.get_running_loop().call_later(30, queue.put_nowait, "x")
        return await queue.get()

    assert run(main()) == "x"


def test_waiting_for_what_cannot_come_is_a_deadlock_that_names_the_tasks() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait(), name="the-waiter")

    with pytest.raises(Deadlock, match=r"the-waiter \(Event.wait\) at .*locks.py"):
        run(main())


def test_turning_without_end_is_a_livelock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_loop, "ITERATIONS", 200)

    async def main() -> None:
        while True:  # noqa: ASYNC110  (turning is the point)
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="200 turns"):
        run(main())


def test_tasks_that_are_left_behind_are_named() -> None:
    async def main() -> None:
        main.kept = asyncio.create_task(asyncio.sleep(9), name="forgotten")  # type: ignore[attr-defined]

    with pytest.raises(TaskLeak, match="forgotten"):
        run(main())


def test_the_error_of_the_main_coroutine_comes_first() -> None:
    async def main() -> None:
        main.kept = asyncio.create_task(asyncio.sleep(9))  # type: ignore[attr-defined]
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        run(main())


def test_an_error_that_nobody_saw_is_raised() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(LoopErrors, match="ZeroDivisionError"):
        run(main())


def test_threads_are_refused() -> None:
    async def main() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="the virtual loop has none"):
        run(main())


async def _order() -> list[int]:
    found: list[int] = []

    async def one(number: int) -> None:
        found.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(one(number))
    return found


def test_a_seed_draws_the_order_of_what_is_ready() -> None:
    assert run(_order()) == list(range(8))
    assert run(_order(), seed=1) == run(_order(), seed=1)
    assert len({tuple(run(_order(), seed=seed)) for seed in range(5)}) > 1


def test_a_seed_finds_a_race() -> None:
    async def main() -> bool:
        """One task reads what the other one writes: lost on some schedules only."""
        shared: dict[str, int] = {}

        async def write() -> None:
            await asyncio.sleep(1)
            shared["value"] = 1

        async def read() -> bool:
            await asyncio.sleep(1)
            return "value" in shared

        async with asyncio.TaskGroup() as group:
            group.create_task(write())
            reading = group.create_task(read())
        return reading.result()

    assert run(main())
    assert {run(main(), seed=seed) for seed in range(20)} == {True, False}


def test_settle_waits_for_everything_but_time() -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def worker() -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            seen.append("ready")
            await asyncio.sleep(1)
            seen.append("late")

        async with asyncio.TaskGroup() as group:
            group.create_task(worker())
            await settle()
            before = list(seen)
            assert asyncio.get_running_loop().time() == 0
        return before

    assert run(main()) == ["ready"]


def test_settle_needs_the_virtual_loop() -> None:
    with pytest.raises(RuntimeError, match="virtual loop"):
        asyncio.run(settle())


def test_the_clock_follows_the_loop() -> None:
    async def main() -> timedelta:
        clock = LoopClock()
        start, before = clock.now(), clock.monotonic()
        await asyncio.sleep(90)
        assert clock.monotonic() - before == 90
        return clock.now() - start

    assert run(main()) == timedelta(seconds=90)


def test_a_loop_can_be_closed_without_a_run() -> None:
    loop = VirtualLoop()
    loop.close()
    assert loop.is_closed()
