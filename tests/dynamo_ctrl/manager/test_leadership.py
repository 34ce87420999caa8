"""What a lease means to the manager's loop: permission, the end of it, the health check (R 3.8)."""

from __future__ import annotations

import asyncio
import math

from dynamo_ctrl.manager.election import Role, Standing
from dynamo_ctrl.manager.leadership import Leadership
from dynamo_ctrl.manager.options import LeaderElectionOptions
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.testing import LoopClock, settle

OPTIONS = LeaderElectionOptions(enabled=True, name="lease")


def leads(renewed_at: float) -> Standing:
    return Standing(role=Role.LEADER, holder="me", renewed_at=renewed_at, writes_until=renewed_at + 9)


class Bench:
    def __init__(self) -> None:
        self.lost: list[str] = []
        self.clock = LoopClock()
        self.leadership = Leadership(Key("ns", "lease"), OPTIONS, self.clock, self.lost.append)

    def elected(self) -> bool:
        return self.leadership._elected.is_set()


async def test_nothing_is_permitted_before_the_lease_is_won() -> None:
    bench = Bench()
    assert bench.leadership.left() == -math.inf
    assert not bench.leadership.leading
    bench.leadership.told(Standing(holder="other"))
    assert not bench.leadership.leading
    assert not bench.elected()


async def test_a_renewal_permits_writes_until_its_own_deadline() -> None:
    bench = Bench()
    bench.leadership.told(leads(0))
    await asyncio.wait_for(bench.leadership.elected(), 1)
    assert bench.leadership.left() == 9
    await asyncio.sleep(2)
    bench.leadership.told(leads(2))
    assert bench.leadership.left() == 9
    await asyncio.sleep(9)
    assert not bench.leadership.leading
    assert bench.leadership.claims
    bench.leadership.close()


async def test_the_leadership_ends_at_the_renew_deadline_when_whoever_renews_is_silent() -> None:
    bench = Bench()
    bench.leadership.told(leads(0))
    await asyncio.sleep(6)
    bench.leadership.told(leads(5))
    await asyncio.sleep(8.9)
    assert bench.lost == []
    await asyncio.sleep(0.2)
    assert bench.lost == ["it was not renewed for 10 s"]
    assert bench.leadership.left() == -math.inf
    bench.leadership.told(leads(15))
    assert bench.leadership.left() == -math.inf, "what is lost stays lost"


async def test_a_victory_that_is_told_too_late_is_none_until_the_next_renewal() -> None:
    bench = Bench()
    await asyncio.sleep(20)  # the loop stood still
    bench.leadership.told(leads(10.5))
    assert not bench.elected()
    bench.leadership.told(leads(19))
    assert bench.elected()
    bench.leadership.close()


async def test_a_loss_is_told_once() -> None:
    bench = Bench()
    bench.leadership.told(leads(0))
    bench.leadership.told(Standing(role=Role.ENDED, holder="other", lost="other holds the lease"))
    await asyncio.sleep(20)
    assert bench.lost == ["other holds the lease"]


async def test_after_the_close_nothing_is_told_and_no_timer_is_left() -> None:
    bench = Bench()
    bench.leadership.told(leads(0))
    bench.leadership.close()
    await asyncio.sleep(20)
    await settle()
    assert bench.lost == []


async def test_health_fails_only_for_a_lease_that_we_claim_and_that_is_much_too_old() -> None:
    bench = Bench()
    assert bench.leadership.check() is None
    bench.leadership.standing = leads(0)
    await asyncio.sleep(35)
    assert bench.leadership.check() is None
    await asyncio.sleep(1)
    assert bench.leadership.check() == "lease ns/lease was renewed 36 s ago, and this process still claims it"
    bench.leadership.standing = Standing(role=Role.ENDED, renewed_at=0)
    assert bench.leadership.check() is None
