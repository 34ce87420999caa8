"""The status of a primary belongs to its programs: what somebody else makes of it is mended, whatever the watch says."""

from __future__ import annotations

import asyncio

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.controller.predicate import spec_or_deletion_changed
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result
from dynamo_ctrl.testing import LoopClock
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

KEY = Key("ns", "w")


class Keeper:
    """Says what it was told to say, and is woken by a new spec only."""

    name = "keeper"
    watches = watching(WIDGET, when=spec_or_deletion_changed)

    def __init__(self, status: WidgetStatus | None) -> None:
        self.status = status
        self.runs = 0

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        self.runs += 1
        return Result(status=self.status)


async def overwritten(keeper: Keeper, **status: object) -> Widget:
    """What is there a moment after somebody wrote that status; the keeper had looked at the widget before."""
    core = Core(clock=LoopClock())
    core.register(WIDGET)
    core.create(NAMESPACE, "", b'{"metadata":{"name":"ns"}}')
    core.create(WIDGET, "ns", widget().raw)
    async with Manager(
        MemoryEngine(core), programs=(keeper,), options=ManagerOptions(garbage=False), clock=LoopClock()
    ) as manager:
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(2)
        assert keeper.runs == 1
        core.patch(WIDGET, KEY, Patch.merge({"status": status}), subresource="status")
        await asyncio.sleep(2)
        manager.stop()
        await running
    return WIDGET.decode(core.get(WIDGET, KEY))


async def test_a_status_that_somebody_overwrote_is_written_again_by_one_more_run() -> None:
    keeper = Keeper(WidgetStatus(state="ready", ready=1))
    found = await overwritten(keeper, state="failed")
    assert (found.status.state, found.status.ready) == ("ready", 1)
    assert keeper.runs == 2  # the writes of the two runs woke nobody


async def test_the_same_status_written_again_by_somebody_else_wakes_nobody() -> None:
    keeper = Keeper(WidgetStatus(state="ready", ready=1))
    await overwritten(keeper, state="ready")
    assert keeper.runs == 1


async def test_a_program_that_says_nothing_of_a_status_is_not_asked_about_it() -> None:
    keeper = Keeper(None)
    found = await overwritten(keeper, state="failed")
    assert found.status.state == "failed"
    assert keeper.runs == 1
