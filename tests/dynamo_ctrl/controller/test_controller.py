"""The controller as a whole, on the memory engine: the sync barrier, and sources that are missing and heal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import View
from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.controller.mapper import by_label
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.engine.errors import Forbidden, Unreachable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.testing import FaultyEngine, LoopClock

GADGET: Kind[Object[Any, Any]] = Kind(Object, group="example.com", version="v1", kind="Gadget", plural="gadgets")
FORBIDDEN = 'gadgets.example.com is forbidden: User "me" cannot list'


class World:
    """A memory engine with faults, and a controller of config maps whose runs are written down."""

    def __init__(self, *names: str) -> None:
        self.clock = LoopClock()
        self.core = Core(clock=self.clock)
        self.engine = FaultyEngine(MemoryEngine(self.core))
        self.cache = Cache(self.engine, clock=self.clock, random=Random(0))
        self.runs: list[str] = []
        self.causes: list[str] = []
        self.reads: Any = None
        self.controller: Controller | None = None
        for name in names:
            self.put(name)

    def put(self, name: str, kind: Kind[Any] = CONFIG_MAP, **metadata: object) -> None:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}}
        self.core.create(kind, "default", msgspec.json.encode(body))

    def reconcile(self, key: Key) -> Answer:
        assert self.controller is not None
        self.runs.append(key.name)
        self.causes += [str(cause) for entry in self.controller.queue.running() for cause in entry.causes]
        if self.reads is not None:
            self.controller.view.list(self.reads)
        return DONE

    def took(self) -> Sequence[str]:
        runs, self.runs = self.runs, []
        self.causes.clear()
        return runs

    @asynccontextmanager
    async def running(
        self, watches: Watches[Any], options: ControllerOptions | None = None
    ) -> AsyncIterator[Controller]:
        controller = self.controller = Controller(
            name="test", watches=watches, cache=self.cache, clock=self.clock, options=options
        )
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self.cache.run()), tasks.create_task(controller.run(self.reconcile))]
            await asyncio.sleep(0.01)
            yield controller
            for task in running:
                task.cancel()


async def test_every_initial_primary_is_reconciled_and_then_what_changes() -> None:
    world = World("a", "b")
    async with world.running(watching(CONFIG_MAP)) as controller:
        assert controller.ready
        assert controller.reasons == {}
        assert world.took() == ["a", "b"]
        world.put("c")
        await asyncio.sleep(0.001)
        assert world.took() == ["c"]


async def test_r4_18_no_reconcile_before_every_source_is_synced() -> None:
    world = World("a")
    world.engine.fail(Unreachable("down"), "list", SECRET, times=3)
    async with world.running(watching(CONFIG_MAP).reading(SECRET)) as controller:
        assert world.runs == []
        assert not controller.ready
        assert list(controller.reasons) == ["secrets"]
        assert "down" in controller.reasons["secrets"]
        await asyncio.wait_for(controller.synced(), 60)
        await asyncio.sleep(0.001)
        assert world.runs == ["a"]


async def test_r4_49_a_missing_api_holds_the_controller_back_and_heals_by_itself() -> None:
    world = World("a")
    async with world.running(watching(CONFIG_MAP).owning(GADGET)) as controller:
        await asyncio.sleep(300)
        assert world.runs == []
        assert controller.reasons["gadgets.example.com"].startswith(
            "absent: the cluster does not serve example.com/v1 gadgets"
        )
        world.core.register(GADGET)
        await asyncio.sleep(15)
        assert controller.ready
        assert world.runs == ["a"]


async def test_r4_51_a_missing_right_is_told_with_the_rule_and_heals_by_itself() -> None:
    world = World("a")
    world.core.register(GADGET)
    world.engine.fail(Forbidden(FORBIDDEN), "list", GADGET, times=4)
    async with world.running(watching(CONFIG_MAP).owning(GADGET)) as controller:
        assert world.runs == []
        reason = controller.reasons["gadgets.example.com"]
        assert reason.startswith("forbidden: ")
        assert 'resources: ["gadgets"]' in reason
        await asyncio.sleep(300)
        assert controller.ready
        assert world.runs == ["a"]


async def test_an_optional_api_that_is_absent_holds_nobody_back_and_wakes_every_primary_when_it_comes() -> None:
    world = World("a", "b")
    world.reads = GADGET
    async with world.running(watching(CONFIG_MAP).owning(GADGET, optional=True)) as controller:
        assert controller.ready
        assert world.took() == ["a", "b"]
        world.core.register(GADGET)
        await asyncio.sleep(15)
        assert sorted(set(world.runs)) == ["a", "b"]
        assert "gadgets.example.com live" in world.causes
        assert controller.numbers.error == 0


async def test_a_key_that_meets_an_unreadable_kind_waits_quietly_until_it_can_be_read() -> None:
    world = World("a")
    world.core.register(GADGET)
    world.reads = GADGET
    async with world.running(watching(CONFIG_MAP).owning(GADGET)) as controller:
        assert world.took() == ["a"]
        for verb in ("list", "watch"):
            world.engine.fail(Forbidden(FORBIDDEN), verb, GADGET, times=10_000)
        await asyncio.sleep(700)  # the watch ends by itself, and the next one is refused
        assert list(controller.reasons) == ["gadgets.example.com"]
        world.took()
        before = controller.numbers.requeue
        world.put("b")
        await asyncio.sleep(1)
        controller.wake(Key("default", "ghost"), Cause("somebody", "asked"))
        await asyncio.sleep(1)
        assert world.took() == ["b", "ghost"]
        assert controller.numbers.requeue == before + 2
        world.engine._faults.clear()
        await asyncio.sleep(600)
        assert controller.reasons == {}
        assert sorted(set(world.runs)) == ["a", "b", "ghost"]
        assert controller.numbers.error == 0


async def test_a_mapper_that_reads_a_missing_kind_is_tried_again_in_the_moment_in_which_it_comes() -> None:
    world = World("a")
    world.put("s", SECRET)

    def mapper(secret: Object[Any, Any], view: View) -> list[Key]:
        view.list(GADGET)
        return [Key("default", f"from-{secret.metadata.name}")]

    async with world.running(watching(CONFIG_MAP).mapping(SECRET, mapper).reading(GADGET)) as controller:
        await asyncio.sleep(300)
        world.core.register(GADGET)
        await asyncio.wait_for(controller.synced(), 20)
        await asyncio.sleep(0.001)
        assert sorted(world.runs) == ["a", "from-s"]
        assert controller.numbers.lost == 0


async def test_r4_54_only_dependants_wait_for_a_source() -> None:
    world = World("a")
    world.reads = None
    other = Controller(name="other", watches=watching(GADGET), cache=world.cache, clock=world.clock)
    async with world.running(watching(CONFIG_MAP)) as controller:
        assert controller.ready
        assert not other.ready
        assert world.runs == ["a"]
    other.close()


async def test_mapped_objects_wake_whom_the_mapper_names() -> None:
    world = World("a", "b")
    async with world.running(watching(CONFIG_MAP).mapping(SECRET, by_label("for"))):
        world.took()
        world.put("s", SECRET, labels={"for": "b"})
        await asyncio.sleep(0.001)
        assert [cause.rpartition(" ")[0] for cause in world.causes] == ["secrets default/s created"]
        assert world.took() == ["b"]


async def test_indexes_are_declared_before_the_first_reconcile() -> None:
    by_app: Index[Any] = Index("app", SECRET, lambda secret: (secret.metadata.labels.get("app", ""),))
    world = World("a")
    world.put("s", SECRET, labels={"app": "x"})
    async with world.running(watching(CONFIG_MAP).reading(SECRET).indexing(by_app)) as controller:
        assert [secret.metadata.name for secret in controller.view.by_index(by_app, "x")] == ["s"]


async def test_somebody_else_can_wake_a_key() -> None:
    world = World("a")
    async with world.running(watching(CONFIG_MAP)) as controller:
        world.took()
        controller.wake(Key("default", "a"), Cause("webhook", "called"))
        await asyncio.sleep(0.001)
        assert world.causes == ["webhook called"]
        assert world.runs == ["a"]


async def test_keys_that_are_woken_before_the_start_are_kept_each_once() -> None:
    world = World()
    controller = world.controller = Controller(
        name="test", watches=watching(CONFIG_MAP), cache=world.cache, clock=world.clock
    )
    for name in ("a", "b", "a"):
        controller.wake(Key("default", name), Cause("webhook", "called"))
    assert world.runs == []
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(world.cache.run()), tasks.create_task(controller.run(world.reconcile))]
        await asyncio.sleep(0.01)
        assert world.runs == ["a", "b"]
        for task in running:
            task.cancel()


async def test_one_kind_with_two_selectors_is_refused() -> None:
    world = World()
    watches = watching(CONFIG_MAP).reading(SECRET, label_selector="a=b").reading(SECRET)
    with pytest.raises(ValueError, match=r"secrets is watched twice with different values of label_selector"):
        Controller(name="test", watches=watches, cache=world.cache, clock=world.clock)


async def test_two_controllers_share_their_informers_and_the_last_one_closes_them() -> None:
    world = World("a")
    one, two = (
        Controller(name=name, watches=watching(CONFIG_MAP).reading(SECRET), cache=world.cache, clock=world.clock)
        for name in ("one", "two")
    )
    assert len(list(world.cache.informers)) == 2
    one.close()
    one.close()
    assert len(list(world.cache.informers)) == 2
    two.close()
    assert list(world.cache.informers) == []


async def test_a_stopped_controller_gives_everything_back() -> None:
    world = World("a")
    async with world.running(watching(CONFIG_MAP)) as controller:
        pass
    assert list(world.cache.informers) == []
    assert controller.queue.closed


@pytest.mark.parametrize(("field", "value"), [("workers", 0), ("max_progress", -1), ("slice", 0)])
def test_options_name_the_field_that_is_wrong(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{field}: must"):
        ControllerOptions(**{field: value})  # type: ignore[arg-type]
