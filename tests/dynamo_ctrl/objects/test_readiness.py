"""When an object counts as ready, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SERVICE
from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.readiness import Readiness, readiness
from dynamo_ctrl.testing.widget import WIDGET

UNDECIDED = "its status has no Ready or Available condition"


def judged(kind: Kind[Any], generation: int = 1, **content: Any) -> Readiness:
    metadata = {"name": "a", "namespace": "ns", "generation": generation, **content.pop("metadata", {})}
    return readiness(kind.object({"metadata": metadata, **content}))


def condition(type_: str, status: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z", **more}


@pytest.mark.parametrize("kind", [DEPLOYMENT, POD, CONFIG_MAP, WIDGET])
def test_what_is_being_deleted_is_not_ready(kind: Kind[Any]) -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert judged(kind, metadata=leaving, status={"conditions": [condition("Ready", "True")]}) == Readiness(
        False, "being deleted"
    )


@pytest.mark.parametrize(
    ("spec", "status", "ready", "text"),
    [
        ({}, {}, False, "0/1 ready, a change is not seen yet"),
        ({"replicas": 2}, {"observedGeneration": 1}, False, "0/2 ready, a change is not seen yet"),
        ({"replicas": 2}, {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2}, False, "0/2 ready"),
        (
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2},
            False,
            "2/2 ready, 1 up to date, 2 old",
        ),
        (
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "readyReplicas": 3, "availableReplicas": 3},
            False,
            "3/2 ready, 2 up to date, 1 old",
        ),
        (
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1},
            False,
            "0/2 ready, 1 up to date",
        ),
        (
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 1},
            False,
            "2/2 ready",
        ),
        (
            {"replicas": 2},
            {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2},
            True,
            "2/2 ready",
        ),
        ({"replicas": 0}, {"observedGeneration": 2}, True, "0/0 ready"),
    ],
)
def test_a_deployment_is_ready_when_its_rollout_is_over(spec: Any, status: Any, ready: bool, text: str) -> None:
    assert judged(DEPLOYMENT, 2, spec=spec, status=status) == Readiness(ready, text)


def test_a_deployment_tells_why_its_pods_are_refused_while_it_is_not_ready() -> None:
    refusal = condition("ReplicaFailure", "True", reason="FailedCreate", message="no account")
    waiting = {"observedGeneration": 1, "conditions": [refusal]}
    assert judged(DEPLOYMENT, status=waiting) == Readiness(False, "0/1 ready, 0 up to date: no account")
    over = {**waiting, "conditions": [{**refusal, "status": "False"}]}
    assert judged(DEPLOYMENT, status=over) == Readiness(False, "0/1 ready, 0 up to date")
    full = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
    assert judged(DEPLOYMENT, status={**waiting, **full}) == Readiness(True, "1/1 ready")


def test_a_pod_that_no_node_takes_tells_why() -> None:
    unscheduled = condition("PodScheduled", "False", reason="Unschedulable", message="0/3 nodes are available")
    status = {"phase": "Pending", "conditions": [unscheduled]}
    assert judged(POD, status=status) == Readiness(False, "Pending: 0/3 nodes are available")


def test_a_replica_set_is_ready_when_it_has_what_it_wants() -> None:
    full = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    assert judged(REPLICA_SET, spec={"replicas": 2}, status=full) == Readiness(True, "2/2 ready")
    assert judged(REPLICA_SET, spec={"replicas": 1}, status=full) == Readiness(False, "2/1 ready")
    assert judged(REPLICA_SET, spec={}, status={}) == Readiness(False, "0/1 ready")


@pytest.mark.parametrize(
    ("status", "ready", "text"),
    [
        ({}, False, "Pending"),
        ({"phase": "Running", "conditions": [condition("Ready", "False")]}, False, "Running"),
        ({"phase": "Running", "conditions": [condition("Ready", "True")]}, True, "Running, ready"),
        ({"phase": "Succeeded", "conditions": [condition("Ready", "False")]}, True, "Succeeded"),
        ({"phase": "Failed"}, False, "Failed"),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {"name": "side", "ready": True, "state": {"running": {}}},
                    {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
                ],
            },
            False,
            "Running, main: CrashLoopBackOff",
        ),
        (
            {
                "phase": "Pending",
                "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}],
            },
            False,
            "Pending",
        ),
    ],
)
def test_a_pod_is_ready_by_its_condition(status: Any, ready: bool, text: str) -> None:
    assert judged(POD, status=status) == Readiness(ready, text)


@pytest.mark.parametrize(
    ("status", "ready", "text"),
    [
        (None, False, "no status yet"),
        ({"phase": "Ready"}, False, UNDECIDED),
        ({}, False, "no status yet"),
        ({"conditions": None}, False, UNDECIDED),
        ({"conditions": [condition("Other", "True")]}, False, UNDECIDED),
        ({"conditions": [condition("Ready", "True", message="fine", reason="r")]}, True, "fine"),
        ({"conditions": [condition("Ready", "False", reason="why")]}, False, "why"),
        ({"conditions": [condition("Ready", "Unknown", message="?")]}, False, "?"),
        ({"conditions": [condition("Available", "True")]}, True, ""),
        ({"conditions": [condition("Available", "True"), condition("Ready", "False", message="no")]}, False, "no"),
        ({"observedGeneration": 2, "conditions": [condition("Ready", "True")]}, False, "generation 3 is not seen yet"),
        ({"observedGeneration": 3, "conditions": [condition("Ready", "True")]}, True, ""),
        ({"observedGeneration": 2, "conditions": [condition("Ready", "False", message="old")]}, False,
         "generation 3 is not seen yet"),
        ({"observedGeneration": 2, "conditions": [condition("Ready", "False", message="bad", observedGeneration=3)]},
         False, "bad"),
        ({"observedGeneration": 3, "conditions": [condition("Ready", "True", observedGeneration=2)]}, False,
         "generation 3 is not seen yet"),
        ({"observedGeneration": 2, "conditions": [condition("Ready", "True", observedGeneration=3)]}, False,
         "generation 3 is not seen yet"),
    ],
)  # fmt: skip
def test_a_custom_resource_is_judged_by_its_conditions(status: Any, ready: bool, text: str) -> None:
    content = {} if status is None else {"status": status}
    assert judged(WIDGET, 3, **content) == Readiness(ready, text)


@pytest.mark.parametrize(
    ("spec", "status", "ready", "text"),
    [
        ({"replicas": 4}, {"replicas": 4, "selector": "a=b"}, True, "4/4 replicas"),
        ({"replicas": 4}, {"replicas": 2, "selector": "a=b"}, False, "2/4 replicas"),
        ({"replicas": 0}, {"replicas": 0}, True, "0/0 replicas"),
        ({"replicas": 4}, {"selector": "a=b"}, False, UNDECIDED),
        ({"replicas": 4}, {"replicas": 4, "conditions": []}, False, UNDECIDED),
        ({}, {"replicas": 4}, False, UNDECIDED),
    ],
)
def test_a_custom_resource_that_only_counts_is_judged_by_its_count(
    spec: Any, status: Any, ready: bool, text: str
) -> None:
    assert judged(WIDGET, spec=spec, status=status) == Readiness(ready, text)


@pytest.mark.parametrize("kind", [CONFIG_MAP, SERVICE])
def test_what_has_no_conditions_is_ready_when_it_is_there(kind: Kind[Any]) -> None:
    assert judged(kind) == Readiness(True, "there")


def test_a_built_in_kind_with_conditions_is_judged_by_them() -> None:
    assert judged(CUSTOM_RESOURCE_DEFINITION).ready
    assert not judged(SERVICE, status={"conditions": [condition("Ready", "False")]}).ready
