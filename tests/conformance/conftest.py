"""The worlds of the suite: the memory engine, and the real server through the kubernetes engine."""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import AlreadyExists, NotFound
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.objects.builtin.core import NAMESPACE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from envtest import Cluster
from tests.conformance.kinds import DEFINITIONS, GROUP
from tests.conformance.world import World, namespace_body

PATIENCE = {"memory": 0.0, "kubernetes": 75.0}
"""Seconds that a server's controllers get for their work. The memory engine does it at once; the garbage collector of a real
cluster looks for new resources every 30 s."""

FIRST_VERSION = 1_000
"""Where resourceVersions begin in the memory engine, so that they are not taken for other numbers."""

ESTABLISHED_TIMEOUT = 20.0
"""Seconds for the CRDs to be served by a real server."""

COMPACTION_TIMEOUT = 10.0
"""Seconds for etcd to forget."""


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    """The loop that the engines of this run live in."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def real_engine(runner: asyncio.Runner, cluster: Cluster) -> Iterator[Engine]:
    """The kubernetes engine on the real cluster, with the suite's CRDs."""
    opened = open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig, user_agent="conformance"))
    engine: Engine = runner.run(opened.__aenter__())
    runner.run(_prepare(engine))
    yield engine
    runner.run(opened.__aexit__(None, None, None))


async def _prepare(engine: Engine) -> None:
    for definition in DEFINITIONS:
        with suppress(AlreadyExists):
            await engine.create(CUSTOM_RESOURCE_DEFINITION, "", json.dumps(definition).encode())
    deadline = time.monotonic() + ESTABLISHED_TIMEOUT
    while True:
        with suppress(NotFound):
            if len(await engine.discover(GROUP, "v1")) >= len(DEFINITIONS):
                return
        assert time.monotonic() < deadline, "the suite's CRDs are not served"
        await asyncio.sleep(0.1)


def _memory_core() -> Core:
    core = Core(random=random.Random(1))
    core._store.version = FIRST_VERSION
    return core


Open = Callable[[str], AbstractContextManager[World]]


@pytest.fixture
def open_world(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Open:
    """Opens a namespace of its own on the server of that name."""

    def run(call: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await call

        return runner.run(wait())

    @contextmanager
    def open_(name: str) -> Iterator[World]:
        token = secrets.token_hex(4)
        if name == "memory":
            core = _memory_core()
            engine: Engine = MemoryEngine(core)
            run(_prepare(engine))
            compact: Callable[[], None] = core.compact
        else:
            engine = request.getfixturevalue("real_engine")
            compact = partial(_compact, request.getfixturevalue("cluster"))
        world = World(engine, f"conformance-{token}", token, run, compact, PATIENCE[name])
        world.create(NAMESPACE, namespace_body(world.namespace))
        if name != "memory":
            request.getfixturevalue("cluster").wait_furnished(world.namespace)
        yield world
        world.delete(NAMESPACE, world.namespace)
        if name == "memory":
            run(engine.close())

    return open_


@pytest.fixture(params=["memory", pytest.param("kubernetes", marks=pytest.mark.cluster)])
def world(request: pytest.FixtureRequest, open_world: Open) -> Iterator[World]:
    """A namespace of its own on each of the two servers."""
    with open_world(request.param) as world:
        yield world


def _compact(cluster: Cluster) -> None:
    """Compact the real server's etcd up to now, through etcd's own HTTP gateway."""
    revision = cluster.api.get("/api/v1/namespaces")["metadata"]["resourceVersion"]
    content = json.dumps({"revision": revision, "physical": True}).encode()
    request = urllib.request.Request(f"{cluster.etcd_url}/v3/kv/compaction", data=content, method="POST")
    try:
        urllib.request.urlopen(request, timeout=COMPACTION_TIMEOUT).close()
    except urllib.error.HTTPError as error:
        if b"has been compacted" not in error.read():
            raise
