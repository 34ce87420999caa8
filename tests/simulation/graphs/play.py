"""One run of a site with graphs, from its beginning to what must hold at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from structlog.testing import capture_logs

from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.processes import ProcessLoop
from dynamo_ctrl.testing.server import Arrival
from dynamo_ctrl.testing.simulation import Replica, Simulation
from dynamo_ctrl.testing.virtual_loop import run_on
from dynamo_ctrl.testing.weather import Weather
from tests.simulation.graphs.site import data_plane, furnish, orphans, programs, what_is_there
from tests.simulation.graphs.witness import Witness

Act = Callable[[Simulation, Replica], Coroutine[Any, Any, None]]
Work = Callable[[Core], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run.

    Attributes:
        site: what is there in the end, without what tells only of the way.
        steps: of the first replica's process.
        writes: what managers wrote that changed something.
        reconciles: how many there were, in managers that lived to the end.
    """

    site: dict[str, Any]
    steps: int
    writes: list[Arrival]
    reconciles: int


def play(
    users: Sequence[Work],
    act: Act | None = None,
    *,
    weather: Callable[[str], Weather] = lambda name: Weather(),
    options: ManagerOptions | None = None,
    seed: int | None = None,
    replicas: int = 1,
) -> Outcome:
    """Users at work, managers and a data plane that serve them, and whatever `act` does; then all is well, and must come to rest.

    Raises `AssertionError` for whatever does not hold then, or did not hold at some time.
    """

    async def main() -> Outcome:
        world = Simulation(programs, beside=data_plane, weather=weather, seed=seed or 0, options=options)
        async with world:
            furnish(world.core)
            witness = Witness(world.core)
            first, *_ = [world.keep(f"m{number}") for number in range(replicas)]
            async with asyncio.TaskGroup() as tasks:
                for work in users:
                    tasks.create_task(work(world.core))
                if act is not None:
                    tasks.create_task(act(world, first))
            world.calm()
            await world.rest()
            managers = [replica.manager for replica in world.replicas if replica.manager is not None]
            outcome = Outcome(
                site=what_is_there(world.core),
                steps=first.steps,
                writes=[write for write in world.writes() if write.who != "beside"],
                reconciles=sum(_reconciles(each.numbers) for one in managers for each in one.controllers),
            )
            faults = [*witness.faults, *orphans(world.core), *world.faults()]
            faults += witness.shortages if act is None else ()
            faults += [f"written at rest: {write}" for write in await world.passes() if write.who != "beside"]
        if faults:
            raise AssertionError("\n".join(faults))
        return outcome

    with capture_logs():
        return run_on(ProcessLoop(seed), main())


def _reconciles(numbers: Any) -> int:
    return int(numbers.success + numbers.error + numbers.requeue + numbers.requeue_after)
