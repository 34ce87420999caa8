"""Engines are found by name."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine import registry
from dynamo_ctrl.engine.memory import MemoryEngine
from dynamo_ctrl.engine.registry import BrokenEngine, EngineConfig, UnknownEngine, engine_names, open_engine


def test_the_project_brings_two_engines() -> None:
    assert {"kubernetes", "memory"} <= set(engine_names())


def test_an_engine_is_open_inside_its_block() -> None:
    clock = ManualClock()

    async def scenario() -> None:
        async with open_engine("memory", EngineConfig(clock=clock)) as engine:
            assert isinstance(engine, MemoryEngine)
            assert engine.core.clock is clock
            assert await engine.discover("", "v1")

    asyncio.run(scenario())


def test_an_unknown_name_lists_what_is_installed() -> None:
    async def scenario() -> None:
        async with open_engine("nowhere"):
            pass

    with pytest.raises(UnknownEngine, match=r"unknown engine 'nowhere'.*kubernetes, memory") as caught:
        asyncio.run(scenario())
    assert caught.value.name == "nowhere"
    assert set(caught.value.installed) == set(engine_names())


def failing(config: EngineConfig) -> None:
    raise RuntimeError("no\n  disk")


def leaving(config: EngineConfig) -> None:
    raise SystemExit(3)


def nothing(config: EngineConfig) -> None:
    return None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_module:factory", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{__name__}:failing", "cannot be opened: RuntimeError: no disk"),
        (f"{__name__}:leaving", "cannot be opened: SystemExit: 3"),
        (f"{__name__}:nothing", "cannot be opened: its factory makes no async context manager"),
        (f"{__name__}:registry", "cannot be opened: TypeError: 'module' object is not callable"),
    ],
)
def test_an_engine_that_cannot_be_had_says_so(monkeypatch: pytest.MonkeyPatch, value: str, says: str) -> None:
    entry = EntryPoint("broken", value, registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: (entry,))

    async def scenario() -> None:
        async with open_engine("broken"):
            pass

    with pytest.raises(BrokenEngine) as caught:
        asyncio.run(scenario())
    assert str(caught.value) == f"engine 'broken' ({value}) {says}"


def test_the_memory_engine_does_not_import_the_kubernetes_client() -> None:
    code = "import sys, dynamo_ctrl.engine.memory as m; m.Core(); sys.exit('kubernetes_asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
