"""The rows of R 1.1 about a manager that stand in no other file: what embedders rely on without being told."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.kubernetes.config import ConfigError
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.manager.errors import AlreadyStarted, StopOverrun
from dynamo_ctrl.manager.groups import Group, Order, Runnable
from dynamo_ctrl.manager.health import Response
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.pages import Pages
from dynamo_ctrl.manager.sync import caches_known
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.effect import Event, Refuse
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import LoopClock, settle

QUIET = ManagerOptions(garbage=False, sync_timeout=1)
WHERE: ContextVar[str] = ContextVar("where", default="nowhere")


def new(
    engine: Any = None, *programs: object, options: ManagerOptions = QUIET, lines: LogCapture | None = None, **more: Any
) -> Manager:
    log = structlog.wrap_logger(None, processors=[lines or LogCapture()], wrapper_class=structlog.BoundLogger)
    clock = LoopClock()
    return Manager(
        engine or MemoryEngine(Core(clock=clock)), programs=programs, options=options, clock=clock, log=log, **more
    )


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        yield task
        manager.stop()
        await asyncio.wait([task])


def forever(log: list[str], name: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        log.append(f"+{name}")
        await asyncio.get_running_loop().create_future()

    return run


@pytest.mark.real_loop
async def test_an_error_of_the_engines_constructor_is_raised_where_the_manager_is_opened() -> None:
    with pytest.raises(ConfigError):
        async with Manager("kubernetes", config=EngineConfig(context="no-such-context")):
            raise AssertionError("it opened")


async def test_a_given_configuration_is_used_as_it_is_and_not_changed() -> None:
    config = EngineConfig(user_agent="mine", clock=LoopClock())
    before = config
    async with Manager("memory", config=config, options=QUIET) as manager:
        assert manager._clock is config.clock
    assert config == before
    assert config.on_request is None


async def test_groups_take_members_from_everywhere_at_any_time() -> None:
    log: list[str] = []
    group = Group(Order.OTHERS, lambda error: None)
    gate = asyncio.Event()

    async def adds(name: str) -> None:
        await asyncio.sleep(0)
        group.add(Runnable(name=name, run=forever(log, name)))

    async def ready() -> None:
        await gate.wait()

    group.add(Runnable(name="slow", run=forever(log, "slow"), ready=ready))
    starting = asyncio.create_task(group.start())
    await asyncio.gather(*(adds(str(number)) for number in range(20)))  # during the start
    await settle()
    assert not starting.done()
    gate.set()
    await starting
    await asyncio.gather(*(adds(str(number)) for number in range(20, 40)))
    await settle()
    assert sorted(log) == sorted(["+slow", *(f"+{number}" for number in range(40))])
    assert await group.stop(asyncio.get_running_loop().time() + 1) == ()


async def test_a_group_that_is_never_ready_keeps_the_later_ones_from_starting() -> None:
    log: list[str] = []
    manager = new()

    async def never() -> None:
        await asyncio.get_running_loop().create_future()

    manager.add_runnable("never ready", forever(log, "never ready"), group=Order.WEBHOOKS, ready=never)
    manager.add_runnable("later", forever(log, "later"), group=Order.CACHES)
    async with manager:
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(1000)
        assert log == ["+never ready"]
        manager.stop()
        await task


async def test_members_of_a_group_may_become_ready_at_different_times() -> None:
    log: list[str] = []
    manager = new()

    def after(seconds: float) -> Callable[[], Awaitable[None]]:
        async def ready() -> None:
            await asyncio.sleep(seconds)
            log.append(f"ready {seconds:g}")

        return ready

    for seconds in (5, 1, 3):
        manager.add_runnable(f"{seconds}", forever([], ""), group=Order.OTHERS, ready=after(seconds))
    manager.add_runnable("leader", forever(log, "leader"))
    async with running(manager):
        await settle()
    assert log[-1] == "+leader"
    assert len(log) == 4


async def test_a_runnable_whose_own_task_is_cancelled_is_no_error() -> None:
    manager = new()

    async def gives_up() -> None:
        raise asyncio.CancelledError

    manager.add_runnable("gives up", gives_up)
    async with running(manager) as task:
        await asyncio.sleep(1)
        assert not task.done()
    assert task.exception() is None


async def test_a_runnable_that_fails_after_the_stop_has_begun_is_told_and_leaves_nothing() -> None:
    lines = LogCapture()
    manager = new(lines=lines)

    async def fails_late() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(3)
            raise OSError("late")

    manager.add_runnable("fails late", fails_late)
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        await settle()
        manager.stop()
        with pytest.raises(OSError, match="late"):
            await task


def deaf(let_go: asyncio.Event) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    return run


async def test_a_stop_budget_of_zero_does_not_wait_and_does_not_complain() -> None:
    let_go, lines = asyncio.Event(), LogCapture()
    manager = new(options=ManagerOptions(garbage=False, stop_budget=0), lines=lines)
    manager.add_runnable("deaf", deaf(let_go))
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        await settle()
        began = asyncio.get_running_loop().time()
        manager.stop()
        await task
        assert asyncio.get_running_loop().time() - began < 0.5
        assert "the manager did not stop in time" in [line["event"] for line in lines.entries]
        let_go.set()
        await settle()


async def test_an_infinite_stop_budget_waits_for_ever() -> None:
    manager = new(options=ManagerOptions(garbage=False, stop_budget=math.inf))

    async def takes_a_day() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(86_400)

    manager.add_runnable("takes a day", takes_a_day)
    async with running(manager) as task:
        await settle()
    assert task.exception() is None
    assert asyncio.get_running_loop().time() >= 86_400


async def test_an_overrun_names_nobody_but_who_hangs() -> None:
    let_go = asyncio.Event()
    manager = new(options=ManagerOptions(garbage=False, stop_budget=1))
    manager.add_runnable("deaf", deaf(let_go), group=Order.OTHERS)
    manager.add_runnable("fine", forever([], ""))
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        await settle()
        manager.stop()
        with pytest.raises(StopOverrun) as caught:
            await task
        let_go.set()
        await settle()
    (hanging,) = caught.value.hanging
    assert hanging.startswith("deaf\n    at ")


async def test_every_runnable_runs_in_the_context_of_who_called_run() -> None:
    seen: dict[str, str] = {}
    manager = new()

    def looks(name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            seen[name] = WHERE.get()

        return run

    for order in Order:
        manager.add_runnable(order.value, looks(order.value), group=order)
    WHERE.set("in the embedder")
    async with running(manager):
        await settle()
    assert seen == {order.value: "in the embedder" for order in Order}


class Refuser:
    """A program that always refuses, and says so in an event."""

    def __init__(self, kind: Kind[Any] = CONFIG_MAP) -> None:
        self.name = "refuser"
        self.watches = watching(kind)

    def reconcile(self, request: Request[Any]) -> Result[None]:
        return Result(steps=(Step(name="no", effects=(Refuse(message="never"),)),))


async def test_controllers_write_into_the_log_of_their_manager() -> None:
    lines = LogCapture()
    engine = MemoryEngine(Core(clock=LoopClock()))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await engine.create(CONFIG_MAP, "default", msgspec.json.encode(body))
    async with running(new(engine, Refuser(), lines=lines)):
        await asyncio.sleep(1)
    failed = [line for line in lines.entries if line["event"] == "reconcile failed"]
    assert failed
    assert failed[0]["controller"] == "refuser"
    assert failed[0]["key"] == "default/a"
    assert failed[0]["reconcile_id"]


@pytest.mark.real_loop
async def test_no_task_and_no_thread_is_left_also_when_events_were_told() -> None:
    before = {thread.name for thread in threading.enumerate()}
    engine = MemoryEngine(Core(clock=SystemClock()))
    manager = Manager(engine, programs=[Refuser()], options=QUIET)
    async with manager:
        task = asyncio.create_task(manager.run())
        await manager.synced()
        recorder = manager._opened().recorder
        assert recorder is not None
        about = CONFIG_MAP.object({"metadata": {"name": "web", "namespace": "default", "uid": "u"}})
        for _ in range(3):
            recorder.event(about, Event(type="Normal", reason="R", note="n"))
        manager.stop()
        await task
    assert recorder.sent == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert {thread.name for thread in threading.enumerate()} == before


async def test_another_cluster_is_a_cache_of_its_own_that_starts_with_the_caches() -> None:
    """R 1.1, cluster object: what it bundles is an engine and a cache here, and a runnable like any other."""
    log: list[str] = []
    far = MemoryEngine(Core(clock=LoopClock()))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "far"}}
    await far.create(CONFIG_MAP, "default", msgspec.json.encode(body))
    cache = Cache(far, clock=LoopClock())
    informer = cache.informer(CONFIG_MAP)
    view = cache.view({CONFIG_MAP: informer})
    manager = new()

    async def known() -> None:
        await caches_known(cache, 5)
        log.append("known")

    async def uses() -> None:
        log.append(",".join(str(found.key) for found in view.list(CONFIG_MAP)))

    manager.add_runnable("far cluster", cache.run, group=Order.CACHES, ready=known)
    manager.add_runnable("uses it", uses)
    async with running(manager):
        await settle()
    assert log == ["known", "default/far"]


async def test_a_page_of_ones_own_is_served_and_hides_none_that_is_there() -> None:
    manager = new()
    manager.serve("extra", lambda path, query: Response(200, path))
    for route, where in (("metrics", "metrics"), ("healthz", "health"), ("readyz", "health"), ("debug", "health")):
        with pytest.raises(ValueError, match=f"route: /{route} is taken"):
            manager.serve(route, lambda path, query: Response(200, ""), on=where)  # type: ignore[arg-type]
    for route in ("", "a/b"):
        with pytest.raises(ValueError, match="route: must be one part of a path"):
            manager.serve(route, lambda path, query: Response(200, ""))
    async with running(manager):
        with pytest.raises(AlreadyStarted, match="/late cannot be served: the servers run"):
            manager.serve("late", lambda path, query: Response(200, ""))


def test_pages_of_one_address_share_a_server_and_nothing_is_served_without_one() -> None:
    pages = Pages(":8080", ":8080")
    pages.add("health", "a", lambda path, query: Response(200, ""))
    pages.add("metrics", "b", lambda path, query: Response(200, ""))
    (server,) = pages.servers()
    assert set(server._routes) == {"a", "b"}
    assert Pages("", "0").servers() == []
    assert (Pages("", "").host("health"), Pages(":1", "").host("health")) == ("", None)
    assert Pages("127.0.0.1:1", "").host("health") == "127.0.0.1"
