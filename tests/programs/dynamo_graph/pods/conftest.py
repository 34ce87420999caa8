"""Pods as a kube-apiserver could send them, for property tests of what is kept of them and what is read from that.

Every field may be there or not; but about every third Pod is in a crash loop, so that the properties are about those too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

Tree = dict[str, Any]
AT = "2026-01-02T03:04:05Z"
REASONS = st.sampled_from(["", "Error", "OOMKilled", "Completed", "CrashLoopBackOff", "ImagePullBackOff"])
NAMES = st.sampled_from(["main", "proxy", "gms-server", "setup"])
LABELS = st.dictionaries(
    st.sampled_from(["nvidia.com/selector", "nvidia.com/dynamo-graph-deployment-name", "nvidia.com/dynamo-component"]),
    st.sampled_from(["", "g", "decode", "g-decode"]),
)


def fields(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries(required, optional=optional)


TERMINATED = fields(
    {"exitCode": st.sampled_from([1, 2, 137, 0])},
    reason=REASONS,
    message=st.text(max_size=3),
    startedAt=st.just(AT),
    finishedAt=st.just(AT),
    signal=st.just(9),
    containerID=st.just("containerd://x"),
)
STATE: st.SearchStrategy[Tree] = st.one_of(
    st.just({}),
    fields({"running": fields({}, startedAt=st.just(AT))}),
    fields({"waiting": fields({}, reason=REASONS, message=st.text(max_size=3))}),
    fields({"terminated": TERMINATED}),
)
ANY_CONTAINER = fields(
    {"name": NAMES, "ready": st.booleans(), "restartCount": st.integers(0, 4), "image": st.just("i")},
    imageID=st.just("sha256:x"),
    state=STATE,
    lastState=STATE,
    started=st.booleans(),
    allocatedResources=st.just({"cpu": "1"}),
    volumeMounts=st.just([{"name": "v", "mountPath": "/v"}]),
)
DOWN_CONTAINER = fields(
    {
        "name": NAMES,
        "ready": st.just(False),
        "restartCount": st.integers(2, 4),
        "state": st.fixed_dictionaries({"waiting": fields({}, reason=REASONS)}),
        "lastState": st.fixed_dictionaries({"terminated": TERMINATED}),
    }
)
CONTAINERS = st.lists(st.one_of(ANY_CONTAINER, DOWN_CONTAINER), max_size=3, unique_by=lambda each: each["name"])
CONDITION = fields(
    {
        "type": st.sampled_from(
            ["PodScheduled", "Ready", "ContainersReady", "DisruptionTarget", "nvidia.com/snapshot-restored"]
        ),
        "status": st.sampled_from(["False", "True", "Unknown"]),
    },
    reason=REASONS,
    message=st.text(max_size=3),
    lastProbeTime=st.none(),
    lastTransitionTime=st.just(AT),
)
ANY_STATUS = fields(
    {},
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
    conditions=st.lists(CONDITION, max_size=4, unique_by=lambda each: each["type"]),
    containerStatuses=CONTAINERS,
    initContainerStatuses=CONTAINERS,
    ephemeralContainerStatuses=CONTAINERS,
    qosClass=st.just("BestEffort"),
    podIP=st.just("10.0.0.1"),
    hostIP=st.just("10.1.0.1"),
    startTime=st.just(AT),
)
LOOPING_STATUS = fields(
    {"phase": st.sampled_from(["Running", "Pending"]), "containerStatuses": st.lists(DOWN_CONTAINER, min_size=1)},
    conditions=st.sampled_from(["False", "True"]).map(lambda status: [{"type": "Ready", "status": status}]),
    initContainerStatuses=CONTAINERS,
)
CONTAINER = fields(
    {"name": NAMES, "image": st.just("i")},
    command=st.lists(st.text(max_size=3), max_size=2),
    args=st.lists(st.text(max_size=3), max_size=2),
    env=st.just([{"name": "A", "value": "b"}]),
    resources=st.just({"limits": {"cpu": "1"}}),
    livenessProbe=st.just({"httpGet": {"port": 1}}),
    volumeMounts=st.just([{"name": "v", "mountPath": "/v"}]),
    restartPolicy=st.just("Always"),
)
ITEM = st.one_of(
    fields(
        {"path": st.just("p"), "fieldRef": fields({"fieldPath": st.just("metadata.name")}, apiVersion=st.just("v1"))},
        mode=st.just(256),
    ),
    st.just({"path": "cpu", "resourceFieldRef": {"resource": "limits.cpu"}}),
)
VOLUME = st.one_of(
    st.just({"name": "v", "configMap": {"name": "c", "defaultMode": 420, "items": [{"key": "k", "path": "p"}]}}),
    st.just({"name": "v", "emptyDir": {}}),
    st.just({"name": "v", "secret": {"secretName": "s"}}),
    fields(
        {
            "name": st.just("v"),
            "downwardAPI": fields({}, defaultMode=st.just(420), items=st.lists(ITEM, max_size=2)),
        }
    ),
)
SPEC = fields(
    {"containers": st.lists(CONTAINER, min_size=1, max_size=2, unique_by=lambda each: each["name"])},
    initContainers=st.lists(CONTAINER, max_size=2, unique_by=lambda each: each["name"]),
    volumes=st.lists(VOLUME, max_size=3),
    nodeName=st.just("node-1"),
    schedulerName=st.just("default-scheduler"),
    tolerations=st.just([{"key": "k"}]),
    serviceAccountName=st.just("default"),
)
IDENTITY: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["p", "q"]),
    "namespace": st.just("ns"),
    "uid": st.just("u"),
    "resourceVersion": st.just("7"),
}
LIVING = fields(
    IDENTITY,
    labels=LABELS,
    annotations=st.just({"a": "b"}),
    finalizers=st.just(["example.com/f"]),
    creationTimestamp=st.just(AT),
    managedFields=st.just([{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}]),
    ownerReferences=st.just(
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]
    ),
)
DYING = st.fixed_dictionaries({**IDENTITY, "deletionTimestamp": st.just(AT), "deletionGracePeriodSeconds": st.just(30)})
PODS = fields(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.one_of(LIVING, DYING),
        "spec": SPEC,
        "status": st.one_of(ANY_STATUS, LOOPING_STATUS),
    }
)


@pytest.fixture(scope="session")
def any_pod() -> Callable[[st.DataObject], Tree]:
    """Draws the content of any Pod: `any_pod(data)`."""
    return lambda data: data.draw(PODS)
