"""The event recorder: what is sent, and that it never blocks, never grows, and flushes at the end (R 3.11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import msgspec
import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.engine.errors import (
    AlreadyExists,
    EngineError,
    Forbidden,
    Invalid,
    ServerTimeout,
    TooManyRequests,
    Unanswered,
    Unavailable,
    Unreachable,
    WriteRefused,
)
from dynamo_ctrl.engine.memory import Core, MemoryEngine
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.manager.events import MAX_NAME, MAX_NOTE, PAUSE, TRIES, EventRecorder
from dynamo_ctrl.manager.series import HEARTBEAT, SILENCE
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NODE
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.program.effect import Event
from dynamo_ctrl.testing import FaultyEngine, LoopClock

GOING = Forbidden("namespace ns is being terminated", details={"causes": [{"reason": "NamespaceTerminating"}]})
READY = Event(type="Normal", reason="Ready", note="all is well", action="Check")


def config_map(name: str = "web", namespace: str = "default", version: str = "7") -> Object[Any, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": "u1", "resourceVersion": version}
    return CONFIG_MAP.object({"metadata": metadata})


class Bench:
    def __init__(self, capacity: int = 10, instance: str = "host") -> None:
        clock = LoopClock()
        self.core = Core(clock=clock)
        self.engine = FaultyEngine(MemoryEngine(self.core))
        self.lines = LogCapture()
        self.failures: list[Exception] = []
        self.recorder = EventRecorder(
            self.engine,
            clock,
            controller="manager",
            instance=instance,
            capacity=capacity,
            random=Random(1),
            log=structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger),
        )

    @asynccontextmanager
    async def recording(self) -> AsyncIterator[EventRecorder]:
        self.recorder.start(self.failures.append)
        await asyncio.sleep(0.01)
        yield self.recorder
        await self.recorder.end(60)
        assert self.failures == []

    def events(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(item) for item in self.core.list(EVENT, ListOptions()).items]

    def numbers(self) -> dict[str, int]:
        recorder = self.recorder
        told = {name: getattr(recorder, name) for name in ("sent", "repeated", "dropped", "failed")}
        return {name: value for name, value in told.items() if value}


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
    assert "series" not in event
    assert bench.numbers() == {"sent": 1}


async def test_an_event_may_regard_another_object_and_a_cluster_object_goes_to_default() -> None:
    bench = Bench()
    node = NODE.object({"metadata": {"name": "n1", "uid": "u2"}})
    async with bench.recording() as recorder:
        recorder.event(config_map(), Event(type="Warning", reason="Full", note="x", regarding=node))
    (event,) = bench.events()
    assert event["metadata"]["namespace"] == "default"
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Node", "n1")
    assert "namespace" not in event["regarding"]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("system:node", "configmap."),
        ("Upper_Case", "configmap."),
        ("n" * 235 + "-more", "n" * 235 + "."),
        ("n" * 235 + ".more", "n" * 235 + "."),
    ],
)
async def test_what_no_event_may_be_called_after_is_told_nevertheless(name: str, start: str) -> None:
    """An RBAC object may have a name that no Event may have (kubernetes/kubernetes#127594); a cut may end in a dash."""
    bench = Bench()
    role = config_map(name)
    async with bench.recording() as recorder:
        recorder.event(role, READY)
    (event,) = bench.events()
    assert event["metadata"]["name"].startswith(start)
    assert event["regarding"]["name"] == name


async def test_equal_moments_get_different_names() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        for version in range(5):
            recorder.event(config_map(version=str(version)), READY)
    assert len({event["metadata"]["name"] for event in bench.events()}) == 5


async def test_a_name_that_is_taken_is_replaced() -> None:
    bench = Bench()
    bench.engine.fail(AlreadyExists("taken"), "create", EVENT, times=2)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
    assert bench.numbers() == {"sent": 1}


async def test_long_texts_are_cut_to_what_the_api_takes() -> None:
    """The instance, too, which is made of two names (kubernetes-sigs/controller-runtime#3511)."""
    bench = Bench(instance="h" * 150)
    note = "é" * MAX_NOTE
    async with bench.recording() as recorder:
        recorder.event(config_map("n" * 253), Event(type="Normal", reason="R" * 200, note=note, action="A" * 200))
    (event,) = bench.events()
    assert len(event["reportingInstance"]) == 128
    assert len(event["metadata"]["name"]) == MAX_NAME
    assert MAX_NOTE - 2 <= len(event["note"].encode()) <= MAX_NOTE
    assert event["note"].endswith("é...")
    assert (len(event["reason"]), len(event["action"])) == (128, 128)


async def test_a_repeat_makes_a_series_of_two_at_once_and_later_ones_are_told_every_half_hour() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
        await asyncio.sleep(10)
        recorder.event(config_map(), READY)
        await asyncio.sleep(1)
        (event,) = bench.events()
        assert event["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:10.010000Z"}
        for _ in range(11):
            await asyncio.sleep(150)
            recorder.event(config_map(), READY)
        (event,) = bench.events()
        assert event["series"]["count"] == 2
        await asyncio.sleep(HEARTBEAT - 11 * 150 + 61)
        (event,) = bench.events()
        assert event["series"] == {"count": 13, "lastObservedTime": "2026-01-01T00:27:41.010000Z"}
    assert bench.numbers() == {"sent": 1, "repeated": 12}


async def test_a_series_that_is_silent_for_six_minutes_is_told_once_more_and_ends() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        for _ in range(3):
            recorder.event(config_map(), READY)
            await asyncio.sleep(1)
        await asyncio.sleep(SILENCE + 61)
        (event,) = bench.events()
        assert event["series"]["count"] == 3
        recorder.event(config_map(), READY)
    assert len(bench.events()) == 2


async def test_the_last_counts_are_told_at_the_end() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        for _ in range(5):
            recorder.event(config_map(), READY)
            await asyncio.sleep(1)
    (event,) = bench.events()
    assert event["series"]["count"] == 5


async def test_a_series_whose_event_is_gone_is_created_again_with_its_count() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
        await asyncio.sleep(1)
        (event,) = bench.events()
        bench.core.delete(EVENT, Key("default", event["metadata"]["name"]))
        recorder.event(config_map(), READY)
    (event,) = bench.events()
    assert event["series"]["count"] == 2


async def test_r4_37_a_full_buffer_drops_and_counts_and_says_so_once() -> None:
    bench = Bench(capacity=3)
    for version in range(5):
        bench.recorder.event(config_map(version=str(version)), READY)
    assert bench.recorder.dropped == 2
    assert [line["event"] for line in bench.lines.entries] == ["events are dropped"]
    async with bench.recording():
        pass
    assert bench.numbers() == {"sent": 3, "dropped": 2}


async def test_r4_37_repeats_take_no_room() -> None:
    bench = Bench(capacity=3)
    for _ in range(10_000):
        bench.recorder.event(config_map(), READY)
    assert len(bench.recorder._queue) == 2
    async with bench.recording():
        pass
    (event,) = bench.events()
    assert event["series"]["count"] == 10_000
    assert bench.numbers() == {"sent": 1, "repeated": 9_999}


@pytest.mark.parametrize("error", [Forbidden("no"), GOING, Invalid("no"), WriteRefused("not the leader")])
async def test_an_event_that_is_refused_is_counted_and_the_next_one_is_a_first_one(error: EngineError) -> None:
    bench = Bench()
    bench.engine.fail(error, "create", EVENT, times=2)
    async with bench.recording() as recorder:
        for _ in range(3):
            recorder.event(config_map(), READY)
            await asyncio.sleep(1)
    lost = "dropped" if isinstance(error, WriteRefused) else "failed"
    assert bench.numbers() == {"sent": 1, lost: 2}
    warnings = [line for line in bench.lines.entries if line["log_level"] == "warning"]
    assert [line["event"] for line in warnings] == (
        ["events cannot be written"] if isinstance(error, Forbidden) and error is not GOING else []
    )
    assert all("events.k8s.io" in line["rule"] for line in warnings)


@pytest.mark.parametrize("error", [Unreachable("x"), Unavailable("x"), TooManyRequests("x"), ServerTimeout("x")])
async def test_a_passing_failure_is_tried_again_with_pauses_and_not_for_ever(error: EngineError) -> None:
    bench = Bench()
    began = asyncio.get_running_loop().time()
    bench.engine.fail(error, "create", EVENT, times=TRIES - 1)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
        await asyncio.sleep(TRIES * PAUSE)
        assert bench.numbers() == {"sent": 1}
        bench.engine.fail(error, "create", EVENT, times=TRIES)
        recorder.event(config_map("other"), READY)
        await asyncio.sleep(TRIES * PAUSE)
        assert bench.numbers() == {"sent": 1, "failed": 1}
    assert asyncio.get_running_loop().time() - began < (2 * TRIES + 1) * PAUSE


async def test_an_event_whose_answer_was_lost_is_not_created_twice() -> None:
    bench = Bench()
    bench.engine.fail(Unanswered("lost"), "create", EVENT, after=True)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
        await asyncio.sleep(PAUSE)
        assert len(bench.events()) == 1
    assert bench.numbers() == {"sent": 1}


async def test_an_event_in_a_namespace_that_is_gone_fails_for_good() -> None:
    bench = Bench()
    async with bench.recording() as recorder:
        recorder.event(config_map(namespace="gone"), READY)
    assert bench.numbers() == {"failed": 1}


async def test_a_name_that_is_always_taken_is_given_up() -> None:
    bench = Bench()
    bench.engine.fail(AlreadyExists("taken"), "create", EVENT, times=1000)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
    assert bench.numbers() == {"failed": 1}
    assert bench.engine.pending == 1000 - TRIES


async def test_an_answer_that_was_lost_to_the_last_is_a_failure() -> None:
    bench = Bench()
    bench.engine.fail(Unanswered("lost"), "create", EVENT, times=1000)
    async with bench.recording() as recorder:
        recorder.event(config_map(), READY)
        await asyncio.sleep(TRIES * PAUSE)
    assert bench.numbers() == {"failed": 1}


async def test_what_nobody_planned_for_ends_the_recorder_and_is_told() -> None:
    bench = Bench()
    bench.engine.fail(KeyError("a bug"), "create", EVENT)
    bench.recorder.start(bench.failures.append)
    bench.recorder.event(config_map(), READY)
    await asyncio.sleep(1)
    await bench.recorder.end(1)
    assert [type(error) for error in bench.failures] == [KeyError]
    assert bench.numbers() == {"dropped": 1}


async def test_at_the_end_nothing_is_tried_again() -> None:
    bench = Bench()
    bench.engine.fail(Unavailable("down"), "create", EVENT, times=100)
    bench.recorder.start(bench.failures.append)
    for version in range(4):
        bench.recorder.event(config_map(version=str(version)), READY)
    await asyncio.sleep(0.1)
    began = asyncio.get_running_loop().time()
    await bench.recorder.end(60)
    assert asyncio.get_running_loop().time() == began
    assert bench.numbers() == {"failed": 4}


async def test_what_was_recorded_before_the_end_is_sent_and_nothing_after_it_is_taken() -> None:
    bench = Bench()
    for version in range(4):
        bench.recorder.event(config_map(version=str(version)), READY)
    async with bench.recording():
        pass
    bench.recorder.event(config_map(), READY)
    assert bench.numbers() == {"sent": 4, "dropped": 1}


async def test_an_end_that_takes_too_long_counts_what_was_not_sent() -> None:
    bench = Bench()

    class Slow(MemoryEngine):
        async def create(self, *arguments: Any, **more: Any) -> bytes:
            await asyncio.sleep(1000)
            return b""

    bench.recorder._engine = Slow(bench.core)
    bench.recorder.start(bench.failures.append)
    for version in range(4):
        bench.recorder.event(config_map(version=str(version)), READY)
    began = asyncio.get_running_loop().time()
    await bench.recorder.end(2)
    assert asyncio.get_running_loop().time() == began + 2
    assert bench.numbers() == {"dropped": 4}
