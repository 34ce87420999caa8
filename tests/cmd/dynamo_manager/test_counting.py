"""What a run counts, and how it tells it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import NotFound
from dynamo_ctrl.engine.memory import MemoryEngine
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.builtin.extensions import EVENT
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.testing import FakeCache
from dynamo_manager.counting import CountingEngine, Target
from dynamo_manager.summary import Summary

A = Key("default", "a")


def config_map(name: str = "a", **metadata: Any) -> bytes:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "default", **metadata}}).raw


@pytest.fixture
def engine() -> CountingEngine:
    """Counts what goes to a fresh cluster."""
    return CountingEngine(MemoryEngine(FakeCache().core))


async def test_every_request_is_counted_by_its_verb(engine: CountingEngine) -> None:
    await engine.create(CONFIG_MAP, "default", config_map())
    await engine.get(CONFIG_MAP, A)
    await engine.list(CONFIG_MAP, ListOptions())
    await engine.patch(CONFIG_MAP, A, Patch.merge({"data": {"x": "1"}}))
    await engine.update(CONFIG_MAP, A, config_map())
    await engine.discover("", "v1")
    async with engine.watch(CONFIG_MAP, WatchOptions(resource_version="")):
        pass
    await engine.delete(CONFIG_MAP, A)
    assert engine.requests == Counter(create=1, get=1, list=1, patch=1, update=1, discover=1, watch=1, delete=1)
    assert engine.writes == Counter({Target("ConfigMap", A): 4})
    await engine.close()


async def test_a_write_that_is_refused_or_changes_nothing_was_sent_all_the_same(engine: CountingEngine) -> None:
    with pytest.raises(NotFound):
        await engine.patch(CONFIG_MAP, A, Patch.merge({}))
    await engine.create(CONFIG_MAP, "default", config_map())
    await engine.patch(CONFIG_MAP, A, Patch.merge({}))
    assert engine.writes[Target("ConfigMap", A)] == 3


async def test_subresources_are_counted_apart_and_events_are_no_writes(engine: CountingEngine) -> None:
    with pytest.raises(NotFound):
        await engine.patch(CONFIG_MAP, A, Patch.merge({}), subresource="status")
    event = {
        "metadata": {"name": "e", "namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal",
    }  # fmt: skip
    await engine.create(EVENT, "default", EVENT.object(event).raw)
    assert engine.writes == Counter({Target("ConfigMap", A, "status"): 1})
    assert engine.requests == Counter(patch=1, event=1)


async def test_a_generated_name_is_counted_under_its_namespace(engine: CountingEngine) -> None:
    await engine.create(CONFIG_MAP, "default", config_map("", generateName="x-"))
    assert engine.writes == Counter({Target("ConfigMap", Key("default", "")): 1})


def summary(**changes: Any) -> Summary:
    graph, map_ = Target("Graph", Key("ns", "g")), Target("ConfigMap", A)
    values: dict[str, Any] = {
        "stages": (0.94, 2.06),
        "reconciles": 12,
        "requests": Counter(patch=6, create=2),
        "writes": Counter({graph: 1, graph._replace(subresource="status"): 4, map_: 2}),
        "passes": 10,
        "pass_reconciles": 40,
        "pass_writes": Counter(),
    }
    return Summary(**{**values, **changes})


def test_the_summary_counts_objects_and_not_subresources() -> None:
    assert list(summary().lines()) == [
        "ready after 0.9 s, then 2.1 s",
        "12 reconciles, 8 requests (2 create, 6 patch)",
        "7 writes to 2 objects:",
        "  ConfigMap default/a    2",
        "  Graph ns/g             1 + 4 status",
        "10 further passes (40 reconciles) wrote nothing",
    ]
    assert summary().code == 0


def test_writes_of_further_passes_are_told_and_make_the_run_fail() -> None:
    wrote = Counter({Target("Graph", Key("ns", "g"), "status"): 3, Target("ConfigMap", A): 1})
    found = summary(pass_writes=wrote)
    assert list(found.lines())[-3:] == [
        "10 further passes (40 reconciles) wrote 4 times, although nothing had changed:",
        "  1 ConfigMap default/a",
        "  3 Graph ns/g status",
    ]
    assert found.code == 1
