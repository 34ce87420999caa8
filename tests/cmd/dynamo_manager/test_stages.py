"""The stages of a run on a virtual clock: time-outs, interruptions, missing kinds, and the passes at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import pytest

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Forbidden, Unreachable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import SECRET
from dynamo_ctrl.objects.conditions import Condition
from dynamo_ctrl.objects.frozen import freeze
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Patch
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FaultyEngine, LoopClock
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus
from dynamo_manager import passes
from dynamo_manager.apply import Applier
from dynamo_manager.counting import CountingEngine
from dynamo_manager.errors import NotReadyError, UsageError
from dynamo_manager.manifests import Manifest
from dynamo_manager.observer import Observer
from dynamo_manager.stages import UNREADABLE_FOR, Stages
from dynamo_manager.tree import Row


class Program:
    """A widget is ready when it is big enough."""

    name = "widgets"
    watches = watching(WIDGET).reading(SECRET)

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        size = request.object.spec.size
        ready = Condition(
            type="Ready",
            status="True" if size >= 3 else "False",
            reason="Size",
            message=f"{size} of 3",
            last_transition_time=request.now,
        )
        kept = [
            one
            for one in request.object.status.conditions
            if (one.status, one.message) == (ready.status, ready.message)
        ]
        status = WidgetStatus(
            observed_generation=request.object.metadata.generation, conditions=tuple(kept) or (ready,)
        )
        return Result(status=status)


class Restless(Program):
    """Writes each time it is asked."""

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        target = request.view.get(SECRET, Key("default", "s"))
        assert target is not None
        count = int(target.metadata.annotations.get("n", "0")) + 1
        change = Patch(target=target, patch=Change.merge({"metadata": {"annotations": {"n": str(count)}}}))
        result = super().reconcile(request)
        return Result(steps=(Step(name="s", effects=(change,)),), status=result.status)


class Screen:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.shown: list[Sequence[Row]] = []
        self.closed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closed = len(self.said)

    def show(self, rows: Sequence[Row]) -> None:
        self.shown.append(rows)

    def say(self, text: str) -> None:
        self.said.append(text)


class Scene:
    """A run over a cluster that serves widgets."""

    def __init__(self, manager: Manager, stages: Stages, screen: Screen, core: Core, engine: CountingEngine) -> None:
        self.manager = manager
        self.stages = stages
        self.screen = screen
        self.core = core
        self.engine = engine


@asynccontextmanager
async def scene(
    widgets: dict[str, Any],
    *stages: tuple[dict[str, Any], ...],
    program: object | None = None,
    until_ready: bool = True,
    limit: float | None = None,
    served: bool = True,
    faults: Callable[[FaultyEngine], None] | None = None,
) -> AsyncIterator[Scene]:
    core, clock, screen = Core(clock=LoopClock()), LoopClock(), Screen()
    faulty = FaultyEngine(MemoryEngine(core))
    applier = Applier(faulty, namespace="default", known=(), sleep=asyncio.sleep)
    if served:
        await applier.apply([manifest(widgets)])
    secret = SECRET.object({"metadata": {"name": "s", "namespace": "default"}})
    core.create(SECRET, "default", secret.raw)
    if faults is not None:
        faults(faulty)
    engine = CountingEngine(faulty)
    options = ManagerOptions(garbage=False, sync_timeout=1)
    manager = Manager(engine, programs=[program or Program()], options=options, clock=clock)
    observer = Observer(MemoryEngine(core), clock=clock, namespaces=["default"], kinds=(WIDGET,))
    work = Stages(
        manager, engine, applier=applier, observer=observer, display=screen, clock=clock,
        stages=[tuple(manifest(content) for content in stage) for stage in stages],
        until_ready=until_ready, timeout=limit,
    )  # fmt: skip
    manager.add_runnable("observer", observer.run, group=Order.OTHERS)
    manager.add_runnable("stages", work.run, group=Order.OTHERS)
    async with manager:
        yield Scene(manager, work, screen, core, engine)


def manifest(content: dict[str, Any]) -> Manifest:
    return Manifest("f.yaml", freeze(content))


def sized(size: int, name: str = "w") -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size}}


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_stages_follow_each_other_and_the_run_ends_with_a_summary(widgets: Any) -> None:
    async with scene(widgets, (sized(3),), (sized(4), sized(5, "v"))) as it:
        await it.manager.run()
        assert it.stages.code == 0
    said = it.screen.said
    assert [line for line in said if line.startswith(("applying", "everything"))] == [
        "applying f.yaml",
        "everything is ready after 0.1 s",
        "applying f.yaml",
        "everything is ready after 0.2 s",
    ]
    assert said[it.screen.closed] == "", "the summary comes below the closed table"
    assert said[it.screen.closed + 1] == "ready after 0.1 s, then 0.2 s"
    assert "  Widget default/w    0 + 2 status" in said
    assert said[-1] == "10 further passes (20 reconciles) wrote nothing"
    assert [row.name for row in it.screen.shown[-1]] == ["w", "v"]


async def test_a_later_stage_waits_for_the_one_before(widgets: Any) -> None:
    async with scene(widgets, (sized(1),), (sized(3, "v"),), limit=60) as it:
        running = asyncio.create_task(it.manager.run())
        await asyncio.sleep(30)
        assert it.screen.said == ["applying f.yaml"]
        it.core.patch(WIDGET, Key("default", "w"), Change.merge({"spec": {"size": 3}}))
        await running
        assert it.stages.code == 0


async def test_after_the_time_out_every_reason_is_told(widgets: Any) -> None:
    async with scene(widgets, (sized(1), sized(3, "v")), limit=5) as it:
        with pytest.raises(NotReadyError) as raised:
            await it.manager.run()
    assert now() == pytest.approx(5, abs=0.5)
    assert str(raised.value) == "not ready within 5 s"
    assert raised.value.reasons == ("Widget default/w: 1 of 3",)


async def test_an_interruption_keeps_the_reasons_of_that_moment(widgets: Any) -> None:
    async with scene(widgets, (sized(2),)) as it:
        asyncio.get_running_loop().call_later(3, it.stages.interrupt)
        await it.manager.run()
        with pytest.raises(NotReadyError) as raised:
            _ = it.stages.code
    assert str(raised.value) == "stopped before everything was ready"
    assert raised.value.reasons == ("Widget default/w: 2 of 3",)


async def test_without_until_ready_the_run_goes_on_and_an_interruption_is_a_clean_end(widgets: Any) -> None:
    async with scene(widgets, (sized(3),), until_ready=False) as it:
        asyncio.get_running_loop().call_later(120, it.stages.interrupt)
        await it.manager.run()
        assert it.stages.code == 0
    assert now() >= 120
    assert it.screen.said[-1].startswith("everything is ready")


async def test_a_second_interruption_changes_nothing(widgets: Any) -> None:
    async with scene(widgets, (sized(2),)) as it:
        it.stages.interrupt()
        it.stages.interrupt()
        await it.manager.run()
        with pytest.raises(NotReadyError):
            _ = it.stages.code


async def test_a_manifest_that_is_refused_ends_the_manager(widgets: Any) -> None:
    async with scene(widgets, (sized(-1),)) as it:
        with pytest.raises(UsageError, match=r"spec\.size"):
            await it.manager.run()


async def test_a_server_that_goes_away_ends_the_manager(widgets: Any) -> None:
    async with scene(widgets, (sized(3),), faults=lambda engine: engine.fail(Unreachable("gone"), "create")) as it:
        with pytest.raises(Unreachable):
            await it.manager.run()


class TestWhatTheProgramsCannotRead:
    """A missing API or right: the run waits a little, in case somebody is about to mend it, and then says so."""

    async def test_a_missing_api_ends_a_run_that_waits(self, widgets: Any) -> None:
        plain = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        async with scene(widgets, (plain, sized(3)), served=False) as it:
            with pytest.raises(UsageError, match="the server knows no Widget"):
                await it.manager.run()

    async def test_a_missing_right_ends_a_run_that_waits(self, widgets: Any) -> None:
        def forbid(engine: FaultyEngine) -> None:
            engine.fail(Forbidden("cannot list secrets"), "list", SECRET, times=10_000)

        async with scene(widgets, (sized(3),), faults=forbid) as it:
            with pytest.raises(UsageError) as raised:
                await it.manager.run()
        assert str(raised.value) == "the programs cannot work: secrets is forbidden; what mends it is in the log above"
        assert UNREADABLE_FOR <= now() < UNREADABLE_FOR + 2

    async def test_a_time_out_before_that_says_the_same(self, widgets: Any) -> None:
        def forbid(engine: FaultyEngine) -> None:
            engine.fail(Forbidden("cannot list secrets"), "list", SECRET, times=10_000)

        async with scene(widgets, (sized(3),), faults=forbid, limit=3) as it:
            with pytest.raises(UsageError, match="secrets is forbidden"):
                await it.manager.run()
        assert now() < 5

    async def test_a_right_that_comes_in_time_is_no_matter(self, widgets: Any) -> None:
        def forbid(engine: FaultyEngine) -> None:
            engine.fail(Forbidden("cannot list secrets"), "list", SECRET, times=3)

        async with scene(widgets, (sized(3),), faults=forbid) as it:
            await it.manager.run()
            assert it.stages.code == 0

    async def test_a_run_that_does_not_wait_keeps_running(self, widgets: Any) -> None:
        def forbid(engine: FaultyEngine) -> None:
            engine.fail(Forbidden("cannot list secrets"), "list", SECRET, times=10_000)

        async with scene(widgets, (sized(3),), faults=forbid, until_ready=False) as it:
            running = asyncio.create_task(it.manager.run())
            await asyncio.sleep(120)
            assert "cannot list secrets" in it.manager.reasons["widgets/secrets"]
            it.stages.interrupt()
            await running
            assert it.stages.code == 0


class TestPasses:
    async def test_a_program_that_never_rests_is_found_out(self, widgets: Any) -> None:
        async with scene(widgets, (sized(3),), program=Restless()) as it:
            await it.manager.run()
            assert it.stages.code == 1
        assert "10 further passes (10 reconciles) wrote 10 times, although nothing had changed:" in it.screen.said
        assert it.screen.said[-1] == "  10 Secret default/s"

    async def test_controllers_that_do_not_come_to_rest_are_told(self, widgets: Any) -> None:
        class Endless(Program):
            def reconcile(self, request: Request[Widget]) -> Any:
                return self.work(super().reconcile(request))

            async def work(self, result: Result[WidgetStatus]) -> Result[WidgetStatus]:
                await asyncio.sleep(3600)
                return result

        async with scene(widgets, (sized(3),), program=Endless(), until_ready=False) as it:
            running = asyncio.create_task(it.manager.run())
            await asyncio.sleep(1)
            with pytest.raises(NotReadyError, match="did not come to rest within 30 s") as raised:
                await passes.settled(it.manager.controllers)
            assert raised.value.reasons == ("controller widgets: 0 queued, 1 running",)
            it.manager.stop()
            await running

    async def test_every_primary_runs_once_in_each_pass(self, widgets: Any) -> None:
        async with scene(widgets, (sized(3), sized(3, "v")), until_ready=False) as it:
            running = asyncio.create_task(it.manager.run())
            await asyncio.sleep(2)
            assert await passes.force(it.manager.controllers, passes=4) == 8
            it.manager.stop()
            await running
