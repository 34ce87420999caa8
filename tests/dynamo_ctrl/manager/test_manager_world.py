"""The manager and the world around it: other managers, missing kinds, health and metrics over HTTP, the garbage collector."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.cache import CacheOptions
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import Engine, ListOptions
from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.manager.errors import CannotListen
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.metrics import respond
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Create, Event
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FaultyEngine, LoopClock, run, settle

QUIET = ManagerOptions(garbage=False, sync_timeout=1)
GADGET: Kind[Object[Any, Any]] = Kind(Object, group="example.com", version="v1", kind="Gadget", plural="gadgets")


class Copier:
    """Gives every config map a secret of its name, and tells an event about it."""

    def __init__(self, name: str = "copier", reads: Kind[Any] | None = None) -> None:
        self.name = name
        self.watches = watching(CONFIG_MAP).owning(SECRET)
        if reads is not None:
            self.watches = self.watches.reading(reads)

    def reconcile(self, request: Request[Any]) -> Result[None]:
        metadata = request.object.metadata
        secret = SECRET.object({"metadata": {"name": metadata.name, "namespace": metadata.namespace}})
        event = Event(type="Normal", reason="Created", note=f"secret {metadata.name}")
        return Result(steps=(Step(name="secret", effects=(Create(object=secret, event=event),)),))


def new(engine: Engine, *programs: object, options: ManagerOptions = QUIET) -> Manager:
    log = structlog.wrap_logger(None, processors=[LogCapture()], wrapper_class=structlog.BoundLogger)
    return Manager(engine, programs=programs, options=options, clock=LoopClock(), log=log)


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[None]:
    async with manager:
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(2)
        yield
        manager.stop()
        await task


async def put(engine: Engine, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    await engine.create(CONFIG_MAP, "default", msgspec.json.encode(body))


async def names(engine: Engine, kind: Kind[Any]) -> list[str]:
    page = await engine.list(kind, ListOptions(namespace="default"))
    return sorted(msgspec.json.decode(item)["metadata"]["name"] for item in page.items)


async def test_r4_53_two_managers_in_one_process_share_a_cluster_and_nothing_else() -> None:
    core = Core(clock=LoopClock())
    one, two = (new(MemoryEngine(core), Copier(name)) for name in ("one", "two"))
    async with running(one), running(two):
        await put(one.engine, "a")
        await settle()
        assert await names(one.engine, SECRET) == ["a"]
        assert one.registry is not two.registry
        assert [manager.controllers[0].numbers.error for manager in (one, two)] == [0, 0]


class SlowEvents(MemoryEngine):
    """A server that takes a second for each event."""

    async def create(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        if kind == EVENT:
            await asyncio.sleep(1)
        return await super().create(kind, *arguments, **more)


async def test_events_of_the_last_moment_are_sent() -> None:
    engine = SlowEvents(Core(clock=LoopClock()))
    manager = new(engine)

    async def says_goodbye() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            recorder = manager._opened().recorder
            assert recorder is not None
            about = CONFIG_MAP.object({"metadata": {"name": "web", "namespace": "default", "uid": "u"}})
            recorder.event(about, Event(type="Normal", reason="Stopped", note="goodbye"))

    manager.add_runnable("the last one to stop", says_goodbye, group=Order.HTTP)
    async with running(manager):
        pass
    assert len(await names(engine, EVENT)) == 1


async def test_the_last_events_have_a_budget_of_their_own_and_are_dropped_after_it() -> None:
    engine = SlowEvents(Core(clock=LoopClock()))
    manager = new(engine, options=ManagerOptions(garbage=False, event_flush=3.5))
    async with manager:
        recorder = manager._opened().recorder
        assert recorder is not None
        task = asyncio.create_task(manager.run())
        await manager.synced()
        for number in range(10):
            about = CONFIG_MAP.object({"metadata": {"name": f"web-{number}", "namespace": "default", "uid": "u"}})
            recorder.event(about, Event(type="Normal", reason="Stopped", note="goodbye"))
        manager.stop()
        await task
    assert (recorder.sent, recorder.dropped) == (3, 7)


async def test_events_of_programs_are_sent_after_real_writes() -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    async with running(new(engine, Copier())):
        await put(engine, "a")
        await asyncio.sleep(1)
        await put(engine, "b")
        await asyncio.sleep(1)
        events = [msgspec.json.decode(item) for item in (await engine.list(EVENT, ListOptions())).items]
        assert sorted(event["note"] for event in events) == ["secret a", "secret b"]


async def test_r4_49_a_missing_api_is_a_reason_of_readyz_and_heals() -> None:
    core = Core(clock=LoopClock())
    manager = new(MemoryEngine(core), Copier(reads=GADGET))
    async with running(manager):
        await put(manager.engine, "a")
        await asyncio.sleep(60)
        assert list(manager.reasons) == ["copier/gadgets.example.com"]
        answer = manager.readyz.respond("", {})
        assert answer.status == 500
        assert "[+]copier/configmaps ok" in answer.body
        assert "[-]copier/gadgets.example.com failed: absent: the cluster does not serve" in answer.body
        assert manager.healthz.respond("", {}).status == 200
        core.register(GADGET)
        await asyncio.sleep(20)
        assert manager.reasons == {}
        assert manager.readyz.respond("", {}).body == "ok"
        assert await names(manager.engine, SECRET) == ["a"]


async def test_r4_51_a_missing_right_is_a_reason_of_readyz_with_the_rule_and_heals() -> None:
    engine = FaultyEngine(MemoryEngine(Core(clock=LoopClock())))
    engine.fail(Forbidden("secrets is forbidden"), "list", SECRET, times=5)
    manager = new(engine, Copier())
    async with running(manager):
        reason = manager.reasons["copier/secrets"]
        assert reason.startswith("forbidden: ")
        assert 'verbs: ["get", "list", "watch"]' in reason
        await asyncio.sleep(300)
        assert manager.reasons == {}


async def test_r4_54_a_program_whose_kind_is_missing_does_not_keep_another_one_from_working() -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    manager = new(engine, Copier("waits", reads=GADGET), Copier("works"))
    async with running(manager):
        await put(engine, "a")
        await asyncio.sleep(1)
        assert await names(engine, SECRET) == ["a"]
        assert [controller.ready for controller in manager.controllers] == [False, True]


async def test_programs_read_only_the_namespaces_of_the_options() -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    options = ManagerOptions(garbage=False, cache=CacheOptions(namespaces=("other",)))
    async with running(new(engine, Copier(), options=options)):
        await put(engine, "a")
        await asyncio.sleep(1)
        assert await names(engine, SECRET) == []


async def test_requests_of_a_named_engine_are_counted_and_told_to_the_embedder_too() -> None:
    told: list[tuple[str, str, int]] = []
    config = EngineConfig(on_request=lambda method, host, code, seconds: told.append((method, host, code)))
    manager = Manager("memory", config=config, options=QUIET)
    manager._connection._told("GET", "h", 200, 0.1)
    assert told == [("GET", "h", 200)]
    assert 'rest_client_requests_total{code="200",host="h",method="GET"} 1.0' in respond(manager.registry).body


async def test_the_garbage_collector_is_relaxed_while_it_runs_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    engine = MemoryEngine(Core(clock=LoopClock()))
    async with running(new(engine, options=ManagerOptions())):
        assert gc.get_threshold()[0] == 50_000
        assert gc.get_freeze_count() > 1000
        async with running(new(engine, options=ManagerOptions())):
            pass
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


@pytest.mark.real_loop
async def test_health_and_metrics_are_served_and_gone_after_the_stop(address: str) -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    options = ManagerOptions(garbage=False, health_address=address, metrics_address=address)
    manager = new(engine, Copier(), options=options)
    async with manager, aiohttp.ClientSession() as session:
        task = asyncio.create_task(manager.run())
        await asyncio.wait_for(manager.synced(), 10)
        async with session.get(f"http://{address}/readyz?verbose") as answer:
            assert (answer.status, "[+]copier/secrets ok" in await answer.text()) == (200, True)
        async with session.get(f"http://{address}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with session.get(f"http://{address}/metrics") as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert 'controller_runtime_active_workers{controller="copier"} 0.0' in await answer.text()
        manager.stop()
        await task
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(f"http://{address}/healthz")


@pytest.mark.real_loop
async def test_two_managers_on_one_port_are_an_error_of_the_second_start(address: str) -> None:
    engine = MemoryEngine(Core(clock=LoopClock()))
    options = ManagerOptions(garbage=False, metrics_address=address)
    async with new(engine, options=options) as first, new(engine, options=options) as second:
        task = asyncio.create_task(first.run())
        await asyncio.wait_for(first.synced(), 10)
        with pytest.raises(CannotListen, match=r"metrics_address: cannot listen on 127\.0\.0\.1"):
            await second.run()
        first.stop()
        await task


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_r4_33_a_stop_at_any_moment_of_the_start_and_of_the_work_ends_everything(seed: int | None) -> None:
    async def stopped_after(turns: int) -> int:
        manager = new(MemoryEngine(Core(clock=LoopClock())), Copier(), Copier("waits", reads=GADGET))
        async with manager:
            await put(manager.engine, "a")
            task = asyncio.create_task(manager.run())
            for _ in range(turns):
                await asyncio.sleep(0)
            manager.stop()
            await task
        return manager.controllers[1].numbers.success if manager.controllers else 0

    ran = [run(stopped_after(turns), seed=seed) for turns in range(0, 120, 2)]
    assert set(ran) == {0}, "what waits for a kind is not let loose by the stop"
