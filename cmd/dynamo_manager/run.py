"""`dynamo-manager run`: an engine, a manager with the installed programs, and what the command line asked for beside them."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.elector import OpenEngine
from dynamo_ctrl.manager.groups import Order
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.request_numbers import RequestNumbers
from dynamo_ctrl.manager.signals import install_signals
from dynamo_ctrl.program.registry import Loaded
from dynamo_manager import install, observer
from dynamo_manager.apply import Applier
from dynamo_manager.cli import MEMORY, RunOptions
from dynamo_manager.contact import contact
from dynamo_manager.counting import CountingEngine
from dynamo_manager.crds import Remedy
from dynamo_manager.display import Display, Lines
from dynamo_manager.embedded import furnish
from dynamo_manager.manifests import Manifest, load
from dynamo_manager.settings import NAME, Settings
from dynamo_manager.stages import Stages


async def run(options: RunOptions, settings: Settings) -> int:
    """Run until stopped, or until what `--until-ready` waits for has come. Returns the exit code.

    Raises:
        UsageError, and the typed errors of engines, programs and options: bad input.
        NotReadyError: the time-out passed first.
        StopOverrun: something did not stop; it still runs.
    """
    programs = install.programs(options.programs, settings.document)
    stages = [load(paths) for paths in options.apply]
    clock, requests = SystemClock(), RequestNumbers()
    config = EngineConfig(
        kubeconfig=options.kubeconfig, context=options.context or "", user_agent=NAME, clock=clock,
        on_request=requests.count,
    )  # fmt: skip
    cache = replace(settings.manager.cache, remedy=Remedy(programs))
    async with open_engine(options.engine, config) as engine:
        await contact(engine)
        counted = CountingEngine(engine)
        manager = Manager(
            counted,
            programs=[loaded.program for loaded in programs],
            options=replace(settings.manager, cache=cache),
            clock=clock,
            requests=requests,
            lease_engine=None if engine.name == MEMORY else _lease_engine(options.engine, config),
        )
        if engine.name == MEMORY:
            await furnish(engine, manager, programs, clock)
        async with manager:
            if not stages:
                with install_signals(manager.stop):
                    await manager.run()
                return 0
            work = _stages(manager, counted, programs, stages, options, clock)
            with install_signals(work.interrupt):
                await manager.run()
            return work.code


def _lease_engine(name: str, config: EngineConfig) -> OpenEngine:
    """Opens a connection of the leader election's own, in whatever loop runs; its requests are counted in this one."""
    home, count = asyncio.get_running_loop(), config.on_request

    def on_request(*request: Any) -> None:
        if count is not None:
            with suppress(RuntimeError):  # this loop is closed: nobody counts any more
                home.call_soon_threadsafe(count, *request)

    return partial(open_engine, name, replace(config, user_agent=f"{NAME}/leader-election", on_request=on_request))


def _stages(
    manager: Manager,
    engine: CountingEngine,
    programs: tuple[Loaded, ...],
    stages: list[tuple[Manifest, ...]],
    options: RunOptions,
    clock: Clock,
) -> Stages:
    namespace = (options.namespaces or ("default",))[0]
    watches = [loaded.program.watches for loaded in programs]
    kinds = observer.kinds(watches)
    looked_at = sorted({manifest.key(namespace).namespace for stage in stages for manifest in stage})
    watching = observer.Observer(engine.inner, clock=clock, namespaces=looked_at, kinds=kinds)
    work = Stages(
        manager,
        engine,
        applier=Applier(engine.inner, namespace=namespace, known=kinds, sleep=asyncio.sleep, remedy=Remedy(programs)),
        observer=watching,
        display=_display(clock),
        clock=clock,
        stages=stages,
        until_ready=options.until_ready,
        timeout=options.timeout,
    )
    manager.add_runnable("observer", watching.run, group=Order.OTHERS)
    manager.add_runnable("stages", work.run, group=Order.OTHERS)
    return work


def _display(clock: Clock) -> Display:
    """A live table on a terminal that can redraw, plain lines elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console

        from dynamo_manager.live import LiveTable

        console = Console()
        if console.is_terminal and not console.is_dumb_terminal:
            return LiveTable(console)
    return Lines(clock, _print)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
