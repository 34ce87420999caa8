"""The manager's life: start and stop order, errors, adding, cancellation, overruns (R 1.1, 3.9). The plugin checks for leaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import UnknownEngine
from dynamo_ctrl.manager.errors import AlreadyStarted, InvalidOption, ManagerError, StopOverrun, Stopping
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.stages import GRACE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.errors import NotAProgram
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing import LoopClock, settle

QUIET = ManagerOptions(garbage=False)


class Watcher:
    """A program that writes down what it is asked about."""

    def __init__(self, name: str = "watcher", kind: Kind[Any] = CONFIG_MAP) -> None:
        self.name = name
        self.watches = watching(kind)
        self.seen: list[str] = []

    def reconcile(self, request: Request[Any]) -> Result[None]:
        self.seen.append(request.object.metadata.name)
        return Result()


class Log(list[str]):
    def member(self, name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            self.append(f"+{name}")
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await asyncio.sleep(1)
                self.append(f"-{name}")

        return run


def new(
    engine: str | Engine | None = None, *, options: ManagerOptions = QUIET, lines: LogCapture | None = None
) -> Manager:
    clock = LoopClock()
    log = structlog.wrap_logger(None, processors=[lines or LogCapture()], wrapper_class=structlog.BoundLogger)
    return Manager(engine or MemoryEngine(Core(clock=clock)), options=options, clock=clock, log=log)


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        yield task
        manager.stop()
        await asyncio.wait([task])


async def put(engine: Engine, name: str, kind: Kind[Any] = CONFIG_MAP) -> None:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    await engine.create(kind, "default", msgspec.json.encode(body))


async def test_a_program_sees_what_is_there_and_what_comes() -> None:
    program, manager = Watcher(), new()
    await put(manager._connection._asked, "a")  # type: ignore[arg-type]
    manager.add(program)
    async with running(manager) as task:
        await settle()
        await put(manager.engine, "b")
        await settle()
        assert program.seen == ["a", "b"]
        assert manager.reasons == {}
        manager.stop()
        await task


async def test_groups_start_in_order_and_stop_in_reverse_caches_outliving_controllers() -> None:
    log, manager = Log(), new()
    for order in reversed(Order):
        manager.add_runnable(order.value, log.member(order.value), group=order)
    async with running(manager):
        await settle()
    names = [order.value for order in Order]
    assert log == [f"+{name}" for name in names] + [f"-{name}" for name in reversed(names)]


async def test_a_group_waits_until_the_one_before_is_ready() -> None:
    log, manager, gate = Log(), new(), asyncio.Event()

    async def ready() -> None:
        await gate.wait()

    manager.add_runnable("slow", log.member("slow"), group=Order.WEBHOOKS, ready=ready)
    manager.add_runnable("later", log.member("later"), group=Order.OTHERS)
    async with manager:
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(5)
        assert log == ["+slow"]
        assert manager.reasons == {"manager": "the manager is starting"}
        gate.set()
        await manager.synced()
        assert log == ["+slow", "+later"]
        manager.stop()
        await task


async def test_the_first_error_stops_everything_in_order_and_is_raised() -> None:
    log, lines = Log(), LogCapture()
    manager = new(lines=lines)
    error = OSError("first")

    async def fails() -> None:
        await asyncio.sleep(1)
        raise error

    async def fails_too() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            raise OSError("second")

    manager.add_runnable("cache user", log.member("other"), group=Order.OTHERS)
    manager.add_runnable("fails", fails)
    manager.add_runnable("fails too", fails_too, group=Order.OTHERS)
    async with manager:
        with pytest.raises(OSError, match="first") as caught:
            await manager.run()
    assert caught.value is error
    assert log == ["+other", "-other"]
    assert "a further error while the manager stops" in [line["event"] for line in lines.entries]


async def test_an_error_during_the_start_is_raised_and_what_was_started_is_stopped() -> None:
    log, manager = Log(), new()

    async def refuses() -> None:
        raise OSError("no port")

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    manager.add_runnable("http", log.member("http"), group=Order.HTTP)
    manager.add_runnable("webhook", refuses, group=Order.WEBHOOKS, ready=never)
    manager.add_runnable("never", log.member("never"))
    async with manager:
        with pytest.raises(OSError, match="no port"):
            await manager.run()
    assert log == ["+http", "-http"]


async def test_cancellation_is_no_error_and_is_passed_on_when_everything_has_stopped() -> None:
    log, manager = Log(), new()
    manager.add_runnable("one", log.member("one"))
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        task.cancel()
        await asyncio.sleep(0.5)
        assert not task.done()
        task.cancel()  # impatience does not tear the stop apart
        with pytest.raises(asyncio.CancelledError):
            await task
    assert log == ["+one", "-one"]


def deaf(let_go: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    return run


async def test_an_overrun_names_the_task_and_where_it_hangs() -> None:
    let_go, log, lines = asyncio.Event(), Log(), LogCapture()
    manager = new(options=ManagerOptions(garbage=False, stop_budget=3), lines=lines)
    manager.add_runnable("deaf one", deaf(let_go))
    manager.add_runnable("innocent", log.member("innocent"), group=Order.HTTP)
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        manager.stop()
        began = asyncio.get_running_loop().time()
        try:
            with pytest.raises(
                StopOverrun, match=r"(?s)within the stop budget of 3 s:\ndeaf one\n    at .*test_manager.py"
            ) as caught:
                await task
        finally:
            let_go.set()
        assert asyncio.get_running_loop().time() - began < 3 + 10 * GRACE
        await settle()
        (hanging, innocent) = caught.value.hanging
        assert "deaf.<locals>.run" in hanging
        assert innocent.startswith("innocent"), "it needs 1 s, and the budget was used up"
        assert "the manager did not stop in time" in [line["event"] for line in lines.entries]
        await asyncio.sleep(2)


async def test_an_error_and_an_overrun_are_raised_together() -> None:
    let_go = asyncio.Event()
    manager = new(options=ManagerOptions(garbage=False, stop_budget=3))

    async def fails() -> None:
        raise OSError("first")

    manager.add_runnable("deaf one", deaf(let_go), group=Order.HTTP)
    manager.add_runnable("fails", fails)
    async with manager:
        try:
            with pytest.raises(ExceptionGroup) as caught:
                await manager.run()
        finally:
            let_go.set()
        await settle()
    assert [type(error) for error in caught.value.exceptions] == [OSError, StopOverrun]


async def test_a_program_that_is_added_later_starts_at_once() -> None:
    first, second, manager = Watcher(), Watcher("second", SECRET), new()
    manager.add(first)
    async with running(manager):
        await put(manager.engine, "s", SECRET)
        manager.add(second)
        await manager.synced()
        await settle()
        assert [controller.name for controller in manager.controllers] == ["watcher", "second"]
        assert second.seen == ["s"]
        assert manager.reasons == {}


async def test_a_runnable_that_is_added_later_starts_at_once() -> None:
    log, manager = Log(), new()
    async with running(manager):
        manager.add_runnable("late", log.member("late"), group=Order.OTHERS)
        await settle()
        assert log == ["+late"]


async def test_a_provider_cannot_join_a_controller_that_runs() -> None:
    class Selector(Watcher):
        reconcile = None  # type: ignore[assignment]

        def select(self, request: Request[Any], installed: frozenset[str]) -> Result[None]:
            return Result()

    class Provider(Watcher):
        provider = "p"

    manager = new()
    manager.add(Selector("shared"))
    async with running(manager):
        with pytest.raises(AlreadyStarted, match="the controller 'shared' runs; its providers must be added before"):
            manager.add(Provider("provider"))


async def test_r4_41_nothing_can_be_added_to_a_manager_that_has_stopped() -> None:
    manager = new()
    async with running(manager):
        pass
    with pytest.raises(Stopping, match="the program 'watcher' cannot be added"):
        manager.add(Watcher())
    with pytest.raises(Stopping, match="late cannot be added"):
        manager.add_runnable("late", Log().member("late"))


async def test_what_is_no_program_is_refused_when_it_is_added() -> None:
    with pytest.raises(NotAProgram):
        new().add(object())


async def test_two_programs_of_one_name_are_refused_by_the_start() -> None:
    manager = new()
    manager.add(Watcher())
    manager.add(Watcher())
    async with manager:
        with pytest.raises(Exception, match="two programs are called 'watcher'"):
            await manager.run()


async def test_a_manager_runs_once_and_only_when_it_is_open() -> None:
    manager = new()
    with pytest.raises(ManagerError, match="run: the manager is new"):
        await manager.run()
    with pytest.raises(ManagerError, match="not open"):
        _ = manager.engine
    async with running(manager):
        with pytest.raises(AlreadyStarted, match="run: the manager is running"):
            await manager.run()
    with pytest.raises(AlreadyStarted):
        await manager.__aenter__()


async def test_a_stop_that_comes_first_ends_the_run_at_once() -> None:
    log, manager = Log(), new()
    manager.add_runnable("one", log.member("one"))
    async with manager:
        manager.stop()
        await asyncio.wait_for(manager.run(), 1)
    assert log == []


async def test_waiting_for_sync_ends_when_the_manager_stops() -> None:
    manager = new()
    manager.add(Watcher(kind=Kind(CONFIG_MAP.model, group="example.com", version="v1", kind="Gone", plural="gones")))
    async with manager:
        task = asyncio.create_task(manager.run())
        waiting = asyncio.create_task(manager.synced())
        await asyncio.sleep(60)
        assert not waiting.done()
        manager.stop()
        with pytest.raises(Stopping):
            await waiting
        await task


async def test_leaving_the_context_stops_a_manager_that_another_task_runs() -> None:
    log, manager = Log(), new()
    manager.add_runnable("one", log.member("one"))
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
    assert log == ["+one", "-one"]
    await task


async def test_an_engine_that_was_given_stays_open_and_one_that_was_named_is_closed() -> None:
    given = MemoryEngine(Core(clock=LoopClock()))
    async with new(given):
        pass
    await put(given, "still-open")
    async with new("memory") as manager:
        named = manager.engine
        await put(named, "open")
    with pytest.raises(Exception, match="closed"):
        await put(named, "too-late")


async def test_an_unknown_engine_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownEngine, match="unknown engine 'mystery'"):
        async with new("mystery"):
            pass


async def test_a_bad_address_is_refused_before_anything_is_opened() -> None:
    with pytest.raises(InvalidOption, match="metrics_address"):
        new(options=ManagerOptions(metrics_address="nowhere"))
