"""What the embedded engine lacks and a cluster has: the definitions of the programs' kinds, and a data plane.

An API server alone makes no Deployment ready. The data plane is programs as well, in a manager of its own, as on a cluster other
processes would run it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.program.registry import Loaded
from dynamo_manager import install
from dynamo_manager.apply import Applier
from dynamo_manager.manifests import Manifest

SOURCE: Final = "the installed programs"
"""Where the definitions come from, for errors."""


async def furnish(engine: Engine, manager: Manager, programs: tuple[Loaded, ...], clock: Clock) -> None:
    """Install the definitions, and let the data plane run as long as `manager` does.

    Raises:
        UsageError: a definition that the engine refuses.
        NotAProgram, DefinitionError: see `load_programs`.
    """
    plane = install.data_plane()
    applier = Applier(engine, namespace="default", known=(), sleep=asyncio.sleep)
    await applier.apply([Manifest(SOURCE, document) for document in install.definitions((*programs, *plane))])
    manager.add_runnable(
        "data plane", partial(_run, engine, [loaded.program for loaded in plane], clock), group=Order.OTHERS
    )


async def _run(engine: Engine, plane: list[object], clock: Clock) -> None:
    # The loop and the collector are the other manager's to look after.
    options = ManagerOptions(name="data-plane", garbage=False, stall_threshold=0)
    async with Manager(engine, programs=plane, options=options, clock=clock) as manager:
        await manager.run()
