"""One run of the scripted world, from its beginning to what must hold at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from structlog.testing import capture_logs

from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.invariants import end_state
from dynamo_ctrl.testing.processes import ProcessLoop
from dynamo_ctrl.testing.server import Arrival
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.virtual_loop import run_on
from dynamo_ctrl.testing.weather import Weather
from dynamo_ctrl.testing.widget import WIDGET
from tests.simulation.pool import KINDS, furnish, programs, script

Script = Callable[[Core], Coroutine[Any, Any, None]]
Act = Callable[[Simulation, Replica], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run.

    Attributes:
        state: of the world in the end, without what differs from run to run.
        steps, sent, told: of the first replica, when the world had come to rest: steps of its process, requests, events.
        rested: when it had, in seconds.
        ends: the errors that ended replicas.
        writes: everything that changed something, but Leases.
        logs: every line.
    """

    state: dict[str, Any]
    steps: int
    sent: int
    told: int
    rested: float
    ends: list[Exception]
    writes: list[Arrival]
    logs: list[Any]


def play(
    act: Act | None = None,
    *,
    weather: Callable[[str], Weather] = lambda name: Weather(),
    options: ManagerOptions | None = None,
    make: Callable[[], list[Any]] = programs,
    user: Script = script,
    seed: int | None = None,
    replicas: int = 1,
) -> Outcome:
    """A user at work, managers that serve him, and whatever `act` does to them; then everything is well, and must come to rest.

    A replica that loses its lease is started anew. With a seed, the order of what could happen at the same moment is drawn.
    """

    async def main() -> Outcome:
        world = Simulation(make, kinds=[WIDGET], weather=weather, seed=seed or 0, options=options)
        async with world:
            furnish(world.core)
            first, *_ = [world.keep(f"m{number}") for number in range(replicas)]
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(user(world.core))
                if act is not None:
                    tasks.create_task(act(world, first))
            world.calm()
            await world.rest()
            outcome = Outcome(
                state=end_state(world.core, KINDS),
                steps=first.steps,
                sent=first.wire.sent,
                told=first.wire.told,
                rested=asyncio.get_running_loop().time(),
                ends=world.ends,
                writes=world.writes(),
                logs=logs,
            )
            assert world.faults() == []
            assert [str(write) for write in await world.passes()] == []
        return outcome

    with capture_logs() as logs:
        return run_on(ProcessLoop(seed), main())


def same(outcome: Outcome, reference: Outcome) -> Outcome:
    """Both worlds have come to the same. Returns the first. Raises `AssertionError`."""
    for kind, objects in reference.state.items():
        assert outcome.state[kind] == objects, kind
    return outcome
