"""The write guard: what passes, what is refused, and what is given up while it is under way (R 4, 40)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.engine.errors import Unanswered, WriteRefused
from dynamo_ctrl.engine.guard import WriteGuard
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import Engine, ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import LoopClock

KEY = Key("default", "a")
OURS = Key("default", "lease")


def body(name: str, kind: Kind[Any] = CONFIG_MAP) -> bytes:
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}})


WRITES: dict[str, Callable[[Engine], Awaitable[bytes]]] = {
    "create": lambda engine: engine.create(CONFIG_MAP, "default", body("new")),
    "update": lambda engine: engine.update(CONFIG_MAP, KEY, body("a")),
    "patch": lambda engine: engine.patch(CONFIG_MAP, KEY, Patch.merge({"data": {"x": "y"}})),
    "delete": lambda engine: engine.delete(CONFIG_MAP, KEY),
}


class Slow(MemoryEngine):
    """Answers a write after five seconds."""

    carried_out = 0

    async def _wait(self) -> None:
        await asyncio.sleep(5)
        self.carried_out += 1

    async def create(self, *arguments: Any, **more: Any) -> bytes:
        await self._wait()
        return await super().create(*arguments, **more)

    async def update(self, *arguments: Any, **more: Any) -> bytes:
        await self._wait()
        return await super().update(*arguments, **more)

    async def patch(self, *arguments: Any, **more: Any) -> bytes:
        await self._wait()
        return await super().patch(*arguments, **more)

    async def delete(self, *arguments: Any, **more: Any) -> bytes:
        await self._wait()
        return await super().delete(*arguments, **more)


class Bench:
    def __init__(self, until: float, engine: type[MemoryEngine] = MemoryEngine) -> None:
        self.clock = LoopClock()
        self.core = Core(clock=self.clock)
        self.core.create(CONFIG_MAP, "default", body("a"))
        self.inner = engine(self.core)
        self.until = until
        exempt = [LEASE.ref(OURS)]
        self.guard = WriteGuard(self.inner, self.left, why="no lease", exempt=exempt)

    def left(self) -> float:
        return self.until - self.clock.monotonic()


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_passes_while_it_is_permitted(verb: str) -> None:
    for until in (10.0, math.inf):
        bench = Bench(until)
        assert await WRITES[verb](bench.guard)


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_that_is_not_permitted_is_refused_and_not_sent(verb: str) -> None:
    for until in (-math.inf, 0.0):
        bench = Bench(until)
        before = bench.core.list(CONFIG_MAP, ListOptions()).items
        with pytest.raises(WriteRefused, match=rf"{verb} configmaps default/.* was not sent: no lease"):
            await WRITES[verb](bench.guard)
        assert bench.core.list(CONFIG_MAP, ListOptions()).items == before


@pytest.mark.parametrize("verb", WRITES)
async def test_a_write_that_is_under_way_when_the_time_runs_out_is_given_up_at_that_moment(verb: str) -> None:
    bench = Bench(3.0, Slow)
    with pytest.raises(Unanswered, match=f"{verb} .* was given up while it was under way") as caught:
        await WRITES[verb](bench.guard)
    assert bench.clock.monotonic() == 3
    assert caught.value.maybe_done
    await asyncio.sleep(10)
    assert isinstance(bench.inner, Slow)
    assert bench.inner.carried_out == 0


async def test_the_time_that_is_left_is_asked_for_each_write() -> None:
    bench = Bench(8.0, Slow)
    await WRITES["patch"](bench.guard)
    bench.until = 12.0
    await WRITES["patch"](bench.guard)
    with pytest.raises(Unanswered):
        await WRITES["patch"](bench.guard)


async def test_reads_pass_always() -> None:
    bench = Bench(-math.inf)
    assert bench.guard.name == "memory"
    assert await bench.guard.get(CONFIG_MAP, KEY)
    assert len((await bench.guard.list(CONFIG_MAP, ListOptions())).items) == 1
    assert await bench.guard.discover("", "v1")
    async with bench.guard.watch(CONFIG_MAP, WatchOptions()):
        assert len(bench.inner._feeds) == 1


async def test_the_lease_itself_may_be_written_and_another_one_may_not() -> None:
    bench = Bench(-math.inf)
    await bench.guard.create(LEASE, "default", body("lease", LEASE))
    raw = await bench.guard.get(LEASE, OURS)
    await bench.guard.update(LEASE, OURS, raw)
    await bench.guard.patch(LEASE, OURS, Patch.merge({"spec": {"holderIdentity": "x"}}))
    with pytest.raises(WriteRefused, match=r"create leases.* default/other was not sent"):
        await bench.guard.create(LEASE, "default", body("other", LEASE))
    with pytest.raises(WriteRefused):
        await bench.guard.create(LEASE, "elsewhere", body("lease", LEASE))
    await bench.guard.delete(LEASE, OURS)


async def test_a_time_out_of_the_engine_itself_is_not_taken_for_the_guards() -> None:
    class Impatient(MemoryEngine):
        async def patch(self, *arguments: Any, **more: Any) -> bytes:
            raise TimeoutError

    bench = Bench(10.0, Impatient)
    with pytest.raises(TimeoutError):
        await WRITES["patch"](bench.guard)


async def test_closing_the_guard_closes_the_engine() -> None:
    bench = Bench(10.0)
    await bench.guard.close()
    with pytest.raises(Exception, match="closed"):
        await bench.inner.get(CONFIG_MAP, KEY)
