"""Pods in a line, as the worked cases of the spec write them, for tests.

    pod("main:2:waiting:1")        restarted twice, down again, last exit code 1
    pod("main:5:running", ready=True)

A container is `name:restarts:state[:exit code[:reason]]`, the state `running`, `waiting`, `terminated` or `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dynamo_ctrl.objects.builtin.apps import REPLICA_SET, ReplicaSet
from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_graph.api.names import Label

NAMESPACE: Final = "ns"
_AT: Final = "2026-01-02T03:04:05Z"
_GROUPS: Final = {"ReplicaSet": "apps/v1", "PodClique": "grove.io/v1alpha1", "StatefulSet": "apps/v1"}


def container_status(text: str) -> dict[str, Any]:
    """The status of a container."""
    name, restarts, kind, *end = text.split(":")
    ended = {"terminated": {"exitCode": int(end[0]), "reason": ":".join(end[1:]) or "Error"}} if end else {}
    states: dict[str, Any] = {
        "running": {"running": {"startedAt": _AT}},
        "waiting": {"waiting": {"reason": "CrashLoopBackOff" if end else "ImagePullBackOff", "message": "back-off"}},
        "terminated": ended,
        "unknown": {},
    }
    status = {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": int(restarts)}
    return {**status, "state": states[kind], **({"lastState": ended} if kind != "terminated" else {})}


def pod_status(
    *containers: str, init: Iterable[str] = (), phase: str = "Running", ready: bool | None = False
) -> dict[str, Any]:
    """The status of a Pod; `ready=None` leaves the condition out."""
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": _AT}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": str(ready), "lastTransitionTime": _AT})
    return {
        "phase": phase,
        "conditions": conditions,
        "initContainerStatuses": [container_status(each) for each in init],
        "containerStatuses": [container_status(each) for each in containers],
    }


def replica_set(name: str = "r") -> ReplicaSet:
    """A ReplicaSet to which Pods can belong in a world in which what has no owner is collected."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return REPLICA_SET.object({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


def pod(
    *containers: str,
    name: str = "p",
    owner: str | Object[Any, Any] | None = "ReplicaSet",
    selector: str | None = "g-decode",
    graph: str | None = "g",
    component: str | None = "decode",
    labels: dict[str, str] | None = None,
    init: Iterable[str] = (),
    phase: str = "Running",
    ready: bool | None = False,
    **metadata: Any,
) -> Pod:
    """A Pod of a worker; `owner` is its controller, or only the kind of it where nobody collects what has no owner."""
    known = {Label.SELECTOR: selector, Label.GRAPH: graph, Label.COMPONENT: component, Label.COMPONENT_TYPE: "decode"}
    found = {key: value for key, value in known.items() if value is not None} | (labels or {})
    if isinstance(owner, Object):
        metadata["ownerReferences"] = [msgspec.to_builtins(owner_reference(owner))]
    elif owner is not None:
        reference = {"apiVersion": _GROUPS[owner], "kind": owner, "name": "owner", "uid": "u-owner", "controller": True}
        metadata["ownerReferences"] = [reference]
    return POD.object(
        {
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": found, **metadata},
            "spec": {"containers": [{"name": text.split(":")[0], "image": "i"} for text in containers]},
            "status": pod_status(*containers, init=init, phase=phase, ready=ready),
        }
    )
