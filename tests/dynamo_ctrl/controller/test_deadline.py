"""The deadline of a reconcile, panics, and the stop of workers at any moment (R 1.6; R 4, 33)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.controller.answer import DONE, Answer, Reconcile, ReconcileTimeout
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.controller.settle import Settler
from dynamo_ctrl.controller.workers import Workers
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.workqueue import WorkQueue
from dynamo_ctrl.testing import LoopClock, run, settle

A = Key("ns", "a")


class Bench:
    def __init__(self, timeout: float = 0.0, *, count: int = 1, recover: bool = True) -> None:
        self.queue: WorkQueue[Key] = WorkQueue()
        self.numbers = ControllerNumbers()
        self.lines = LogCapture()
        log = structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger)
        settler = Settler("c", self.queue, self.numbers, log, lambda error: False, recover=recover)
        self.workers = Workers(
            "c", self.queue, settler, LoopClock(), count=count, slice_=1.0, numbers=self.numbers, timeout=timeout
        )

    @asynccontextmanager
    async def working(self, reconcile: Reconcile) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.workers.run(reconcile))
        await settle()
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_a_reconcile_that_does_not_answer_in_time_is_ended_counted_and_backs_off() -> None:
    bench = Bench(timeout=5)
    ended: list[float] = []

    async def reconcile(key: Key) -> Answer:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append(asyncio.get_running_loop().time())
        return DONE

    async with bench.working(reconcile):
        bench.workers.add(A)
        await asyncio.sleep(5.001)
        assert ended == [5]
        assert (bench.numbers.timeouts, bench.numbers.error, bench.numbers.panics) == (1, 1, 0)
        assert bench.queue.failures(A) == 1
        assert bench.lines.entries[0]["type"] == "ReconcileTimeout"
        assert bench.lines.entries[0]["error"] == "no answer within 5 s"
        await asyncio.sleep(0.01)
        assert bench.queue.processing == 1, "it is tried again"


async def _succeeds() -> Answer:
    await asyncio.sleep(4.9)
    return DONE


async def _times_out_by_itself() -> Answer:
    async with asyncio.timeout(1):
        await asyncio.sleep(1000)
    return DONE


async def _is_cancelled_by_somebody() -> Answer:
    async def inner() -> None:
        await asyncio.sleep(1000)

    task = asyncio.create_task(inner())
    asyncio.get_running_loop().call_later(1, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
    raise OSError("given up")


async def _answers_an_error() -> Answer:
    await asyncio.sleep(1)
    return Answer(error=TimeoutError("of a request"))


@pytest.mark.parametrize(
    ("what", "errors"),
    [(_succeeds, 0), (_times_out_by_itself, 1), (_is_cancelled_by_somebody, 1), (_answers_an_error, 1)],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_only_its_own_expiry_is_counted_as_a_timeout(what: Any, errors: int) -> None:
    bench = Bench(timeout=5)
    answers = 0

    def reconcile(key: Key) -> Answer | Awaitable[Answer]:
        nonlocal answers
        answers += 1
        return what() if answers == 1 else DONE

    async with bench.working(reconcile):
        bench.workers.add(A)
        await asyncio.sleep(20)
        assert bench.numbers.timeouts == 0
        assert bench.numbers.error == errors


async def test_a_stop_is_no_timeout() -> None:
    bench = Bench(timeout=5)

    async def reconcile(key: Key) -> Answer:
        await asyncio.sleep(1000)
        return DONE

    async with bench.working(reconcile):
        bench.workers.add(A)
        await asyncio.sleep(1)
    assert bench.numbers.timeouts == 0
    assert bench.numbers.error == 0


async def test_without_a_deadline_a_reconcile_may_take_its_time() -> None:
    bench = Bench()

    async def reconcile(key: Key) -> Answer:
        await asyncio.sleep(100_000)
        return DONE

    async with bench.working(reconcile):
        bench.workers.add(A)
        await asyncio.sleep(100_001)
        assert bench.numbers.success == 1


def test_the_error_of_a_deadline_says_how_long_it_was() -> None:
    error = ReconcileTimeout(2.5)
    assert error.seconds == 2.5
    assert isinstance(error, TimeoutError)


@pytest.mark.parametrize("answered", [False, True], ids=["raised", "answered"])
async def test_a_panic_that_is_not_to_be_recovered_from_ends_the_controller_and_is_counted(answered: bool) -> None:
    bench = Bench(recover=False)

    def reconcile(key: Key) -> Answer:
        if answered:
            return Answer(error=KeyError("boom"), panic=True)
        raise KeyError("boom")

    async with bench.working(reconcile) as task:
        bench.workers.add(A)
        await asyncio.wait([task])
        error = task.exception()
        assert isinstance(error, ExceptionGroup)
        assert isinstance(error.exceptions[0], KeyError)
    assert bench.numbers.panics == 1
    assert bench.lines.entries[0]["exc_info"] is error.exceptions[0]
    assert bench.queue.closed


async def test_an_ordinary_error_does_not_end_the_controller_even_then() -> None:
    bench = Bench(recover=False)
    async with bench.working(lambda key: Answer(error=OSError("no"))) as task:
        bench.workers.add(A)
        await settle()
        assert not task.done()
        assert bench.numbers.error == 1


@pytest.mark.parametrize("field", ["timeout", "debounce"])
@pytest.mark.parametrize("value", [-1, float("inf"), float("nan")])
def test_options_name_the_field_that_is_wrong(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must be a number of seconds"):
        ControllerOptions(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("drain", [False, True])
def test_r4_33_a_stop_at_any_turn_of_the_loop_hangs_nothing_and_loses_no_running_key(drain: bool) -> None:
    """Workers hand out keys, wait, fail and are woken; after each number of turns they are stopped."""

    async def main(turns: int) -> int:
        bench = Bench(timeout=3, count=3)
        begun: list[Key] = []
        ended: list[Key] = []

        async def reconcile(key: Key) -> Answer:
            begun.append(key)
            try:
                for _ in range(int(key.name) % 4):
                    await asyncio.sleep(0)
                if key.name == "7":
                    bench.workers.add(Key("ns", "3"))
                return Answer(error=OSError("no")) if key.name == "5" else DONE
            finally:
                ended.append(key)

        task = asyncio.create_task(bench.workers.run(reconcile))
        for number in range(12):
            bench.workers.add(Key("ns", str(number)))
            if number % 3 == 0:
                await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        if drain:
            bench.queue.shut_down(drain=True)
            await asyncio.sleep(10)
            assert bench.queue.finished, "what was ready has run"
        task.cancel()
        await asyncio.wait([task])
        assert sorted(begun) == sorted(ended)
        assert bench.queue.closed
        return len(begun)

    counts = [run(main(turns)) for turns in range(40)]
    assert counts[-1] >= 12
    if not drain:
        assert counts[0] < counts[-1]


async def test_r4_34_a_reconcile_that_wakes_other_keys_and_itself_blocks_nobody() -> None:
    bench = Bench()
    ran: list[str] = []

    def reconcile(key: Key) -> Answer:
        ran.append(key.name)
        number = int(key.name)
        if number < 1000 and ran.count(key.name) == 1:
            for other in (number, number + 1):
                bench.workers.add(Key("ns", str(other)))
        return DONE

    async with bench.working(reconcile) as task:
        bench.workers.add(Key("ns", "0"))
        await settle()
        assert len(ran) == 2001
        assert not task.done()
