"""A plan is what a manager then does: the same objects and statuses. And it is always the same plan."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.plan.comparison import Comparison
from dynamo_ctrl.plan.plan import KNOWN_LATER, Action, Plan
from dynamo_ctrl.plan.planning import plan, prepare
from dynamo_ctrl.plan.scratch import Scratch
from dynamo_ctrl.program.effect import Create
from dynamo_ctrl.program.registry import load_programs
from dynamo_ctrl.testing import FakeCache, LoopClock
from dynamo_ctrl.testing.widget import widget
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from dynamo_graph.testing import component, graph
from tests.dynamo_ctrl.plan.widgets import WidgetProgram, deploying

SAMPLE = Path(__file__).parents[3] / "config/samples/graph.yaml"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def sample() -> Object[Any, Any]:
    return DYNAMO_GRAPH_DEPLOYMENT.object(yaml.safe_load(SAMPLE.read_text()))


def graph_programs() -> list[object]:
    return [loaded.program for loaded in load_programs()]


def timeless(tree: Any) -> Any:
    """A tree in which no time is written."""
    return msgspec.json.decode(TIME.sub(KNOWN_LATER, msgspec.json.encode(tree).decode()))


async def run(programs: Sequence[object], objects: Iterable[Object[Any, Any]]) -> tuple[Comparison, set[Kind[Any]]]:
    """What a manager makes of the objects on a memory engine of its own within some seconds."""
    scratch = Scratch()
    prepare(scratch, programs)
    for obj in objects:
        scratch.serve([obj.kind])
        scratch.add(obj)
    since = scratch.core.version
    async with Manager(scratch.engine, programs=programs, clock=LoopClock()) as manager:
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(5)
        manager.stop()
        await running
        watched = {watch.kind for controller in manager.controllers for watch in controller.watches.all}
        primaries = {controller.watches.primary.kind for controller in manager.controllers}
    return Comparison(scratch, since, sorted(watched, key=str), [scratch.clock.now()]), primaries


@pytest.mark.parametrize(
    ("programs", "objects"),
    [
        (lambda: [deploying()], lambda: [widget("a", size=3), widget("b", namespace="other")]),
        (graph_programs, lambda: [sample()]),
        (
            graph_programs,
            lambda: [graph(component("Frontend", "frontend"), component("decode", "decode", replicas=4), name="mine")],
        ),
    ],
)
async def test_a_manager_on_a_fresh_engine_writes_what_was_planned(programs: Any, objects: Any) -> None:
    planned = plan(programs(), objects())
    comparison, primaries = await run(programs(), objects())
    real = {pair.ref: pair for pair in comparison}
    created = {ref for ref, pair in real.items() if pair.action is Action.CREATE}
    updated = {ref for ref, pair in real.items() if pair.action is Action.UPDATE and comparison.changes(pair)}
    assert {write.object for write in planned.writes if write.action is Action.CREATE} == created != set()
    assert {write.object for write in planned.writes if write.action is Action.UPDATE} == updated
    for write in planned.writes:
        pair = real[write.object]
        if write.action is Action.CREATE:
            assert pair.after is not None
            assert timeless(write.content) == timeless(comparison.content(pair.after))
        else:
            assert write.differences == comparison.changes(pair)
    statuses = {ref: comparison.status(pair)[0] for ref, pair in real.items() if ref.kind in primaries}
    assert {status.object: timeless(status.status) for status in planned.statuses} == {
        ref: timeless(status) for ref, status in statuses.items()
    }
    assert planned.settled
    assert planned.failures == ()


def test_a_plan_of_what_was_planned_is_empty() -> None:
    """What a plan says is all there is to do: once it is done, nothing is left."""
    cache = FakeCache([sample()], absent=_optional(graph_programs()))
    cache.converge(graph_programs())
    kinds = {write.object.kind for write in plan(graph_programs(), [sample()]).writes}
    live = [obj for kind in sorted(kinds, key=str) for obj in cache.list(kind)]
    again = plan(graph_programs(), live, now=cache.now)
    assert again == Plan(passes=1)


def _optional(programs: Iterable[Any]) -> list[Kind[Any]]:
    return [watch.kind for program in programs for watch in program.watches.all if watch.optional]


def test_equal_arguments_give_equal_plans() -> None:
    naming = WidgetProgram(
        lambda request: (
            []
            if request.view.list(CONFIG_MAP)
            else [Create(object=CONFIG_MAP.object({"metadata": {"generateName": "w-", "namespace": "ns"}}))]
        )
    )
    first, second = (plan(naming, [widget()]) for _ in range(2))
    assert first == second
    assert first.writes[0].object.key.name.startswith("w-")
    assert plan(naming, [widget()], seed=1).writes[0].object != first.writes[0].object


def test_the_order_of_hashes_does_not_count() -> None:
    program = (
        "import yaml\n"
        "from dynamo_ctrl.plan.planning import plan\n"
        "from dynamo_ctrl.plan.text import lines, told\n"
        "from dynamo_ctrl.program.registry import load_programs\n"
        "from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT\n"
        f"document = yaml.safe_load(open({str(SAMPLE)!r}))\n"
        "found = plan([each.program for each in load_programs()], [DYNAMO_GRAPH_DEPLOYMENT.object(document)])\n"
        "print(told(lines(found)))\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert len(texts.pop()) > 10_000
