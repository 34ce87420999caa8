"""Workloads beside Deployments: what the server fills in, and selectors that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.memory.kinds import workloads
from dynamo_ctrl.engine.memory.served import Strategy

Tree = dict[str, Any]
LABELS = {"app": "a"}


def workload(**spec: Any) -> Tree:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": "w", "uid": "u"}, "spec": {"template": template, **spec}}


def admitted(strategy: Strategy, **spec: Any) -> Tree:
    tree = workload(**spec)
    strategy.admit(tree)
    once = repr(tree)
    strategy.admit(tree)
    assert repr(tree) == once, "what was filled in stays"
    return tree


def test_a_stateful_set_rolls_in_order_and_keeps_its_claims() -> None:
    tree = admitted(workloads.STATEFUL_SET)
    spec = tree["spec"]
    assert (spec["replicas"], spec["podManagementPolicy"], spec["revisionHistoryLimit"]) == (1, "OrderedReady", 10)
    assert spec["updateStrategy"] == {
        "type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1},
    }  # fmt: skip
    assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert tree["status"] == {"replicas": 0, "availableReplicas": 0}
    on_delete = admitted(workloads.STATEFUL_SET, updateStrategy={"type": "OnDelete"})
    assert on_delete["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_a_daemon_set_replaces_one_pod_at_a_time() -> None:
    tree = admitted(workloads.DAEMON_SET)
    assert tree["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    assert tree["status"]["numberReady"] == 0
    on_delete = admitted(workloads.DAEMON_SET, updateStrategy={"type": "OnDelete"})
    assert "rollingUpdate" not in on_delete["spec"]["updateStrategy"]


def test_a_job_selects_its_pods_by_its_uid() -> None:
    tree = admitted(workloads.JOB)
    workloads.JOB.create(tree)
    spec = tree["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    for metadata in (tree["metadata"], spec["template"]["metadata"]):
        assert metadata["labels"]["batch.kubernetes.io/controller-uid"] == "u"
        assert metadata["labels"]["batch.kubernetes.io/job-name"] == "w"
    assert spec["template"]["metadata"]["labels"]["app"] == "a", "what was there stays"


def test_a_job_with_a_selector_of_its_own_keeps_it() -> None:
    tree = admitted(workloads.JOB, manualSelector=True, selector={"matchLabels": LABELS})
    workloads.JOB.create(tree)
    assert tree["spec"]["selector"] == {"matchLabels": LABELS}
    assert "labels" not in tree["metadata"]


def test_a_cron_job_keeps_a_little_history() -> None:
    tree: Tree = {"spec": {"schedule": "@daily", "jobTemplate": {"spec": workload()["spec"]}}}
    workloads.CRON_JOB.admit(tree)
    spec = tree["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert spec["jobTemplate"]["metadata"] == {}


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"selector": {"matchLabels": LABELS}}, []),
        ({"selector": {"matchLabels": LABELS}, "replicas": -1}, ["spec.replicas"]),
        ({}, ["spec.selector", "spec.template.metadata.labels"]),
        ({"selector": {}}, ["spec.selector"]),
        ({"selector": {"matchLabels": {"app": "b"}}}, ["spec.template.metadata.labels"]),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "Sometimes"}]}},
            ["spec.template.metadata.labels"],
        ),
    ],
)
def test_selectors(spec: Tree, fields: list[str]) -> None:
    tree = admitted(workloads.REPLICA_SET, **spec)
    assert [error.field for error in workloads.REPLICA_SET.validate(tree, None)] == fields


def test_a_selector_never_changes() -> None:
    old = admitted(workloads.REPLICA_SET, selector={"matchLabels": LABELS})
    new = admitted(workloads.REPLICA_SET, selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    assert [error.field for error in workloads.REPLICA_SET.validate(new, old)] == ["spec.selector"]
