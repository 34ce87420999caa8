"""The event recorder: what is sent, and that it never blocks, never grows, and flushes at the end (R 3.11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.engine.errors import AlreadyExists, Forbidden, Unavailable
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.manager.events import MAX_NAME, MAX_NOTE, EventRecorder
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NODE
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event
from dynamo_ctrl.testing import FaultyEngine, LoopClock

READY = Event(type="Normal", reason="Ready", note="all is well", action="Check")


def config_map(name: str = "web", namespace: str = "default") -> Object[Any, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": "u1", "resourceVersion": "7"}
    return CONFIG_MAP.object({"metadata": metadata})


class Bench:
    def __init__(self, capacity: int = 10) -> None:
        clock = LoopClock()
        self.core = Core(clock=clock)
        self.engine = FaultyEngine(MemoryEngine(self.core))
        self.lines = LogCapture()
        self.recorder = EventRecorder(
            self.engine,
            clock,
            controller="manager",
            instance="host",
            capacity=capacity,
            log=structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger),
        )

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[EventRecorder]:
        task = asyncio.create_task(self.recorder.run())
        await asyncio.sleep(0.01)
        yield self.recorder
        self.recorder.close()
        await asyncio.wait_for(task, 60)

    def events(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(item) for item in self.core.list(EVENT, ListOptions()).items]


async def test_an_event_is_one_object_of_events_v1() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
    (event,) = bench.events()
    metadata = event.pop("metadata")
    assert metadata["namespace"] == "default"
    assert metadata["name"].startswith("web.")
    assert int(metadata["name"].removeprefix("web."), 16) > 0
    wanted = {
        "eventTime": "2026-01-01T00:00:00.010000Z",
        "type": "Normal",
        "reason": "Ready",
        "action": "Check",
        "note": "all is well",
        "reportingController": "manager",
        "reportingInstance": "manager-host",
        "regarding": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "default",
            "name": "web",
            "uid": "u1",
            "resourceVersion": "7",
        },
    }
    assert wanted.items() <= event.items()
    assert bench.recorder.sent == 1


async def test_an_event_may_regard_another_object_and_a_cluster_object_goes_to_default() -> None:
    bench = Bench()
    node = NODE.object({"metadata": {"name": "n1", "uid": "u2"}})
    async with bench.recording() as recorder:
        recorder.event(config_map(), Event(type="Warning", reason="Full", note="x", regarding=node))
    (event,) = bench.events()
    assert event["metadata"]["namespace"] == "default"
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Node", "n1")
    assert "namespace" not in event["regarding"]


async def test_equal_moments_get_different_names() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        for _ in range(5):
            recorder.event(config_map(), READY)
    assert len({event["metadata"]["name"] for event in bench.events()}) == 5


async def test_a_name_that_is_taken_is_replaced() -> None:
    bench = Bench()
    bench.engine.fail(AlreadyExists("taken"), "create", EVENT, times=2)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
    assert (bench.recorder.sent, bench.recorder.failed) == (1, 0)


async def test_long_texts_are_cut_to_what_the_api_takes() -> None:
    bench = Bench()
    note = "é" * MAX_NOTE
    async with bench.recording() as recorder:
        recorder.event(config_map("n" * 253), Event(type="Normal", reason="R" * 200, note=note, action="A" * 200))
    (event,) = bench.events()
    assert len(event["metadata"]["name"]) == MAX_NAME
    assert MAX_NOTE - 2 <= len(event["note"].encode()) <= MAX_NOTE
    assert event["note"].endswith("é...")
    assert (len(event["reason"]), len(event["action"])) == (128, 128)


async def test_r4_37_a_full_buffer_drops_and_counts_and_says_so_once() -> None:
    bench = Bench(capacity=3)
    for _ in range(5):
        bench.recorder.event(config_map(), READY)
    assert bench.recorder.dropped == 2
    assert [line["event"] for line in bench.lines.entries] == ["events are dropped"]
    async with bench.recording():
        pass
    assert (bench.recorder.sent, bench.recorder.dropped) == (3, 2)


@pytest.mark.parametrize("error", [Forbidden("no"), Unavailable("down")])
async def test_an_event_that_is_refused_is_counted_and_the_next_one_is_sent(error: Exception) -> None:
    bench = Bench()
    bench.engine.fail(error, "create", EVENT, times=2)
    async with bench.recording() as recorder:
        for _ in range(3):
            recorder.event(config_map(), READY)
    assert (bench.recorder.sent, bench.recorder.failed) == (1, 2)
    warnings = [line["event"] for line in bench.lines.entries if line["log_level"] == "warning"]
    assert warnings == (["events cannot be created"] if isinstance(error, Forbidden) else [])


async def test_what_was_recorded_before_the_close_is_sent_and_nothing_after_it_is_taken() -> None:
    bench = Bench()
    for _ in range(4):
        bench.recorder.event(config_map(), READY)
    bench.recorder.close()
    bench.recorder.event(config_map(), READY)
    await asyncio.wait_for(bench.recorder.run(), 1)
    assert (bench.recorder.sent, bench.recorder.dropped) == (4, 1)


async def test_a_cancelled_recorder_counts_what_it_did_not_send() -> None:
    bench = Bench()

    class Slow(MemoryEngine):
        async def create(self, *arguments: Any) -> bytes:
            await asyncio.sleep(1000)
            return b""

    bench.recorder._engine = Slow(bench.core)
    task = asyncio.create_task(bench.recorder.run())
    for _ in range(4):
        bench.recorder.event(config_map(), READY)
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task])
    assert bench.recorder.dropped == 4
