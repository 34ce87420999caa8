"""The simulation tells what does not hold: a world that is well has no faults, and each that is put into it is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dynamo_ctrl.controller.builder import Watches, watching
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import PatchPrimary
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing.processes import ProcessLoop
from dynamo_ctrl.testing.simulation import NotAtRest, Simulation
from dynamo_ctrl.testing.virtual_loop import run_on
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

Scene = Callable[[Simulation], Coroutine[Any, Any, None]]


class Steady:
    """Says that it is ready, and is content."""

    name = "steady"
    watches: Watches[Widget] = watching(WIDGET)

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        return Result(status=WidgetStatus(state="ready", ready=request.object.spec.size))


class Broken(Steady):
    """Fails whenever it is asked."""

    name = "broken"

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        raise RuntimeError(f"no way for {request.object.key}")


class Restless(Steady):
    """Is never content with the annotation that it wrote itself."""

    name = "restless"

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        count = int(request.object.metadata.annotations.get("n", "0")) + 1
        patch = Patch.merge({"metadata": {"annotations": {"n": str(count)}}})
        return Result(steps=(Step(name="count", effects=(PatchPrimary(patch=patch),)),))


class Beside(Steady):
    """What another process runs."""

    name = "beside"


def played(scene: Scene, program: type[Steady] = Steady, beside: type[Steady] | None = None) -> None:
    async def main() -> None:
        others = None if beside is None else lambda: [beside()]
        async with Simulation(lambda: [program()], kinds=[WIDGET], beside=others) as world:
            world.core.create(NAMESPACE, "", NAMESPACE.object({"metadata": {"name": "ns"}}).raw)
            world.core.create(WIDGET, "ns", widget().raw)
            await scene(world)

    run_on(ProcessLoop(), main())


def test_a_world_that_is_well_has_no_faults() -> None:
    async def scene(world: Simulation) -> None:
        only = world.start("one")
        await world.rest()
        assert world.leader is only
        assert world.faults() == []
        assert await world.passes() == []
        assert [arrival.who for arrival in world.writes()] == ["one"] * len(world.writes())
        assert await only.stop() is None

    played(scene)


def test_a_leader_that_was_just_told_to_stop_is_not_at_rest() -> None:
    async def scene(world: Simulation) -> None:
        first = world.start("one")
        await world.rest()
        world.start("two")
        assert first.manager is not None
        first.manager.stop()
        await world.rest()
        assert not first.running
        assert await world.passes() == []

    played(scene)


def test_it_does_not_rest_while_nobody_leads() -> None:
    async def scene(world: Simulation) -> None:
        assert world.unrest() == ["nobody leads"]
        with pytest.raises(NotAtRest, match="nobody leads"):
            await world.rest(patience=5)

    played(scene)


def test_it_does_not_rest_while_a_key_fails_and_a_panic_is_a_fault() -> None:
    async def scene(world: Simulation) -> None:
        world.start("one")
        with pytest.raises(NotAtRest, match="controller broken: 1 keys are waiting"):
            await world.rest(patience=60)
        assert any("panics of" in fault for fault in world.faults())

    played(scene, Broken)


def test_a_program_that_writes_for_ever_never_rests() -> None:
    async def scene(world: Simulation) -> None:
        world.start("one")
        with pytest.raises(NotAtRest, match=r"the last writes:\n.* one request .* patch widgets"):
            await world.rest(patience=60)

    played(scene, Restless)


def test_a_cache_that_differs_from_the_server_is_told() -> None:
    async def scene(world: Simulation) -> None:
        only = world.start("one")
        await world.rest()
        only.freeze()
        world.core.create(WIDGET, "ns", widget("late").raw)
        assert any("object ('ns', 'late') is None" in fault for fault in world.unrest())
        only.thaw()
        await world.rest()
        assert world.faults() == []

    played(scene)


def test_a_write_without_the_lease_is_told() -> None:
    async def scene(world: Simulation) -> None:
        world.start("one")
        await world.rest()
        await world.replicas[0].wire.patch(WIDGET, widget().key, Patch.merge({"spec": {"size": 5}}))
        assert world.stolen() == []
        other = world.start("two")
        await asyncio.sleep(1)
        await other.wire.patch(WIDGET, widget().key, Patch.merge({"spec": {"size": 6}}))
        (theft,) = world.stolen()
        assert (theft.who, theft.holder) == ("two", "one")
        assert any("written by who did not lead" in fault for fault in world.faults())

    played(scene)


def test_an_identity_is_never_used_twice_and_a_simulation_needs_its_loop() -> None:
    async def scene(world: Simulation) -> None:
        world.start("one")
        with pytest.raises(ValueError, match="there was a replica 'one' already"):
            world.start("one")

    played(scene)

    async def elsewhere() -> None:
        Simulation(lambda: [Steady()])

    with pytest.raises(RuntimeError, match="a simulation needs a ProcessLoop"):
        asyncio.run(elsewhere())


def test_who_is_kept_is_started_anew_when_it_loses_its_lease() -> None:
    async def scene(world: Simulation) -> None:
        first = world.keep("one")
        await world.rest()
        first.wire.silence()
        await asyncio.sleep(60)
        assert [type(end).__name__ for end in world.ends] == ["LeadershipLost"]
        assert [replica.name for replica in world.replicas] == ["one", "one.2"]
        world.calm()
        await world.rest()
        assert world.leader is not None
        assert world.leader.name == "one.2"

    played(scene)


def test_a_world_does_not_rest_before_a_data_plane_sees_what_the_server_has() -> None:
    async def scene(world: Simulation) -> None:
        world.start("one")
        await world.rest()
        world.server.restart(behind=0, for_=40.0)
        world.core.create(WIDGET, "ns", widget("another").raw)
        assert any(fault.startswith("beside: ") for fault in world.unrest())
        await world.rest()
        assert world.faults() == []

    played(scene, beside=Beside)
