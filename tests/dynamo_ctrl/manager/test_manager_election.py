"""Managers that agree on who works: on one memory engine, in virtual time (R 1.1, 1.8, 3.8, 3.9; R 4, 40-42)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Unreachable, WriteRefused
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.manager.electorate import identity, own_namespace
from dynamo_ctrl.manager.errors import InvalidOption, LeadershipLost, Stopping
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import PatchPrimary
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import LoopClock, settle

ELECTION = LeaderElectionOptions(enabled=True, name="lease", namespace="default", renewal="loop")
MINE = Key("default", "mine")


def now() -> float:
    return asyncio.get_running_loop().time()


class Line(MemoryEngine):
    """A line to the shared server on which leases can be cut off; it writes down when something else was patched."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.cut = False
        self.slow = 0.0
        self.patched: list[float] = []

    async def get(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        self._check(kind)
        return await super().get(kind, *arguments, **more)

    async def update(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        self._check(kind)
        return await super().update(kind, *arguments, **more)

    async def patch(self, kind: Kind[Any], *arguments: Any, **more: Any) -> bytes:
        if self.slow:
            await asyncio.sleep(self.slow)
        answer = await super().patch(kind, *arguments, **more)
        self.patched.append(now())
        return answer

    def _check(self, kind: Kind[Any]) -> None:
        if self.cut and kind == LEASE:
            raise Unreachable("the line is cut")


class Counter:
    """Writes into every object of its kind, twice a second."""

    def __init__(self, name: str = "counter", kind: Kind[Any] = CONFIG_MAP) -> None:
        self.name = name
        self.watches = watching(kind)
        self.runs = 0
        self._next = 0.0

    def reconcile(self, request: Request[Any]) -> Result[None]:
        if request.now.timestamp() < self._next:  # woken by its own write
            return Result(requeue_after=timedelta(seconds=0.5))
        self.runs += 1
        self._next = request.now.timestamp() + 0.4
        patch = Patch.merge({"metadata": {"annotations": {"runs": str(self.runs)}}})
        step = Step(name="write", effects=(PatchPrimary(patch=patch),))
        return Result(steps=(step,), requeue_after=timedelta(seconds=0.5))


class Replica:
    """One of several managers of one cluster."""

    def __init__(self, core: Core, number: int, *programs: object, election: LeaderElectionOptions = ELECTION) -> None:
        self.line = Line(core)
        self.program = Counter()
        self.lines = LogCapture()
        options = ManagerOptions(
            garbage=False, sync_timeout=1, leader_election=replace(election, identity=f"m{number}")
        )
        self.manager = Manager(
            self.line,
            programs=programs or (self.program,),
            options=options,
            clock=LoopClock(),
            random=Random(number),
            log=structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger),
        )
        self.task: asyncio.Task[None] | None = None

    async def elected(self) -> None:
        await asyncio.wait_for(self.manager.elected(), 100)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        async with self.manager:
            self.task = asyncio.create_task(self.manager.run())
            await asyncio.sleep(0)
            try:
                yield self.task
            finally:
                self.manager.stop()
                with suppress(LeadershipLost):
                    await self.task


def cluster(**objects: Kind[Any]) -> Core:
    core = Core(clock=LoopClock())
    for name, kind in (objects or {"mine": CONFIG_MAP}).items():
        body = {"apiVersion": "v1", "kind": kind.kind, "metadata": {"name": name}}
        core.create(kind, "default", msgspec.json.encode(body))
    return core


def holder(core: Core, lease: str = "lease") -> str | None:
    return LEASE.decode(core.get(LEASE, Key("default", lease))).spec.holder_identity


async def test_only_the_leader_works_and_the_others_are_ready_to() -> None:
    core = cluster()
    one, two = Replica(core, 1), Replica(core, 2)
    async with one.running(), two.running():
        await one.elected()
        await asyncio.sleep(30)
        assert holder(core) == "m1"
        assert (one.manager.leading, two.manager.leading) == (True, False)
        assert one.program.runs > 50
        assert two.program.runs == 0
        assert two.line.patched == []
        assert two.manager.reasons == {}, "a replica that waits is ready, or no Deployment could ever roll"
        await asyncio.wait_for(two.manager.synced(), 1)


async def test_r4_24_a_clean_stop_gives_the_lease_back_and_the_next_one_works_within_a_retry_period() -> None:
    core = cluster()
    one, two = Replica(core, 1), Replica(core, 2)
    async with one.running() as running, two.running():
        await one.elected()
        await asyncio.sleep(5)
        assert not two.manager.leading
        one.manager.stop()
        await running
        left = now()
        await two.elected()
        assert now() - left <= 2 * 2.2
        await asyncio.sleep(1)
        assert two.program.runs > 0
        assert one.line.patched[-1] <= left < two.line.patched[0]
        assert LEASE.decode(core.get(LEASE, Key("default", "lease"))).spec.lease_transitions == 1


async def test_r4_40_a_leader_that_cannot_renew_stops_writing_before_the_lease_ends_and_another_takes_over() -> None:
    core = cluster()
    one, two = Replica(core, 1), Replica(core, 2)
    async with one.running() as running, two.running():
        await one.elected()
        await asyncio.sleep(5)
        one.line.cut = True
        renewed_at = one.manager._electorate._leaderships["lease"].standing.renewed_at
        with pytest.raises(
            LeadershipLost, match=r"lease default/lease: it (could not be|was not) renewed for 10 s"
        ) as caught:
            await running
        assert caught.value.lease == "default/lease"
        assert caught.value.hanging == ()
        assert now() == pytest.approx(renewed_at + 10, abs=0.2)
        await two.elected()
        assert renewed_at + 15 < now() < renewed_at + 15 + 2 * 4.4
        await asyncio.sleep(5)
        assert one.line.patched[-1] <= renewed_at + 9, "one second is the margin"
        assert one.line.patched[-1] > renewed_at + 8
        assert two.line.patched[0] > renewed_at + 15


async def test_r4_40_a_write_under_way_is_given_up_when_writes_end() -> None:
    core = cluster()
    one = Replica(core, 1)
    async with one.running() as running:
        await one.elected()
        await asyncio.sleep(2.2)
        one.line.cut = True
        renewed_at = one.manager._electorate._leaderships["lease"].standing.renewed_at
        one.line.slow = 6.0
        with pytest.raises(LeadershipLost):
            await running
        await asyncio.sleep(10)
        assert one.line.patched[-1] <= renewed_at + 9


async def test_a_lost_lease_waits_for_nothing_and_names_what_still_runs() -> None:
    core = cluster()
    one, let_go = Replica(core, 1), asyncio.Event()

    async def deaf() -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    async def slow() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0.05)

    one.manager.add_runnable("deaf one", deaf)
    one.manager.add_runnable("slow one", slow, group=Order.HTTP)
    async with one.running() as running:
        await one.elected()
        one.line.cut = True
        with pytest.raises(LeadershipLost) as caught:
            await running
        assert now() == pytest.approx(10, abs=0.5)
        (hanging,) = caught.value.hanging
        assert hanging.startswith("deaf one\n    at ")
        let_go.set()
        await settle()


async def test_somebody_who_takes_the_lease_by_force_ends_the_leadership_at_the_next_renewal() -> None:
    core = cluster()
    one = Replica(core, 1)
    async with one.running() as running:
        await one.elected()
        core.patch(LEASE, Key("default", "lease"), Patch.merge({"spec": {"holderIdentity": "thief"}}))
        with pytest.raises(LeadershipLost, match="thief holds the lease"):
            await running
        assert now() < 3


async def test_r4_41_a_manager_that_never_led_starts_no_leaders_work_when_it_stops() -> None:
    core, log = cluster(), list[str]()
    one, two = Replica(core, 1), Replica(core, 2)

    async def work() -> None:
        log.append("started")

    two.manager.add_runnable("work", work)
    async with one.running():
        await one.elected()
        async with two.running():
            await asyncio.sleep(5)
            waiting = asyncio.create_task(two.manager.elected())
            await settle()
            two.manager.stop()
            with pytest.raises(Stopping, match="not elected"):
                await waiting
        assert holder(core) == "m1"
    assert log == []
    assert two.program.runs == 0


async def test_r4_41_a_victory_that_comes_while_it_stops_starts_nothing_and_is_given_back() -> None:
    core, log = cluster(), list[str]()
    one = Replica(core, 1)

    async def work() -> None:
        log.append("started")

    async def slow_to_stop() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(20)

    class Slow(Line):
        async def create(self, *arguments: Any, **more: Any) -> bytes:
            answer = await super().create(*arguments, **more)
            await asyncio.sleep(3)
            return answer

    one.manager._connection._asked = Slow(core)
    one.manager.add_runnable("work", work)
    one.manager.add_runnable("slow", slow_to_stop, group=Order.OTHERS)
    async with one.running():
        await asyncio.sleep(1)
        assert holder(core) == "m1"
        one.manager.stop()
        await asyncio.sleep(4)
        assert holder(core) is None
    assert log == []


async def test_renewals_go_on_while_work_is_stopped_and_the_lease_is_given_back_last() -> None:
    core = cluster()
    one = Replica(core, 1)
    held: list[str | None] = []

    async def slow_to_stop() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(20)
            held.append(holder(core))
            await one.manager.engine.patch(CONFIG_MAP, MINE, Patch.merge({"data": {"last": "word"}}))

    one.manager.add_runnable("slow", slow_to_stop, group=Order.OTHERS)
    async with one.running() as running:
        await one.elected()
        await asyncio.sleep(1)
        one.manager.stop()
        await running
    assert held == ["m1"]
    assert holder(core) is None
    assert now() == pytest.approx(21, abs=0.1)


async def test_a_lease_whose_work_hangs_is_not_given_back() -> None:
    core = cluster()
    one, let_go = Replica(core, 1), asyncio.Event()

    async def deaf() -> None:
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()

    one.manager.add_runnable("deaf one", deaf)
    async with one.manager:
        running = asyncio.create_task(one.manager.run())
        await one.elected()
        one.manager.stop()
        with pytest.raises(Exception, match="deaf one"):
            await running
        assert holder(core) == "m1"
        let_go.set()
        await settle()


async def test_the_engine_of_a_manager_writes_only_while_it_leads_and_its_unguarded_one_always() -> None:
    core = cluster()
    one, two = Replica(core, 1), Replica(core, 2)
    patch = Patch.merge({"data": {"a": "b"}})
    async with one.running(), two.running():
        await one.elected()
        await one.manager.engine.patch(CONFIG_MAP, MINE, patch)
        with pytest.raises(WriteRefused, match=r"this process does not lead now \(lease default/lease\)"):
            await two.manager.engine.patch(CONFIG_MAP, MINE, patch)
        await two.manager.unguarded_engine.patch(CONFIG_MAP, MINE, patch)


async def test_who_wins_tells_an_event_and_who_waits_tells_none() -> None:
    core = cluster()
    one, two = Replica(core, 1), Replica(core, 2)
    async with one.running(), two.running():
        await one.elected()
        await asyncio.sleep(10)
    events = [msgspec.json.decode(item) for item in core.list(EVENT, ListOptions()).items]
    told = [(event["reason"], event["note"], event["regarding"]["name"]) for event in events]
    assert told == [("LeaderElection", "m1 became leader", "lease")]


async def test_r4_42_controllers_may_be_led_under_leases_of_their_own() -> None:
    core = cluster(mine=CONFIG_MAP, hidden=SECRET)
    election = replace(ELECTION, groups={"secrets": "lease-of-secrets"})
    maps, secrets = ([Counter("maps"), Counter("maps")], [Counter("secrets", SECRET), Counter("secrets", SECRET)])
    one = Replica(core, 1, maps[0], secrets[0], election=election)
    two = Replica(core, 2, maps[1], secrets[1], election=election)
    for lease in ("lease", "lease-of-secrets"):
        body = {"metadata": {"name": lease}, "spec": {"holderIdentity": "nobody", "leaseDurationSeconds": 3}}
        core.create(LEASE, "default", msgspec.json.encode({"apiVersion": LEASE.api_version, "kind": "Lease", **body}))
    async with one.running():
        await asyncio.sleep(20)
        assert (holder(core), holder(core, "lease-of-secrets")) == ("m1", "m1")
        core.patch(LEASE, Key("default", "lease-of-secrets"), Patch.merge({"spec": {"holderIdentity": "m2"}}))
        async with two.running():
            with pytest.raises(LeadershipLost, match="lease default/lease-of-secrets: m2 holds the lease"):
                await one.task  # type: ignore[misc]
            runs = secrets[0].runs
            await asyncio.sleep(60)
            assert secrets[0].runs == runs
            assert secrets[1].runs > 0
            assert maps[1].runs > 0


async def test_without_leader_election_everybody_leads_at_once() -> None:
    core = cluster()
    one = Replica(core, 1, election=LeaderElectionOptions())
    async with one.running():
        await asyncio.wait_for(one.manager.elected(), 1)
        assert one.manager.leading
        assert one.manager.engine is one.manager.unguarded_engine
        await asyncio.sleep(1)
        assert one.program.runs > 0


async def test_the_health_of_the_lease_is_part_of_healthz() -> None:
    core = cluster()
    one = Replica(core, 1)
    async with one.running():
        await one.elected()
        assert one.manager.healthz.respond("", {"verbose": ["1"]}).body.startswith("[+]leader-election/lease ok")
        leadership = one.manager._electorate._leaderships["lease"]
        leadership.standing = replace(leadership.standing, renewed_at=now() - 36)
        response = one.manager.healthz.respond("", {})
        assert response.status == 500
        assert "this process still claims it" in response.body
        leadership.standing = replace(leadership.standing, renewed_at=now())


def test_a_namespace_is_needed_outside_a_cluster_and_read_from_the_pod_inside(tmp_path: Path) -> None:
    election = LeaderElectionOptions(enabled=True, name="lease", renewal="loop")
    with pytest.raises(InvalidOption, match=r"leader_election\.namespace: must be given outside a cluster"):
        Manager(MemoryEngine(), options=ManagerOptions(leader_election=election))
    file = tmp_path / "namespace"
    file.write_text("team-a\n")
    assert own_namespace(file) == "team-a"
    file.write_text("")
    with pytest.raises(InvalidOption):
        own_namespace(file)


@pytest.mark.parametrize("engine", ["memory", MemoryEngine()])
def test_a_thread_for_an_engine_that_cannot_be_opened_twice_is_refused_with_what_to_do(engine: Any) -> None:
    election = replace(ELECTION, renewal="thread")
    with pytest.raises(InvalidOption, match=r"leader_election\.renewal: .*`lease_engine`, or choose 'loop'"):
        Manager(engine, options=ManagerOptions(leader_election=election))


def test_an_identity_is_host_and_uuid_and_never_the_same_twice() -> None:
    random = Random(1)
    one, two = identity(random), identity(random)
    assert one != two
    host, _, unique = one.rpartition("_")
    assert host
    assert len(unique) == 36
    assert unique[14] == "4", "a random uuid"
