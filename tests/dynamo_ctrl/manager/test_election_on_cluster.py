"""Two processes on one lease of the real server: killed, frozen and stopped leaders; and events as the server takes them.

Run as a program this file is one of the two processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl.clock import SystemClock
from dynamo_ctrl.engine.errors import EngineError
from dynamo_ctrl.engine.port import Engine, ListOptions, WatchOptions
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.errors import LeadershipLost
from dynamo_ctrl.manager.events import EventRecorder
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import LeaderElectionOptions, ManagerOptions
from dynamo_ctrl.manager.signals import install_signals
from dynamo_ctrl.objects.builtin.coordination import LEASE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Event
from envtest import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.real_loop]

WAIT = 60.0
"""Seconds for anything here to happen."""

LOST = 3
"""The exit code of a process that lost its lease."""


async def work(kubeconfig: str, namespace: str, who: str) -> int:
    """What each of the two processes does: write all the time while it leads."""
    election = LeaderElectionOptions(
        enabled=True, name="lease", namespace=namespace, identity=who,
        lease_duration=6.0, renew_deadline=4.5, retry_period=0.4, guard_margin=0.3,
    )  # fmt: skip
    options = ManagerOptions(leader_election=election)
    async with Manager("kubernetes", config=EngineConfig(kubeconfig=Path(kubeconfig)), options=options) as manager:

        async def write() -> None:
            while True:
                patch = Patch.merge({"data": {"at": str(asyncio.get_running_loop().time())}})
                with contextlib.suppress(EngineError):
                    await manager.engine.patch(CONFIG_MAP, Key(namespace, who), patch)
                await asyncio.sleep(0.02)

        manager.add_runnable("writer", write)
        with install_signals(manager.stop):
            try:
                await manager.run()
            except LeadershipLost:
                return LOST
    return 0


class Watched:
    """Everything that happened to the lease and to the objects that the two write, in the server's order."""

    def __init__(self) -> None:
        self.holders: list[tuple[int, str]] = []
        self.writes: list[tuple[int, str]] = []

    def lease(self, body: dict[str, Any]) -> None:
        self.holders.append((int(body["metadata"]["resourceVersion"]), body["spec"].get("holderIdentity", "")))

    def write(self, body: dict[str, Any]) -> None:
        self.writes.append((int(body["metadata"]["resourceVersion"]), body["metadata"]["name"]))

    @property
    def holder(self) -> str:
        return self.holders[-1][1] if self.holders else ""

    def taken_at(self, who: str) -> int:
        return next(version for version, holder in self.holders if holder == who)

    def writes_of(self, who: str) -> list[int]:
        return [version for version, name in self.writes if name == who]


class Two:
    """The two processes, and the view of a third."""

    def __init__(self, cluster: Cluster, namespace: str, watched: Watched, log: Path) -> None:
        self.watched = watched
        self._arguments = (str(cluster.kubeconfig), namespace)
        self._log = log
        self.processes: dict[str, asyncio.subprocess.Process] = {}

    async def start(self, who: str) -> None:
        with self._log.open("ab") as log:
            self.processes[who] = await asyncio.create_subprocess_exec(
                sys.executable, __file__, *self._arguments, who, stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": os.getcwd()},
            )  # fmt: skip

    def send(self, who: str, number: signal.Signals) -> None:
        self.processes[who].send_signal(number)

    async def until(self, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(WAIT):
                while not holds():  # noqa: ASYNC110  (what is waited for happens in another process)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{self.watched.holders[-5:]} {self._log.read_text()[-3000:]}") from None

    async def leads(self, who: str) -> None:
        """Until that one leads and has written."""
        await self.until(lambda: self.watched.holder == who and bool(self.watched.writes_of(who)))

    async def exit_code(self, who: str) -> int:
        return await asyncio.wait_for(self.processes[who].wait(), WAIT)


@asynccontextmanager
async def two(cluster: Cluster, namespace: str, tmp_path: Path) -> AsyncIterator[Two]:
    watched = Watched()
    async with (
        open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine,
        asyncio.TaskGroup() as tasks,
    ):
        for name in ("first", "second"):
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            await engine.create(CONFIG_MAP, namespace, json.dumps(body).encode())
        following = [
            tasks.create_task(follow(engine, LEASE, namespace, watched.lease)),
            tasks.create_task(follow(engine, CONFIG_MAP, namespace, watched.write)),
        ]
        both = Two(cluster, namespace, watched, tmp_path / "processes.log")
        try:
            yield both
        finally:
            for process in both.processes.values():
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            for task in following:
                task.cancel()


async def follow(engine: Engine, kind: Any, namespace: str, told: Callable[[dict[str, Any]], None]) -> None:
    page = await engine.list(kind, ListOptions(namespace=namespace))
    options = WatchOptions(namespace=namespace, resource_version=page.resource_version, bookmarks=False)
    async with engine.watch(kind, options) as events:
        async for event in events:
            told(json.loads(event.object))


async def test_r4_40_a_killed_leader_is_followed_by_the_other(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async with two(cluster, namespace, tmp_path) as both:
        await both.start("first")
        await both.leads("first")
        await both.start("second")
        await asyncio.sleep(1)
        assert both.watched.writes_of("second") == []
        both.send("first", signal.SIGKILL)
        await both.exit_code("first")
        await both.leads("second")
        assert max(both.watched.writes_of("first")) < both.watched.taken_at("second")
        assert both.processes["second"].returncode is None


async def test_r4_40_a_leader_that_was_frozen_writes_nothing_when_it_wakes_up(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with two(cluster, namespace, tmp_path) as both:
        await both.start("first")
        await both.leads("first")
        await both.start("second")
        await asyncio.sleep(1)
        both.send("first", signal.SIGSTOP)
        await both.leads("second")
        both.send("first", signal.SIGCONT)
        assert await both.exit_code("first") == LOST
        await asyncio.sleep(0.5)
        taken = both.watched.taken_at("second")
        assert [version for version in both.watched.writes_of("first") if version > taken] == []
        assert both.watched.holder == "second"


async def test_a_leader_that_is_asked_to_stop_gives_the_lease_back(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with two(cluster, namespace, tmp_path) as both:
        await both.start("first")
        await both.leads("first")
        await both.start("second")
        await asyncio.sleep(1)
        both.send("first", signal.SIGTERM)
        assert await both.exit_code("first") == 0
        await both.leads("second")
        released = next(version for version, holder in both.watched.holders if holder == "")
        assert max(both.watched.writes_of("first")) < released < min(both.watched.writes_of("second"))


async def test_the_server_takes_a_series_of_events(cluster: Cluster, namespace: str) -> None:
    async with open_engine("kubernetes", EngineConfig(kubeconfig=cluster.kubeconfig)) as engine:
        raw = await engine.create(
            CONFIG_MAP, namespace, b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"about"}}'
        )
        about = CONFIG_MAP.decode(raw)
        failures: list[Exception] = []
        recorder = EventRecorder(engine, SystemClock(), controller="test", instance="host")
        recorder.start(failures.append)
        event = Event(type="Warning", reason="R" * 200, note="é" * 2000, action="Look")
        for _ in range(5):
            recorder.event(about, event)
            await asyncio.sleep(0.05)
        await recorder.end(10)
        assert failures == []
        assert (recorder.sent, recorder.repeated, recorder.dropped, recorder.failed) == (1, 4, 0, 0)
        (found,) = (await engine.list(EVENT, ListOptions(namespace=namespace))).items
        assert json.loads(found)["series"]["count"] == 5


if __name__ == "__main__":
    sys.exit(asyncio.run(work(*sys.argv[1:])))
