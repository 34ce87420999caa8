"""Renewal on a thread of its own: a busy loop keeps the lease, a hung one does not; nothing is left behind. Real time (R 3.8)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Unreachable, WriteRefused
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.manager.connection import Connection
from dynamo_ctrl.manager.elector import THREAD
from dynamo_ctrl.manager.errors import LeadershipLost
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.manager.request_numbers import RequestNumbers
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result

pytestmark = pytest.mark.real_loop

MINE = Key("default", "mine")
PATIENCE = 20.0
"""Seconds for anything here to happen."""


class Leases:
    """A server of leases that several threads may use, and nothing else."""

    def __init__(self) -> None:
        self.core = Core(clock=SystemClock())
        self.lock = threading.Lock()
        self.renewals: list[tuple[float, str]] = []
        self.opened_in: list[str] = []
        self.closed = 0
        self.broken: Exception | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemoryEngine]:
        self.opened_in.append(threading.current_thread().name)
        if self.broken is not None:
            raise self.broken
        yield Locked(self)
        self.closed += 1

    def holder(self) -> str | None:
        with self.lock:
            return LEASE.decode(self.core.get(LEASE, Key("default", "lease"))).spec.holder_identity


class Locked(MemoryEngine):
    """A connection to it."""

    def __init__(self, leases: Leases) -> None:
        super().__init__(leases.core)
        self.leases = leases

    async def get(self, *arguments: Any, **more: Any) -> bytes:
        with self.leases.lock:
            return await super().get(*arguments, **more)

    async def create(self, *arguments: Any, **more: Any) -> bytes:
        with self.leases.lock:
            return await super().create(*arguments, **more)

    async def update(self, *arguments: Any, **more: Any) -> bytes:
        with self.leases.lock:
            answer = await super().update(*arguments, **more)
        holder = LEASE.decode(answer).spec.holder_identity
        self.leases.renewals.append((time.monotonic(), holder or ""))
        return answer


class Quiet:
    """A program with nothing to do."""

    name = "quiet"
    watches = watching(CONFIG_MAP)

    def reconcile(self, request: Request[Any]) -> Result[None]:
        return Result(requeue_after=timedelta(seconds=0.05))


def new(leases: Leases, who: str, *, renew_deadline: float = 2.5) -> Manager:
    election = LeaderElectionOptions(
        enabled=True, name="lease", namespace="default", identity=who, lease_duration=renew_deadline + 1.5,
        renew_deadline=renew_deadline, retry_period=0.2, guard_margin=0.2,
    )  # fmt: skip
    core = Core(clock=SystemClock())
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
    core.create(CONFIG_MAP, "default", msgspec.json.encode(body))
    options = ManagerOptions(garbage=False, sync_timeout=1, stall_threshold=0, leader_election=election)
    return Manager(MemoryEngine(core), programs=[Quiet()], options=options, lease_engine=leases.open)


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Task[None]]:
    async with manager:
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(0)
        try:
            yield task
        finally:
            manager.stop()
            await asyncio.wait([task])


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == THREAD]


async def test_a_busy_loop_keeps_the_lease_for_renewals_come_from_a_thread_with_its_own_engine() -> None:
    leases = Leases()
    manager = new(leases, "me", renew_deadline=PATIENCE)
    async with running(manager) as task:
        await asyncio.wait_for(manager.elected(), PATIENCE)
        began, before = time.monotonic(), len(leases.renewals)
        while len(leases.renewals) < before + 2:
            time.sleep(0.05)  # noqa: ASYNC251  (the loop is busy)
            assert time.monotonic() - began < PATIENCE
        await asyncio.sleep(0.1)
        assert manager.leading
        assert not task.done()
        await manager.engine.patch(CONFIG_MAP, MINE, Patch.merge({"data": {"a": "b"}}))
        assert leases.opened_in == [THREAD]
    assert task.exception() is None
    assert leases.closed == 1
    assert leases.holder() is None, "a clean stop gives the lease back"
    assert threads() == []


async def test_a_hung_loop_does_not_keep_the_lease_and_writes_nothing_when_it_wakes_up() -> None:
    leases = Leases()
    first, second = new(leases, "first"), new(leases, "second")
    refused: list[Exception] = []

    async def hangs() -> None:
        await asyncio.sleep(0.3)
        began = time.monotonic()
        while leases.holder() == "first":
            time.sleep(0.05)  # noqa: ASYNC251  (the loop hangs)
            assert time.monotonic() - began < PATIENCE
        try:
            await first.engine.patch(CONFIG_MAP, MINE, Patch.merge({"data": {"too": "late"}}))
        except WriteRefused as error:
            refused.append(error)

    first.add_runnable("hangs", hangs)

    other: list[str] = []

    def elsewhere() -> None:
        async def main() -> None:
            async with running(second):
                await asyncio.wait_for(second.elected(), PATIENCE)
                other.append("elected")

        asyncio.run(main())

    async with running(first) as task:
        await asyncio.wait_for(first.elected(), PATIENCE)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        await asyncio.wait([task], timeout=PATIENCE)
        thread.join(PATIENCE)
    assert other == ["elected"]
    assert len(refused) == 1
    error = task.exception()
    assert isinstance(error, LeadershipLost)
    assert "sign of life" in error.reason or "renewed for" in error.reason
    ours = [at for at, who in leases.renewals if who == "first"]
    theirs = [at for at, who in leases.renewals if who == "second"]
    assert max(ours) < min(theirs)
    assert threads() == []


async def test_an_engine_that_cannot_be_opened_for_the_election_fails_the_manager() -> None:
    leases = Leases()
    leases.broken = Unreachable("no such cluster")
    manager = new(leases, "me")
    async with manager:
        with pytest.raises(Unreachable, match="no such cluster"):
            await asyncio.wait_for(manager.run(), PATIENCE)
    assert threads() == []


async def test_an_error_that_nobody_planned_for_ends_the_manager_and_leaves_nobody_renewing() -> None:
    leases = Leases()

    class Broken(Locked):
        async def update(self, *arguments: Any, **more: Any) -> bytes:
            raise KeyError("a bug")

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryEngine]:
        yield Broken(leases)

    manager = new(leases, "me")
    manager._electorate._opened = opened
    async with manager:
        with pytest.raises(KeyError, match="a bug"):
            await asyncio.wait_for(manager.run(), PATIENCE)
    assert threads() == []


async def test_a_candidate_stops_at_once_also_while_its_request_is_under_way() -> None:
    leases = Leases()
    asked = threading.Event()

    class Slow(Locked):
        async def get(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
            asked.set()
            await asyncio.sleep(100)
            raise AssertionError

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryEngine]:
        yield Slow(leases)

    manager = new(leases, "me", renew_deadline=4 * PATIENCE)  # a request may take half of it
    manager._electorate._opened = opened
    async with running(manager) as task:
        await asyncio.wait_for(asyncio.to_thread(asked.wait), PATIENCE)
        manager.stop()
        await asyncio.wait([task], timeout=PATIENCE)
        assert task.done()
    assert task.exception() is None
    assert threads() == []


async def test_a_lease_that_cannot_be_given_back_in_time_is_left_to_run_out() -> None:
    leases = Leases()

    class SlowToRelease(Locked):
        async def get(self, *arguments: Any, **more: Any) -> bytes:
            if manager._life.over:
                await asyncio.sleep(100)
            return await super().get(*arguments, **more)

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryEngine]:
        yield SlowToRelease(leases)

    manager = new(leases, "me", renew_deadline=PATIENCE)
    manager._electorate._opened = opened
    object.__setattr__(manager.options, "stop_budget", 2.0)
    async with running(manager) as task:
        await asyncio.wait_for(manager.elected(), PATIENCE)
        manager.stop()
        await asyncio.wait([task], timeout=PATIENCE)
    assert task.exception() is None, "nothing hangs"
    assert leases.holder() == "me"
    assert threads() == []


async def test_a_thread_that_does_not_end_is_named() -> None:
    leases, stuck, let_go = Leases(), threading.Event(), threading.Event()

    class Stuck(Locked):
        async def get(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
            stuck.set()
            let_go.wait(PATIENCE)
            return await super().get(kind, *arguments, **more)

    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryEngine]:
        yield Stuck(leases)

    manager = new(leases, "me")
    manager._electorate._opened = opened
    object.__setattr__(manager.options, "stop_budget", 0.5)
    async with manager:
        task = asyncio.create_task(manager.run())
        await asyncio.wait_for(asyncio.to_thread(stuck.wait, PATIENCE), PATIENCE)
        manager.stop()
        with pytest.raises(Exception, match=f"thread {THREAD}"):
            await task
    let_go.set()
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(PATIENCE)
    assert threads() == []


async def test_requests_of_the_elections_own_connection_are_counted_on_the_managers_loop() -> None:
    told: list[tuple[str, str]] = []
    config = EngineConfig(on_request=lambda *request: told.append((request[0], threading.current_thread().name)))
    requests = RequestNumbers()
    connection = Connection("kubernetes", config, requests, None)
    connection._home = asyncio.get_running_loop()
    thread = threading.Thread(target=connection._told_abroad, args=("PUT", "h", 200, 0.1))
    thread.start()
    thread.join()
    assert told == []
    await asyncio.sleep(0.01)
    assert told == [("PUT", threading.current_thread().name)]
    assert requests.counts[("200", "PUT", "h")] == 1
