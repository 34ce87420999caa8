"""The status of a Pod, from where its containers are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from data_plane.conditions import Conditions, Stamp, refreshed, to_json
from data_plane.pod_life import CRASH_LOOP, IMAGE_PULL, Life
from dynamo_ctrl.objects.builtin.core import Container, Pod
from dynamo_ctrl.objects.conditions import rfc3339
from dynamo_ctrl.objects.frozen import JsonMap

POD_NETWORK: Final = "10.244"
"""The first half of every Pod's address."""


def unscheduled_status(pod: Pod, why: str, now: datetime) -> JsonMap:
    """The status of a Pod that no node takes."""
    condition = Stamp(now).condition("PodScheduled", "False", "Unschedulable", why)
    return {**_known(pod), "phase": "Pending", "conditions": to_json(refreshed(pod.status.conditions, condition))}


def scheduled_status(pod: Pod, life: Life, now: datetime) -> JsonMap:
    """The status of a Pod that a node has taken."""
    known = _known(pod)
    status = {
        **known,
        "phase": "Pending" if life.state == "image" else "Running",
        "startTime": known.get("startTime") or rfc3339(now),
        "conditions": to_json(_conditions(pod, life, now)),
        "containerStatuses": [_container(each, life, known) for each in pod.spec.containers],
    }
    if pod.spec.init_containers:
        started = datetime.fromisoformat(status["startTime"])
        status["initContainerStatuses"] = [_init_container(each, started) for each in pod.spec.init_containers]
    if life.state != "image":
        address = pod_address(pod.metadata.uid)
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    return status


def pod_address(uid: str) -> str:
    """An address for the Pod with that uid, always the same one."""
    third, fourth = hashlib.sha256(uid.encode()).digest()[:2]
    return f"{POD_NETWORK}.{third}.{fourth}"


def _known(pod: Pod) -> dict[str, Any]:
    known: dict[str, Any] = msgspec.json.decode(pod.section("status") or b"{}") or {}
    return known


def _conditions(pod: Pod, life: Life, now: datetime) -> Conditions:
    stamp = Stamp(now)
    conditions = refreshed(pod.status.conditions, stamp.condition("PodScheduled", "True", ""))
    conditions = refreshed(conditions, stamp.condition("Initialized", "True", ""))
    if life.state == "ready":
        both: Sequence[Any] = [stamp.condition(type_, "True", "") for type_ in ("ContainersReady", "Ready")]
    else:
        names = " ".join(container.name for container in pod.spec.containers)
        text = f"containers with unready status: [{names}]"
        both = [stamp.condition(type_, "False", "ContainersNotReady", text) for type_ in ("ContainersReady", "Ready")]
    for condition in both:
        conditions = refreshed(conditions, condition)
    return conditions


def _container(container: Container, life: Life, known: JsonMap) -> JsonMap:
    statuses: Sequence[JsonMap] = known.get("containerStatuses") or ()
    before: JsonMap = next((each for each in statuses if each["name"] == container.name), {})
    status: dict[str, Any] = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": life.state == "ready",
        "started": life.state in ("running", "ready"),
        "restartCount": life.restarts,
        "state": _state(container, life),
    }
    if life.state == "crashed":
        status["lastState"] = {"terminated": _ended(1, "Error", life.started or life.since, life.since)}
    elif before.get("lastState"):
        status["lastState"] = before["lastState"]
    return status


def _state(container: Container, life: Life) -> JsonMap:
    match life.state:
        case "image":
            text = f'Back-off pulling image "{container.image}"'
            return {"waiting": {"reason": IMAGE_PULL, "message": text}}
        case "crashed":
            return {"waiting": {"reason": CRASH_LOOP, "message": "back-off restarting failed container"}}
        case _:
            return {"running": {"startedAt": rfc3339(life.since)}}


def _init_container(container: Container, started: datetime) -> JsonMap:
    """Init containers end well at once; sidecars (those that restart always) run on."""
    sidecar = container.restart_policy == "Always"
    running = {"running": {"startedAt": rfc3339(started)}}
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": True,
        "started": sidecar,
        "restartCount": 0,
        "state": running if sidecar else {"terminated": _ended(0, "Completed", started, started)},
    }


def _ended(code: int, reason: str, started: datetime, finished: datetime) -> Mapping[str, Any]:
    return {"exitCode": code, "reason": reason, "startedAt": rfc3339(started), "finishedAt": rfc3339(finished)}
