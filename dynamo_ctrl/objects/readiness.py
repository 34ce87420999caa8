"""When an object counts as ready, and what to say of it.

The rule reads nothing but the object. What is being deleted is not ready, nor is what has not seen its current generation. Then:

- A Deployment or a ReplicaSet is ready when all replicas that it wants are there, up to date and available, and no others.
- A Pod is ready by its `Ready` condition, or when it has succeeded.
- Of anything else the `Ready` condition decides, then `Available`. A custom resource that has a status of its own is not ready
  without one of them, unless it only counts: a status that has replicas and no conditions is ready when it has what the spec
  wants. Anything else without conditions is ready as soon as it exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from dynamo_ctrl.objects.builtin.apps import Deployment, ReplicaSet
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.objects.object import Object

_DECISIVE = ("Ready", "Available")
_UNDECIDED = f"its status has no {' or '.join(_DECISIVE)} condition"
_STARTING = ("", "ContainerCreating", "PodInitializing")


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an object is ready, and why not (or what it says of itself)."""

    ready: bool
    text: str


def readiness(obj: Object[Any, Any]) -> Readiness:
    """The readiness of one object, from itself alone."""
    if obj.metadata.deletion_timestamp is not None:
        return Readiness(False, "being deleted")
    match obj:
        case Deployment():
            return _with_refusal(_deployment(obj), obj)
        case ReplicaSet():
            return _replica_set(obj)
        case Pod():
            return _pod(obj)
        case _:
            return _any(obj)


def _deployment(deployment: Deployment) -> Readiness:
    wanted, status = deployment.spec.replicas, deployment.status
    wanted = 1 if wanted is None else wanted
    if status.observed_generation < deployment.metadata.generation:
        return Readiness(False, f"{status.ready_replicas}/{wanted} ready, a change is not seen yet")
    if status.updated_replicas < wanted or status.replicas > status.updated_replicas:
        old = status.replicas - status.updated_replicas
        rest = f", {old} old" if old else ""
        return Readiness(False, f"{status.ready_replicas}/{wanted} ready, {status.updated_replicas} up to date{rest}")
    return Readiness(status.available_replicas >= wanted, f"{status.ready_replicas}/{wanted} ready")


def _with_refusal(found: Readiness, deployment: Deployment) -> Readiness:
    """Why the server refuses Pods, if it does."""
    refused = deployment.status.condition("ReplicaFailure")
    if found.ready or refused is None or refused.status != "True":
        return found
    return Readiness(False, f"{found.text}: {refused.message}")


def _replica_set(replica_set: ReplicaSet) -> Readiness:
    wanted, status = replica_set.spec.replicas, replica_set.status
    wanted = 1 if wanted is None else wanted
    return Readiness(
        status.replicas == wanted and status.available_replicas >= wanted, f"{status.ready_replicas}/{wanted} ready"
    )


def _pod(pod: Pod) -> Readiness:
    phase = pod.status.phase or "Pending"
    states = {condition.type: condition for condition in pod.status.conditions}
    if "Ready" in states and states["Ready"].status == "True":
        return Readiness(True, f"{phase}, ready")
    if "PodScheduled" in states and states["PodScheduled"].status == "False":
        return Readiness(False, f"{phase}: {states['PodScheduled'].message}")
    waits = (
        f", {container.name}: {container.state.waiting.reason}"
        for container in pod.status.container_statuses
        if container.state.waiting is not None and container.state.waiting.reason not in _STARTING
    )
    return Readiness(phase == "Succeeded", f"{phase}{next(waits, '')}")


def _any(obj: Object[Any, Any]) -> Readiness:
    section = obj.section("status")
    status = msgspec.json.decode(section) if section else None
    status = status if isinstance(status, Mapping) else {}
    conditions = {
        condition.get("type"): condition
        for condition in status.get("conditions") or ()
        if isinstance(condition, Mapping)
    }
    decisive = next((conditions[name] for name in _DECISIVE if name in conditions), {})
    if _is_old(obj.metadata.generation, status, decisive):
        return Readiness(False, f"generation {obj.metadata.generation} is not seen yet")
    if not decisive:
        if not _has_conditions(obj):
            return Readiness(True, "there")
        return _counted(obj, status) or Readiness(False, _UNDECIDED if status else "no status yet")
    return Readiness(decisive.get("status") == "True", str(decisive.get("message") or decisive.get("reason") or ""))


def _counted(obj: Object[Any, Any], status: Mapping[str, Any]) -> Readiness | None:
    """The readiness of what has a scale and no conditions; `None` for what has conditions, or nothing to count yet."""
    section = obj.section("spec")
    spec = msgspec.json.decode(section) if section else None
    wanted = spec.get("replicas") if isinstance(spec, Mapping) else None
    there = status.get("replicas")
    if "conditions" in status or wanted is None or there is None:
        return None
    return Readiness(there == wanted, f"{there}/{wanted} replicas")


def _is_old(generation: int, status: Mapping[str, Any], decisive: Mapping[str, Any]) -> bool:
    """Whether the status speaks of an older generation. A failure on the way to one moves only its condition's own count."""
    whole, own = status.get("observedGeneration"), decisive.get("observedGeneration")
    failed = own is not None and decisive.get("status") == "False"
    return any(isinstance(seen, int) and seen < generation for seen in ((own,) if failed else (own, whole)))


def _has_conditions(obj: Object[Any, Any]) -> bool:
    """A custom resource with a status starts without conditions; a built-in kind that has none never gets any."""
    return obj.kind.status_subresource and "." in obj.kind.group and not obj.kind.group.endswith(".k8s.io")
