"""What is kept of a Pod in the cache (G 8.9). Pure.

Everything that a consumer of Pods asks about survives: who a Pod is and whose, where it runs, what its containers are started
with, whether it is ready or disrupted, and how its containers ended. What runs (`state.running`) is not kept: a container without
a state runs. A Pod from this cache must never be written back in full.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap

GMS_SERVER: Final = "gms-server"
"""Init container that serves weights from GPU memory."""

SNAPSHOT_RESTORED: Final = "nvidia.com/snapshot-restored"
"""Condition of a Pod that was started from a snapshot."""

_CONDITIONS: Final = {
    "Ready": ("type", "status"),
    "DisruptionTarget": ("type", "status", "reason"),
    SNAPSHOT_RESTORED: ("type", "status", "reason"),
}
"""The conditions that are kept, and what of each."""


def slim_pod(content: JsonMap) -> dict[str, Any]:
    """Projection of a Pod."""
    kept = _only(content, ("apiVersion", "kind"))
    kept["metadata"] = {key: value for key, value in (content.get("metadata") or {}).items() if key != "managedFields"}
    spec, status = content.get("spec"), content.get("status")
    if spec is not None:
        kept["spec"] = _spec(spec)
    if status is not None:
        kept["status"] = _status(status)
    return kept


def _spec(spec: JsonMap) -> dict[str, Any]:
    return _only(spec, ("nodeName", "schedulerName")) | _filled(
        containers=[_only(each, ("name", "command", "args")) for each in spec.get("containers") or ()],
        initContainers=[
            _only(each, ("name", "restartPolicy"))
            for each in spec.get("initContainers") or ()
            if each.get("name") == GMS_SERVER
        ],
        volumes=list(_volumes(spec.get("volumes") or ())),
    )


def _volumes(volumes: Iterable[JsonMap]) -> Iterable[dict[str, Any]]:
    for volume in volumes:
        if volume.get("configMap") is not None:
            yield {**_only(volume, ("name",)), "configMap": _only(volume["configMap"], ("name",))}
        elif volume.get("downwardAPI") is not None:
            source = volume["downwardAPI"]
            files = [_file(item) for item in source.get("items") or () if item.get("fieldRef")]
            kept = _only(source, ("defaultMode",)) | _filled(items=files)
            yield {**_only(volume, ("name",)), "downwardAPI": kept}


def _file(item: JsonMap) -> dict[str, Any]:
    return {**_only(item, ("path", "mode")), "fieldRef": _only(item["fieldRef"], ("apiVersion", "fieldPath"))}


def _status(status: JsonMap) -> dict[str, Any]:
    return _only(status, ("phase",)) | _filled(
        conditions=[
            _only(each, _CONDITIONS[each["type"]])
            for each in status.get("conditions") or ()
            if each.get("type") in _CONDITIONS
        ],
        containerStatuses=[_container(each) for each in status.get("containerStatuses") or ()],
        initContainerStatuses=[_container(each) for each in status.get("initContainerStatuses") or ()],
    )


def _container(status: JsonMap) -> dict[str, Any]:
    """How often a container started again, why it does not run, and how its last run ended."""
    state, last = status.get("state") or {}, status.get("lastState") or {}
    return _only(status, ("name", "restartCount")) | _filled(
        state=_part(state, waiting=("reason", "message"), terminated=("exitCode", "reason", "message")),
        lastState=_part(last, terminated=("exitCode", "reason")),
    )


def _part(state: JsonMap, **fields: Collection[str]) -> dict[str, Any]:
    """Those of the states that are there, if only by name."""
    return {name: _only(state[name], kept) for name, kept in fields.items() if state.get(name) is not None}


def _only(content: JsonMap, keys: Collection[str]) -> dict[str, Any]:
    return {key: content[key] for key in keys if key in content}


def _filled(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}
