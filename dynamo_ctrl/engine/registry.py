"""Which engines are installed, and how one is opened.

An engine is found through the entry point group `dynamo_ctrl.engines`; an entry is a callable
`factory(EngineConfig) -> AsyncContextManager[Engine]`. Nothing is imported before an engine is opened by its name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, TypeAlias

from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.observe import RequestObserver
from dynamo_ctrl.engine.port import Engine

GROUP: Final = "dynamo_ctrl.engines"
"""The entry point group."""

OnRequest: TypeAlias = Callable[[str, str, int, float], None]
"""Told of each request: verb, host, HTTP code (0 for no answer), seconds. Must neither block nor raise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How to reach a cluster. An engine ignores what has no meaning for it.

    Attributes:
        kubeconfig: a kubeconfig file; `None` for the usual precedence (`KUBECONFIG`, in-cluster, home).
        context: a context of the kubeconfig; empty for its current one.
        user_agent: what the server's logs call us.
        request_timeout: seconds that one call may take, from its beginning to the last byte: finding a free connection, every
            attempt, and the waits between them. A watch is bounded by its own options instead.
        clock: the time of everything that the engine measures.
        on_request: told of each request; for metrics.
        observer: told more about each request than `on_request`, for histograms; costs a little on each.
    """

    kubeconfig: Path | None = None
    context: str = ""
    user_agent: str = "dynamo-ctrl"
    request_timeout: float = 30.0
    clock: Clock = field(default_factory=SystemClock)
    on_request: OnRequest | None = None
    observer: RequestObserver | None = None


Factory: TypeAlias = Callable[[EngineConfig], AbstractAsyncContextManager[Engine]]


class UnknownEngine(LookupError):
    """No engine of that name is installed.

    Attributes:
        name: what was asked for.
        installed: what there is.
    """

    def __init__(self, name: str, installed: tuple[str, ...]) -> None:
        self.name = name
        self.installed = installed
        there = ", ".join(installed) or "none"
        super().__init__(f"unknown engine {name!r}: installed engines are {there} (entry point group {GROUP!r})")


class BrokenEngine(RuntimeError):
    """An engine is installed and cannot be imported, or its factory makes none; the cause is chained."""


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def engine_names() -> tuple[str, ...]:
    """The names of the installed engines, sorted."""
    return tuple(sorted(_installed()))


@asynccontextmanager
async def open_engine(name: str, config: EngineConfig | None = None) -> AsyncIterator[Engine]:
    """Open the engine of that name for as long as the context lasts.

    Raises:
        UnknownEngine: there is no such engine; the error lists those there are.
        BrokenEngine: it is installed and cannot be imported, or its factory raises or makes no context manager.
    """
    entry = _installed().get(name)
    if entry is None:
        raise UnknownEngine(name, engine_names())
    async with _made(entry, config or EngineConfig()) as engine:
        yield engine


def _made(entry: EntryPoint, config: EngineConfig) -> AbstractAsyncContextManager[Engine]:
    """What the entry's factory makes. Whatever somebody else's code raises on the way is told in one line, an exit included."""
    brought = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    which, step = f"engine {entry.name!r} ({entry.value}{brought})", "be imported"
    try:
        factory: Factory = entry.load()
        step = "be opened"
        made = factory(config)
    except (Exception, SystemExit) as error:
        raise BrokenEngine(f"{which} cannot {step}: {' '.join(f'{type(error).__name__}: {error}'.split())}") from error
    if not isinstance(made, AbstractAsyncContextManager):
        raise BrokenEngine(f"{which} cannot be opened: its factory makes no async context manager")
    return made
