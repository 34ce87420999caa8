"""The in-process API server: `Core` is the machine, `MemoryEngine` its asynchronous face, `factory` its entry point."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dynamo_ctrl.engine.memory.core import Core
from dynamo_ctrl.engine.memory.engine import MemoryEngine
from dynamo_ctrl.engine.registry import EngineConfig

__all__ = ["Core", "MemoryEngine", "factory"]


@asynccontextmanager
async def factory(config: EngineConfig) -> AsyncIterator[MemoryEngine]:
    """A memory engine over a new core, closed at the end. Of the configuration only the clock has a meaning."""
    engine = MemoryEngine(Core(clock=config.clock))
    try:
        yield engine
    finally:
        await engine.close()
