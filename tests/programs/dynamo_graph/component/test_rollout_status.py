"""G 3.6.6: the numbers of components of which several generations run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_graph.api.graph_status import ComponentReplicaStatus
from dynamo_graph.component.rollout_status import merged

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.component.conftest import MakeWorker

NEW = ComponentReplicaStatus(
    component_kind="Deployment",
    component_names=("w-new",),
    replicas=1,
    updated_replicas=1,
    runtime_namespace="ns-g-new",
)


@pytest.mark.parametrize("ready", [pytest.param(2, id="T-ROLL-72")])
def test_old_numbers_are_added_to_new_ones(worker: MakeWorker, ready: int) -> None:
    old = worker("a-old", replicas=2, available=ready, runtimeNamespace="ns-g-old", updatedReplicas=2)
    found = merged({"decode": NEW}, [old], {})["decode"]
    assert (found.replicas, found.updated_replicas, found.ready_replicas) == (3, 1, 2)
    assert found.component_names == ("a-old", "w-new")
    assert found.runtime_namespace == "ns-g-old"


@pytest.mark.parametrize("there", [pytest.param(True, id="T-ROLL-73")])
def test_a_component_that_is_only_old_has_nothing_new(worker: MakeWorker, there: bool) -> None:
    found = merged({}, [worker("a-old", replicas=2, updatedReplicas=2)], {})
    assert ("decode" in found) is there
    assert (found["decode"].replicas, found["decode"].updated_replicas) == (2, 0)


def test_absent_and_absent_stays_absent(worker: MakeWorker) -> None:
    old = worker("a", kind="LeaderWorkerSet", readyReplicas=None)
    found = merged({"decode": NEW}, [old], {})["decode"]
    assert (found.ready_replicas, found.available_replicas) == (None, None)


@pytest.mark.parametrize(
    ("sizes", "namespace"),
    [
        ({"a": 1, "b": 1}, "of-b"),
        ({"a": 1, "b": 0}, "of-a"),
        ({"a": 0, "b": 0}, "of-b"),
        ({}, "of-b"),
    ],
    ids=["the newest", "the newest that keeps something", "the newest of those that go", "no sizes yet"],
)
def test_routers_look_where_the_newest_old_generation_still_serves(
    worker: MakeWorker, sizes: dict[str, int], namespace: str
) -> None:
    olds = [
        worker("a", age=2, runtimeNamespace="of-a", gpusPerEngine=1),
        worker("b", age=1, runtimeNamespace="of-b", gpusPerEngine=2),
    ]
    found = merged({}, olds, {old: sizes[old.name] for old in olds if old.name in sizes})["decode"]
    assert found.runtime_namespace == namespace
    assert found.component_names == ("a", "b")
    assert found.gpus_per_engine == 2


def test_old_generations_that_have_said_nothing_change_nothing(worker: MakeWorker) -> None:
    assert merged({"decode": NEW}, [worker("a", status=False)], {}) == {"decode": NEW}
    assert merged({}, [worker("a", status=False)], {}) == {}


def test_components_come_sorted(worker: MakeWorker) -> None:
    found = merged({"z": NEW, "m": NEW}, [worker("a", "b")], {})
    assert list(found) == ["b", "m", "z"]


def test_an_empty_namespace_hides_nothing(worker: MakeWorker) -> None:
    more: dict[str, Any] = {"runtimeNamespace": ""}
    assert merged({"decode": NEW}, [worker("a", **more)], {})["decode"].runtime_namespace == "ns-g-new"
