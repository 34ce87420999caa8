"""`dynamo-manager run`: an engine, a manager with the installed programs, and what the command line asked for beside them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.errors import EngineError, Forbidden, NotFound, Unauthorized
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.manager.signals import install_signals
from dynamo_ctrl.program.registry import Loaded
from dynamo_manager import install
from dynamo_manager.apply import Applier
from dynamo_manager.cli import RunOptions
from dynamo_manager.counting import CountingEngine
from dynamo_manager.display import Display, Lines
from dynamo_manager.errors import UsageError
from dynamo_manager.manifests import Manifest, load
from dynamo_manager.settings import Settings
from dynamo_manager.stages import Stages

CONTACT_TIMEOUT = 30.0
"""Seconds that the server may be unreachable at the start."""

CONTACT_PAUSE = 1.0
"""Seconds between two attempts to reach it."""

MEMORY = "memory"
"""The engine that is empty at the start: it gets the definitions, and a data plane."""

_log = structlog.get_logger()


async def run(options: RunOptions, settings: Settings) -> int:
    """Run until stopped, or until what `--until-ready` waits for has come. Returns the exit code.

    Raises:
        UsageError, and the typed errors of engines, programs and options: bad input.
        NotReadyError: the time-out passed first.
    """
    programs = install.programs(options.programs, settings.document)
    stages = [load(paths) for paths in options.apply]
    clock = SystemClock()
    told: list[Callable[[str, str, int, float], None]] = []

    def on_request(method: str, host: str, code: int, seconds: float) -> None:
        for hook in told:
            hook(method, host, code, seconds)

    config = EngineConfig(
        kubeconfig=options.kubeconfig, context=options.context or "", user_agent="dynamo-manager", clock=clock,
        on_request=on_request,
    )  # fmt: skip
    async with open_engine(options.engine, config) as engine:
        counted = CountingEngine(engine)
        await contact(engine)
        async with Manager(
            counted, programs=[loaded.program for loaded in programs], options=settings.manager, clock=clock
        ) as manager:
            told.append(manager.requests.count)
            async with _surroundings(engine, programs):
                work = _Work(manager, counted, clock, programs, stages, options)
                return await work.run()


class _Work:
    """The manager and the stages, side by side; whichever ends first ends the other."""

    def __init__(
        self,
        manager: Manager,
        engine: CountingEngine,
        clock: SystemClock,
        programs: tuple[Loaded, ...],
        stages: list[tuple[Manifest, ...]],
        options: RunOptions,
    ) -> None:
        self._manager = manager
        self._options = options
        applier = Applier(
            engine.inner, namespace=(options.namespaces or ("default",))[0],
            known=[loaded.program.watches.primary.kind for loaded in programs], sleep=asyncio.sleep,
        )  # fmt: skip
        watches = [loaded.program.watches for loaded in programs]
        self._stages = Stages(manager, engine, applier, clock, stages, watches)

    async def run(self) -> int:
        display = _display() if self._stages.some else Lines()
        with install_signals(self._manager.stop):
            running = asyncio.create_task(self._manager.run(), name="manager")
            working = asyncio.create_task(self._staged(display), name="stages")
            try:
                await asyncio.wait([running, working], return_when=asyncio.FIRST_COMPLETED)
                if working.done() and not working.cancelled() and (self._options.until_ready or working.exception()):
                    self._manager.stop()
                await running
            finally:
                working.cancel()
                self._manager.stop()
                await asyncio.wait([running, working])
        return 0 if working.cancelled() else working.result()

    async def _staged(self, display: Display) -> int:
        async with asyncio.timeout(self._options.timeout) as bound:
            try:
                with display:
                    return await self._stages.run(display, summary=self._options.until_ready)
            except TimeoutError:
                if not bound.expired():
                    raise
                raise self._stages.not_ready() from None


@asynccontextmanager
async def _surroundings(engine: Engine, programs: tuple[Loaded, ...]) -> AsyncIterator[None]:
    """What an empty cluster needs around the programs: their definitions, and a data plane in a manager of its own."""
    if engine.name != MEMORY:
        yield
        return
    applier = Applier(engine, namespace="default", known=(), sleep=asyncio.sleep)
    source = "installed programs"
    await applier.apply([Manifest(source, document) for document in install.definitions(programs)])
    plane = [loaded.program for loaded in install.data_plane()]
    async with Manager(engine, programs=plane, options=ManagerOptions(name="data-plane")) as manager:
        running = asyncio.create_task(manager.run(), name="data plane")
        try:
            await manager.synced()
            yield
        finally:
            manager.stop()
            await running


async def contact(engine: Engine, *, timeout: float = CONTACT_TIMEOUT, pause: float = CONTACT_PAUSE) -> None:  # noqa: ASYNC109
    """Return when the server answers.

    Raises:
        UsageError: it does not within `timeout` seconds, or it does not know us.
    """
    last: EngineError | None = None
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            while True:
                try:
                    await engine.discover("", "v1")
                except (Forbidden, NotFound):
                    return
                except Unauthorized as error:
                    raise UsageError(f"the server does not accept the credentials: {error}") from error
                except EngineError as error:
                    if last is None:
                        _log.warning("the server cannot be reached yet", error=str(error))
                    last = error
                else:
                    return
                await asyncio.sleep(pause)
    raise UsageError(f"the server cannot be reached (tried for {timeout:.0f} s): {last or 'no answer'}")


def _display() -> Display:
    if not sys.stdout.isatty():
        return Lines()
    from rich.console import Console

    from dynamo_manager.live import LiveTable

    return LiveTable(Console())


def write_crds(programs: tuple[Loaded, ...], output: Path | None) -> None:
    """Write the definitions of the programs as YAML: to a folder, one file for each, or to standard output."""
    import yaml

    documents = install.definitions(programs)
    if output is None:
        sys.stdout.write(yaml.safe_dump_all(documents, sort_keys=False))
        return
    output.mkdir(parents=True, exist_ok=True)
    for document in documents:
        names, group = document["spec"]["names"]["plural"], document["spec"]["group"]
        (output / f"{group}_{names}.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
