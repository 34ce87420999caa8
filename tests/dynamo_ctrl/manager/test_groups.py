"""Groups of runnables: start, readiness, adding at any time, stop within a deadline (R 1.1, 3.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from dynamo_ctrl.manager.errors import RunnableAborted, Stopping
from dynamo_ctrl.manager.groups import Group, Order, Runnable
from dynamo_ctrl.testing import settle


class Bench:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.failures: list[Exception] = []
        self.group = Group(Order.OTHERS, self.failures.append)

    def member(self, name: str, ready: Callable[[], Awaitable[None]] | None = None) -> Runnable:
        async def run() -> None:
            self.log.append(f"+{name}")
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.log.append(f"-{name}")

        return Runnable(name=name, run=run, ready=ready)

    async def stop(self, seconds: float = 1.0) -> tuple[asyncio.Task[object], ...]:
        return await self.group.stop(asyncio.get_running_loop().time() + seconds)


async def test_members_start_with_the_group_or_at_once_when_it_runs() -> None:
    bench = Bench()
    bench.group.add(bench.member("early"))
    await settle()
    assert bench.log == []
    await bench.group.start()
    await settle()
    bench.group.add(bench.member("late"))
    await settle()
    assert bench.log == ["+early", "+late"]
    assert await bench.stop() == ()
    assert sorted(bench.log[2:]) == ["-early", "-late"]


async def test_a_group_is_started_when_every_member_is_ready() -> None:
    bench = Bench()
    one, two = asyncio.Event(), asyncio.Event()

    async def wait(event: asyncio.Event) -> None:
        await event.wait()

    bench.group.add(bench.member("one", lambda: wait(one)))
    bench.group.add(bench.member("two", lambda: wait(two)))
    starting = asyncio.create_task(bench.group.start())
    await settle()
    two.set()
    await settle()
    assert not starting.done()
    one.set()
    await starting
    await bench.stop()


async def test_a_member_that_raises_is_told_at_once_and_the_others_go_on() -> None:
    bench = Bench()
    error = OSError("gone")

    async def run() -> None:
        raise error

    bench.group.add(bench.member("stays"))
    await bench.group.start()
    bench.group.add(Runnable(name="fails", run=run))
    await settle()
    assert bench.failures == [error]
    assert bench.log == ["+stays"]
    await bench.stop()


async def test_a_member_may_end_by_itself() -> None:
    bench = Bench()

    async def run() -> None:
        bench.log.append("did it")

    bench.group.add(Runnable(name="short", run=run))
    await bench.group.start()
    await settle()
    assert await bench.stop() == ()
    assert (bench.log, bench.failures) == (["did it"], [])


async def test_an_error_while_stopping_is_told_and_leaves_no_task() -> None:
    bench = Bench()

    async def run() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            raise OSError("could not say goodbye")

    bench.group.add(Runnable(name="rude", run=run))
    await bench.group.start()
    await settle()
    assert await bench.stop() == ()
    assert [str(error) for error in bench.failures] == ["could not say goodbye"]


@pytest.mark.parametrize("started", [True, False])
async def test_r4_41_nothing_starts_in_a_group_that_stops(started: bool) -> None:
    bench = Bench()
    bench.group.add(bench.member("early"))
    if started:
        await bench.group.start()
        await settle()
    await bench.stop()
    with pytest.raises(Stopping, match="late cannot be added: the group 'others' stops"):
        bench.group.add(bench.member("late"))
    assert bench.log == (["+early", "-early"] if started else [])


async def test_what_does_not_stop_until_the_deadline_is_returned() -> None:
    bench = Bench()
    let_go = asyncio.Event()

    async def deaf() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                bench.log.append("not now")

    bench.group.add(Runnable(name="deaf", run=deaf))
    bench.group.add(bench.member("polite"))
    await bench.group.start()
    await settle()
    loop = asyncio.get_running_loop()
    try:
        (left,) = await bench.stop(5)
        assert (left.get_name(), loop.time()) == ("deaf", 5)
        assert sorted(bench.log) == ["+polite", "-polite", "not now"]
    finally:
        let_go.set()
    await asyncio.wait([left])
    await settle()


async def cancels_itself() -> None:
    raise asyncio.CancelledError


async def test_a_member_that_cancels_itself_is_told_and_no_error() -> None:
    bench = Bench()
    await bench.group.start()
    with capture_logs() as lines:
        bench.group.add(Runnable(name="mine", run=cancels_itself))
        await settle()
    assert bench.failures == []
    assert [line["event"] for line in lines] == [
        "the runnable 'mine' ended by CancelledError, though nobody had ended it"
    ]
    await bench.stop()


async def closes_itself() -> None:
    raise GeneratorExit


async def raises() -> None:
    raise OSError("gone")


@pytest.mark.parametrize(
    ("run", "kind", "text"),
    [
        (closes_itself, RunnableAborted, "the group 'others' ended by GeneratorExit, though nobody had ended it"),
        (lambda: 5, TypeError, "the runnable 'mine' must be an async function; it answered int"),
        (raises, OSError, "gone"),
    ],
)
async def test_a_member_that_ends_badly_is_never_missing_silently(
    run: Callable[[], Awaitable[None]], kind: type[Exception], text: str
) -> None:
    bench = Bench()
    await bench.group.start()
    bench.group.add(Runnable(name="mine", run=run))
    await settle()
    (error,) = bench.failures
    assert type(error) is kind
    assert str(error) == text
    if kind in (OSError, TypeError):
        assert error.__notes__ == ["raised by the runnable 'mine'"]
    assert await bench.stop() == ()
