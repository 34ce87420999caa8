"""Managers that agree on who works: on one memory engine, in virtual time (R 1.1, 1.8, 3.8, 3.9; R 4, 40-42)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import WriteRefused
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.manager.errors import LeadershipLost, Stopping
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import settle
from tests.dynamo_ctrl.manager.replicas import ELECTION, MINE, Counter, Line, Replica, cluster, holder, now


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
