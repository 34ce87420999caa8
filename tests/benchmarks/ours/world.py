"""Where a measurement runs: on the server that KUBECONFIG names, or, for runs without one, on the embedded engine."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from dynamo_ctrl import Engine, Manager, ManagerOptions, open_engine
from dynamo_ctrl.objects.builtin.core import NAMESPACE as NAMESPACES
from tests.benchmarks.ours.kinds import NAMESPACE, POD
from tests.benchmarks.ours.objects import pod

ENGINES = ("kubernetes", "memory")


def arguments() -> argparse.ArgumentParser:
    """The flags that every measurement of that sort has."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--engine", choices=ENGINES, default="kubernetes")
    flags.add_argument("--n", type=int, default=10_000, help="Pods on the server")
    flags.add_argument("--seconds", type=float, default=1.0, help="for one figure, at least")
    return flags


@asynccontextmanager
async def managed(engine: str, n: int, *programs: Any, options: ManagerOptions | None = None) -> AsyncIterator[Manager]:
    """A manager that is open and does not run yet. The embedded engine has `n` Pods; a server has what it has."""
    async with AsyncExitStack() as stack:
        where: str | Engine = engine
        if engine == "memory":
            where = await stack.enter_async_context(open_engine("memory"))
            await where.create(NAMESPACES, "", msgspec.json.encode({"metadata": {"name": NAMESPACE}}))
            for i in range(n):
                content = pod(i)
                del content["metadata"]["ownerReferences"]  # the owners are not there: it would be garbage at once
                await where.create(POD, NAMESPACE, msgspec.json.encode(content))
        yield await stack.enter_async_context(Manager(where, programs=programs, options=options))
