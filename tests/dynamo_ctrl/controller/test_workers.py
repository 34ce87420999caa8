"""Workers: who is woken when, what runs at once, and what an exception or a cancellation does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.clock import Clock, ManualClock
from dynamo_ctrl.controller.answer import DONE, Answer, Reconcile, WorkerCancelled
from dynamo_ctrl.controller.context import reconcile_context
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.controller.workers import Workers
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.workqueue import WorkQueue
from dynamo_ctrl.testing import LoopClock, settle

A, B, C = Key("ns", "a"), Key("ns", "b"), Key("ns", "c")


class Bench:
    def __init__(self, count: int = 1, clock: Clock | None = None, slice_: float = 1.0) -> None:
        self.queue: WorkQueue[Key] = WorkQueue()
        self.numbers = ControllerNumbers()
        self.lines = LogCapture()
        log = structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger)
        settler = Settler("c", self.queue, self.numbers, log, lambda error: False)
        self.workers = Workers("c", self.queue, settler, clock or LoopClock(), count=count, slice_=slice_)

    @asynccontextmanager
    async def working(self, reconcile: Reconcile) -> AsyncIterator[Workers]:
        task = asyncio.create_task(self.workers.run(reconcile))
        await settle()
        try:
            yield self.workers
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_a_sleeping_worker_runs_in_the_turn_in_which_a_key_is_added() -> None:
    ran: list[Key] = []

    def reconcile(key: Key) -> Answer:
        ran.append(key)
        return DONE

    async with Bench().working(reconcile) as workers:
        workers.add(A)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert ran == [A]


async def test_a_plain_reconcile_runs_inline_and_takes_no_turn_for_each_key() -> None:
    ran: list[Key] = []
    bench = Bench()

    def reconcile(key: Key) -> Answer:
        ran.append(key)
        return DONE

    async with bench.working(reconcile) as workers:
        for number in range(100):
            workers.add(Key("ns", str(number)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(ran) == 100


async def test_after_a_slice_others_get_their_turn() -> None:
    clock = ManualClock()
    turns: list[str] = []

    def reconcile(key: Key) -> Answer:
        clock.advance(0.5)
        turns.append(key.name)
        return DONE

    async def other() -> None:
        await asyncio.sleep(0)
        turns.append("other")

    async with Bench(clock=clock, slice_=1.0).working(reconcile) as workers:
        for number in range(6):
            workers.add(Key("ns", str(number)))
        await other()
        await settle()
        assert [turn for turn in turns if turn != "other"] == ["0", "1", "2", "3", "4", "5"]
        assert turns.index("other") <= 3


async def test_a_key_never_runs_twice_at_once_and_its_event_is_not_lost() -> None:
    gate, runs, most = asyncio.Event(), 0, 0
    running = 0

    async def reconcile(key: Key) -> Answer:
        nonlocal runs, running, most
        runs += 1
        running += 1
        most = max(most, running)
        await gate.wait()
        running -= 1
        return DONE

    async with Bench(count=3).working(reconcile) as workers:
        workers.add(A)
        await settle()
        workers.add(A)
        await settle()
        assert runs == 1
        gate.set()
        await settle()
        assert (runs, most) == (2, 1)


async def test_n_workers_run_n_keys_at_once() -> None:
    gate = asyncio.Event()
    bench = Bench(count=2)

    async def reconcile(key: Key) -> Answer:
        await gate.wait()
        return DONE

    async with bench.working(reconcile) as workers:
        for key in (A, B, C):
            workers.add(key)
        await settle()
        assert (bench.queue.processing, len(bench.queue)) == (2, 1)
        gate.set()
        await settle()
        assert bench.numbers.success == 3


async def test_a_key_that_is_due_later_is_run_then() -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []

    def reconcile(key: Key) -> Answer:
        times.append(round(loop.time(), 3))
        return Answer(requeue_after=60) if len(times) < 3 else DONE

    async with Bench(count=2).working(reconcile) as workers:
        workers.add(A)
        await asyncio.sleep(200)
    assert times == [0, 60, 120]


async def test_an_earlier_key_moves_the_timer_forward() -> None:
    loop = asyncio.get_running_loop()
    ran: list[tuple[str, float]] = []
    delays = {"a": 100.0, "b": 10.0}

    def reconcile(key: Key) -> Answer:
        ran.append((key.name, round(loop.time(), 3)))
        delay = delays.pop(key.name, None)
        return DONE if delay is None else Answer(requeue_after=delay)

    async with Bench().working(reconcile) as workers:
        workers.add(A)
        await asyncio.sleep(1)
        workers.add(B)
        await asyncio.sleep(200)
    assert ran == [("a", 0), ("b", 1), ("b", 11), ("a", 100)]


async def test_keys_that_are_due_at_the_same_moment_wake_as_many_workers() -> None:
    gate, bench, asked = asyncio.Event(), Bench(count=3), set[Key]()

    async def reconcile(key: Key) -> Answer:
        if key not in asked:
            asked.add(key)
            return Answer(requeue_after=60)
        await gate.wait()
        return DONE

    async with bench.working(reconcile) as workers:
        workers.add(A)
        workers.add(B)
        await asyncio.sleep(60.001)
        assert bench.queue.processing == 2
        gate.set()


async def test_an_exception_costs_the_key_a_back_off_and_nobody_else_anything() -> None:
    bench = Bench()
    ran: list[str] = []

    def reconcile(key: Key) -> Answer:
        ran.append(key.name)
        if key == A and ran.count("a") < 3:
            raise KeyError("boom")
        return DONE

    async with bench.working(reconcile) as workers:
        workers.add(A)
        workers.add(B)
        await settle()
        assert ran == ["a", "b"]
        await asyncio.sleep(1)
    assert ran == ["a", "b", "a", "a"]
    assert (bench.numbers.panics, bench.numbers.error, bench.numbers.success) == (2, 2, 2)
    assert [line["event"] for line in bench.lines.entries] == ["reconcile failed", "reconcile failed"]


async def test_an_exception_out_of_a_coroutine_is_the_same() -> None:
    bench = Bench()

    async def reconcile(key: Key) -> Answer:
        await asyncio.sleep(1)
        raise ValueError("late")

    async with bench.working(reconcile) as workers:
        workers.add(A)
        await asyncio.sleep(1.001)
        assert bench.numbers.panics == 1
        assert bench.queue.failures(A) == 1


async def test_cancellation_ends_a_running_reconcile_at_once_and_closes_the_queue() -> None:
    bench = Bench(count=2)
    ended: list[str] = []

    async def reconcile(key: Key) -> Answer:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append(key.name)
        return DONE

    async with bench.working(reconcile) as workers:
        workers.add(A)
        await settle()
    assert ended == ["a"]
    assert bench.queue.closed
    assert asyncio.get_running_loop().time() == 0


async def test_a_log_line_inside_a_reconcile_names_controller_key_and_run() -> None:
    lines: list[dict[str, object]] = []

    async def reconcile(key: Key) -> Answer:
        await asyncio.sleep(0)
        lines.append(dict(reconcile_context(None, "info", {"event": "hello"})))
        return DONE

    async with Bench(count=2).working(reconcile) as workers:
        workers.add(A)
        workers.add(B)
        await settle()
    assert {"event": "hello", "controller": "c", "key": "ns/a", "reconcile_id": "c-1"} in lines
    assert {"event": "hello", "controller": "c", "key": "ns/b", "reconcile_id": "c-2"} in lines
    assert dict(reconcile_context(None, "info", {"event": "outside"})) == {"event": "outside"}


async def test_a_line_of_a_task_that_outlives_its_reconcile_claims_no_run() -> None:
    lines: list[dict[str, object]] = []
    left: list[asyncio.Task[None]] = []

    async def later() -> None:
        await asyncio.sleep(1)
        lines.append(dict(reconcile_context(None, "info", {"event": "late"})))

    def reconcile(key: Key) -> Answer:
        left.append(asyncio.create_task(later()))
        return DONE

    async with Bench().working(reconcile) as workers:
        workers.add(A)
        await asyncio.sleep(2)
    assert lines == [{"event": "late"}]


async def test_a_cancelled_error_that_nobody_caused_is_the_failure_of_its_key() -> None:
    bench = Bench()
    ran: list[str] = []

    async def awaits_what_was_cancelled() -> Answer:
        other = asyncio.ensure_future(asyncio.sleep(50))
        other.cancel()
        await other
        return DONE

    def reconcile(key: Key) -> Answer | Awaitable[Answer]:
        ran.append(key.name)
        if ran.count("a") == 1 and key == A:
            return awaits_what_was_cancelled()
        if ran.count("b") == 1 and key == B:
            raise asyncio.CancelledError
        return DONE

    async with bench.working(reconcile) as workers:
        workers.add(A)
        workers.add(B)
        await asyncio.sleep(1)
    assert sorted(ran) == ["a", "a", "b", "b"]
    assert (bench.numbers.panics, bench.numbers.success) == (2, 2)
    assert {line["type"] for line in bench.lines.entries} == {"ReconcileCancelled"}


async def test_a_worker_that_somebody_else_cancels_ends_the_run_with_an_error() -> None:
    bench = Bench(count=2)

    async def reconcile(key: Key) -> Answer:
        worker = asyncio.current_task()
        assert worker is not None
        worker.cancel()
        await asyncio.sleep(1)
        return DONE

    bench.workers.add(A)
    with pytest.raises(ExceptionGroup) as caught:
        await bench.workers.run(reconcile)
    (error,) = caught.value.exceptions
    assert isinstance(error, WorkerCancelled)
    assert str(error) == "controller c: worker 0 was cancelled, but the controller goes on"
