"""A manager under leader election that is stopped at any moment: no task, no lease and no work is left (R 4, 33 and 41)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing import LoopClock, run

ELECTION = LeaderElectionOptions(enabled=True, name="lease", namespace="default", renewal="loop")


class Slow(MemoryEngine):
    """A server that takes a moment for each request about a lease."""

    async def get(self, *arguments: Any, **more: Any) -> bytes:
        await asyncio.sleep(0)
        return await super().get(*arguments, **more)

    async def create(self, *arguments: Any, **more: Any) -> bytes:
        answer = await super().create(*arguments, **more)
        await asyncio.sleep(0)
        return answer

    async def update(self, *arguments: Any, **more: Any) -> bytes:
        answer = await super().update(*arguments, **more)
        await asyncio.sleep(0)
        return answer


class Seen:
    """A program that counts."""

    name = "seen"
    watches = watching(CONFIG_MAP)

    def __init__(self) -> None:
        self.runs = 0

    def reconcile(self, request: Request[Any]) -> Result[None]:
        self.runs += 1
        return Result()


def holder(core: Core) -> str:
    try:
        return LEASE.decode(core.get(LEASE, Key("default", "lease"))).spec.holder_identity or ""
    except NotFound:
        return ""


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_r4_41_a_stop_at_any_moment_leaves_the_lease_free_and_the_other_one_leads(seed: int | None) -> None:
    async def stopped_after(turns: int) -> int:
        core = Core(clock=LoopClock())
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        core.create(CONFIG_MAP, "default", msgspec.json.encode(body))
        log = structlog.wrap_logger(None, processors=[LogCapture()], wrapper_class=structlog.BoundLogger)
        first, second = Seen(), Seen()
        one, two = (
            Manager(
                Slow(core),
                programs=[program],
                options=ManagerOptions(garbage=False, leader_election=replace(ELECTION, identity=who)),
                clock=LoopClock(),
                random=Random(number),
                log=log,
            )
            for number, (who, program) in enumerate((("one", first), ("two", second)))
        )
        async with one, two:
            running = asyncio.create_task(one.run())
            for _ in range(turns):
                await asyncio.sleep(0)
            one.stop()
            await running
            assert holder(core) != "one", f"after {turns} turns"
            runs = first.runs
            waiting = asyncio.create_task(two.run())
            await asyncio.wait_for(two.elected(), 1)
            await asyncio.sleep(1)
            assert (first.runs, second.runs) == (runs, 1)
            two.stop()
            await waiting
        assert holder(core) == ""
        return first.runs

    ran = [run(stopped_after(turns), seed=seed) for turns in range(90)]
    assert set(ran) == {0, 1}, "some were stopped before the work, some after it"
