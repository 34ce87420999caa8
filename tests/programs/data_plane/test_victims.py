"""Which Pods go first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from data_plane.annotations import DELETION_COST
from data_plane.victims import victims
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.conditions import rfc3339

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def pod(
    name: str,
    *,
    node: str = "a",
    phase: str = "Running",
    ready_for: float | None = 1000,
    age: float = 2000,
    restarts: int = 0,
    cost: str | None = None,
    uid: str = "",
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": uid or name}
    metadata["creationTimestamp"] = rfc3339(NOW - timedelta(seconds=age))
    if cost is not None:
        metadata["annotations"] = {DELETION_COST: cost}
    condition: dict[str, Any] = {"type": "Ready", "status": "False" if ready_for is None else "True"}
    condition["lastTransitionTime"] = rfc3339(NOW - timedelta(seconds=ready_for or 0))
    status = {
        "phase": phase,
        "conditions": [condition],
        "containerStatuses": [{"name": "main", "restartCount": restarts}],
    }
    return POD.object({"metadata": metadata, "spec": {"nodeName": node}, "status": status})


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [each.metadata.name for each in pods]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("z", node=""), pod("a", ready_for=None)),
        (pod("z", phase="Pending", ready_for=None, cost="5"), pod("a", ready_for=None, cost="1")),
        (pod("z", ready_for=None, cost="9"), pod("a", cost="0")),
        (pod("z", cost="-1", age=9000), pod("a", age=1)),
        (pod("z", ready_for=10), pod("a", ready_for=1000)),
        (pod("z", restarts=3, age=9000), pod("a", restarts=1)),
        (pod("z", age=3000), pod("a", age=90000)),
        (pod("z", ready_for=1000, uid="1"), pod("a", ready_for=1001, uid="2")),
    ],
    ids=[
        "without a node",
        "not running yet",
        "not ready",
        "cheaper",
        "ready for a shorter time",
        "restarted more often",
        "younger",
        "about as old: the uid decides",
    ],
)
def test_the_first_goes_before_the_second(first: Pod, second: Pod) -> None:
    assert names(victims([second, first], 1, related=[first, second], now=NOW)) == ["z"]
    assert names(victims([first, second], 1, related=[first, second], now=NOW)) == ["z"]


def test_a_crowded_node_gives_first() -> None:
    pods = [pod("a", node="empty"), pod("z", node="full")]
    related = [*pods, pod("other", node="full")]
    assert names(victims(pods, 1, related=related, now=NOW)) == ["z"]


def test_a_cost_that_is_no_number_counts_as_none() -> None:
    pods = [pod("a", cost="dear", ready_for=10), pod("z", cost="0", ready_for=100000)]
    assert names(victims(pods, 1, related=pods, now=NOW)) == ["a"]


def test_if_all_must_go_all_go() -> None:
    pods = [pod("a"), pod("b")]
    assert names(victims(pods, 5, related=pods, now=NOW)) == ["a", "b"]
