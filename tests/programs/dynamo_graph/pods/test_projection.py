"""G 8.9: what is kept of a Pod, and that nothing is lost by which anybody decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.projection import TextProjection
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_graph.component.drain import drain_changed
from dynamo_graph.pods.crash_loop import crash_loop
from dynamo_graph.pods.indexes import BY_COMPONENT, BY_SELECTOR
from dynamo_graph.pods.mapping import clique_graph_of, crash_loop_moved, deployment_of
from dynamo_graph.pods.projection import slim_pod

AnyPod = Callable[[st.DataObject], dict[str, Any]]
BUDGET = settings(max_examples=80, deadline=None)


@pytest.mark.parametrize("times", [pytest.param(1, id="T-CRASH-29")])
@BUDGET
@given(data=st.data())
def test_a_pod_is_in_the_same_crash_loop_as_what_is_kept_of_it(
    any_pod: AnyPod, times: int, data: st.DataObject
) -> None:
    raw = any_pod(data)
    kept = raw
    for _ in range(times):
        kept = slim_pod(kept)
    assert crash_loop(POD.object(kept)) == crash_loop(POD.object(raw))


@BUDGET
@given(data=st.data())
def test_whatever_watches_and_indexes_decide_they_decide_it_of_what_is_kept(
    any_pod: AnyPod, data: st.DataObject
) -> None:
    raws = any_pod(data), any_pod(data)
    old, new = map(POD.object, raws)
    kept_old, kept_new = (POD.object(slim_pod(raw)) for raw in raws)
    for predicate in (crash_loop_moved, drain_changed):
        assert predicate(Change(kept_old, kept_new)) is predicate(Change(old, new))
    for of in (BY_COMPONENT.values, BY_SELECTOR.values, deployment_of, clique_graph_of):
        assert of(kept_old) == of(old)


@pytest.mark.parametrize("again", [pytest.param(slim_pod, id="T-WATCH-11")])
@BUDGET
@given(data=st.data())
def test_what_is_kept_is_kept_whole(any_pod: AnyPod, again: Any, data: st.DataObject) -> None:
    once = slim_pod(any_pod(data))
    assert again(once) == once


@BUDGET
@given(data=st.data())
def test_a_pod_is_not_changed_by_keeping_some_of_it(any_pod: AnyPod, data: st.DataObject) -> None:
    raw = any_pod(data)
    before = msgspec.json.encode(raw)
    slim_pod(raw)
    assert msgspec.json.encode(raw) == before


@BUDGET
@given(data=st.data())
def test_who_a_pod_is_and_whose_is_kept_whole(any_pod: AnyPod, data: st.DataObject) -> None:
    raw = any_pod(data)
    kept = slim_pod(raw)
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    assert (kept["apiVersion"], kept["kind"], kept["metadata"]) == ("v1", "Pod", metadata)


END = {"exitCode": 137, "reason": "OOMKilled", "message": "m", "finishedAt": "2026-01-02T03:04:05Z", "signal": 9}
DOWN = {
    "ready": False,
    "image": "i",
    "imageID": "x",
    "started": False,
    "containerID": "c",
    "restartCount": 4,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
    "lastState": {"terminated": END},
}
KEPT_DOWN = {
    "restartCount": 4,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
}
WHOLE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "ns", "managedFields": [{"manager": "kubelet"}], "annotations": {"a": "b"}},
    "spec": {
        "nodeName": "n",
        "schedulerName": "s",
        "tolerations": [{"key": "k"}],
        "containers": [
            {"name": "main", "image": "i", "command": ["c"], "args": ["a"], "env": [{"name": "A"}], "resources": {}},
            {"name": "proxy", "image": "i", "livenessProbe": {}, "volumeMounts": []},
        ],
        "initContainers": [
            {"name": "setup", "image": "i", "command": ["c"]},
            {"name": "gms-server", "image": "i", "restartPolicy": "Always", "command": ["c"]},
        ],
        "volumes": [
            {"name": "c", "configMap": {"name": "cm", "defaultMode": 420, "items": [{"key": "k", "path": "p"}]}},
            {
                "name": "d",
                "downwardAPI": {
                    "defaultMode": 292,
                    "items": [
                        {"path": "n", "mode": 256, "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                        {"path": "cpu", "resourceFieldRef": {"resource": "limits.cpu"}},
                    ],
                },
            },
            {"name": "e", "emptyDir": {}},
        ],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "m"},
            {"type": "ContainersReady", "status": "False"},
            {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "m"},
        ],
        "containerStatuses": [
            {"name": "main", "restartCount": 0, "ready": True, "state": {"running": {"startedAt": "t"}}},
            {"name": "proxy", **DOWN},
        ],
        "initContainerStatuses": [{"name": "setup", **DOWN}],
    },
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param("containerStatuses", {"name": "proxy", **KEPT_DOWN}, id="T-WATCH-12 second sidecar"),
        pytest.param("initContainerStatuses", {"name": "setup", **KEPT_DOWN}, id="T-WATCH-12 any init container"),
    ],
)
def test_how_often_a_container_started_and_how_it_ended_is_kept(where: str, expected: dict[str, Any]) -> None:
    assert slim_pod(WHOLE)["status"][where][-1] == expected


@pytest.mark.parametrize("whole", [pytest.param(WHOLE, id="T-WATCH-13")])
def test_nothing_else_is_kept(whole: dict[str, Any]) -> None:
    assert slim_pod(whole) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "annotations": {"a": "b"}},
        "spec": {
            "nodeName": "n",
            "schedulerName": "s",
            "containers": [{"name": "main", "command": ["c"], "args": ["a"]}, {"name": "proxy"}],
            "initContainers": [{"name": "gms-server", "restartPolicy": "Always"}],
            "volumes": [
                {"name": "c", "configMap": {"name": "cm"}},
                {
                    "name": "d",
                    "downwardAPI": {
                        "defaultMode": 292,
                        "items": [
                            {"path": "n", "mode": 256, "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
                        ],
                    },
                },
            ],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "False"},
                {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
            ],
            "containerStatuses": [{"name": "main", "restartCount": 0}, {"name": "proxy", **KEPT_DOWN}],
            "initContainerStatuses": [{"name": "setup", **KEPT_DOWN}],
        },
    }


def test_the_cache_keeps_it_without_decoding_the_rest() -> None:
    kept = Intake(POD, slim_pod).read(msgspec.json.encode(WHOLE))
    assert kept is not None
    assert kept.content() == slim_pod(WHOLE)
    assert isinstance(slim_pod, TextProjection)


@pytest.mark.parametrize("text", ["{}", '{"spec":null,"status":null}', '{"metadata":{}}'])
def test_a_pod_that_says_next_to_nothing_is_kept(text: str) -> None:
    slim_pod(msgspec.json.decode(text))
