"""The Pods of `peers/controller_runtime/objects.go`, for measurements without a server."""

from __future__ import annotations

from typing import Any

SEEDED = "2026-01-02T03:04:05Z"


def name(i: int) -> str:
    return f"pod-{i:06d}"


def app(i: int) -> str:
    """The label value and index value of a Pod: ten Pods have the same."""
    return f"app-{i // 10}"


def pod(i: int) -> dict[str, Any]:
    """As a user creates it."""
    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app(i)}-7d4b9c6f5",
        "uid": f"00000000-0000-4000-8000-{i // 10:012d}", "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    env = {"GRAPH": f"graph-{i // 100}", "COMPONENT": f"component-{i % 10}", "LOG_LEVEL": "info"}
    container = {
        "name": "main", "image": "images.example.com/team/worker:1.4.2",
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "env": [{"name": key, "value": value} for key, value in env.items()],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
    }  # fmt: skip
    labels = {
        "app": app(i), "bench.example.com/component": f"component-{i % 10}", "bench.example.com/graph": f"graph-{i // 100}",
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name(i), "namespace": "bench", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [container], "nodeName": f"node-{i % 100}"},
    }  # fmt: skip


def served(i: int, version: int) -> dict[str, Any]:
    """As the server answers it at that resourceVersion, defaults and status included: 2.3 KB."""
    content = pod(i)
    metadata = {
        "name": name(i), "namespace": "bench", "uid": f"11111111-0000-4000-8000-{i:012d}", "resourceVersion": str(version),
        "generation": 1, "creationTimestamp": SEEDED, **content["metadata"],
    }  # fmt: skip
    container = content["spec"]["containers"][0]
    container |= {
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }  # fmt: skip
    spec = {
        "containers": [container], "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst", "nodeName": content["spec"]["nodeName"], "securityContext": {},
        "schedulerName": "default-scheduler", "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0, "tolerations": [
            {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for taint in ("not-ready", "unreachable")
        ],
    }  # fmt: skip
    conditions = [
        {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": SEEDED}
        for type_ in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    status = {
        "phase": "Running", "conditions": conditions, "hostIP": "192.168.0.1",
        "podIP": f"10.{i // 65536}.{i // 256 % 256}.{i % 256}", "startTime": SEEDED, "qosClass": "Burstable",
        "containerStatuses": [{
            "name": "main", "state": {"running": {"startedAt": SEEDED}}, "lastState": {}, "ready": True, "restartCount": 0,
            "image": "images.example.com/team/worker:1.4.2", "started": True,
            "imageID": "images.example.com/team/worker@sha256:9b2a7c5e", "containerID": f"containerd://{i:032x}",
        }],
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
