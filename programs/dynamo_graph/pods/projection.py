"""What is kept of a Pod in the cache (G 8.9). Pure.

Everything that a consumer of Pods asks about survives: who a Pod is and whose, where it runs, what its containers are started
with, whether it is ready or disrupted, and how its containers ended. What runs (`state.running`) is not kept: a container without
a state runs. A Pod from this cache must never be written back in full.

It works on the text. The classes say what is read of it, and the rest is skipped over; only what depends on a value (which
conditions, which init containers, which volumes) is decided in code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dynamo_ctrl.objects.frozen import JsonMap

GMS_SERVER: Final = "gms-server"
"""Init container that serves weights from GPU memory."""

SNAPSHOT_RESTORED: Final = "nvidia.com/snapshot-restored"
"""Condition of a Pod that was started from a snapshot."""

_WITH_REASON: Final = ("DisruptionTarget", SNAPSHOT_RESTORED)
"""The conditions that are kept with their reason. Of `Ready` the status is enough."""

T = TypeVar("T")

_Text = Raw | UnsetType
"""A value that is kept as it stands in the text."""


class _Container(Struct, gc=False):
    name: _Text = UNSET
    command: _Text = UNSET
    args: _Text = UNSET


class _InitContainer(Struct, gc=False, rename="camel"):
    name: str | UnsetType = UNSET
    restart_policy: _Text = UNSET


class _Named(Struct, gc=False):
    name: _Text = UNSET


class _FieldRef(Struct, gc=False, rename="camel"):
    api_version: _Text = UNSET
    field_path: _Text = UNSET


class _File(Struct, gc=False, rename="camel"):
    path: _Text = UNSET
    mode: _Text = UNSET
    field_ref: _FieldRef | UnsetType | None = UNSET


class _DownwardApi(Struct, gc=False, rename="camel"):
    default_mode: _Text = UNSET
    items: list[_File] | UnsetType | None = UNSET


class _Volume(Struct, gc=False):
    name: _Text = UNSET
    config_map: _Named | UnsetType | None = msgspec.field(default=UNSET, name="configMap")
    downward_api: _DownwardApi | UnsetType | None = msgspec.field(default=UNSET, name="downwardAPI")


class _Spec(Struct, gc=False, rename="camel"):
    node_name: _Text = UNSET
    scheduler_name: _Text = UNSET
    containers: list[_Container] | UnsetType | None = UNSET
    init_containers: list[_InitContainer] | UnsetType | None = UNSET
    volumes: list[_Volume] | UnsetType | None = UNSET


class _Condition(Struct, gc=False):
    type: str | UnsetType = UNSET
    status: _Text = UNSET
    reason: _Text = UNSET


class _Waiting(Struct, gc=False):
    reason: _Text = UNSET
    message: _Text = UNSET


class _Terminated(Struct, gc=False, rename="camel"):
    exit_code: _Text = UNSET
    reason: _Text = UNSET
    message: _Text = UNSET


class _LastTerminated(Struct, gc=False, rename="camel"):
    exit_code: _Text = UNSET
    reason: _Text = UNSET


class _State(Struct, gc=False):
    waiting: _Waiting | UnsetType | None = UNSET
    terminated: _Terminated | UnsetType | None = UNSET


class _LastState(Struct, gc=False):
    terminated: _LastTerminated | UnsetType | None = UNSET


class _ContainerStatus(Struct, gc=False, rename="camel"):
    """How often a container started again, why it does not run, and how its last run ended."""

    name: _Text = UNSET
    restart_count: _Text = UNSET
    state: _State | UnsetType | None = UNSET
    last_state: _LastState | UnsetType | None = UNSET


class _Status(Struct, gc=False, rename="camel"):
    phase: _Text = UNSET
    conditions: list[_Condition] | UnsetType | None = UNSET
    container_statuses: list[_ContainerStatus] | UnsetType | None = UNSET
    init_container_statuses: list[_ContainerStatus] | UnsetType | None = UNSET


class _Pod(Struct, gc=False, rename="camel"):
    api_version: _Text = UNSET
    kind: _Text = UNSET
    metadata: Raw = Raw(b"{}")
    spec: _Spec | UnsetType | None = UNSET
    status: _Status | UnsetType | None = UNSET


class SlimPod:
    """The projection (`dynamo_ctrl.cache.projection`). There is one, `slim_pod`."""

    _read: Final = msgspec.json.Decoder(_Pod).decode
    _fields: Final = msgspec.json.Decoder(dict[str, Raw]).decode

    def __call__(self, content: JsonMap) -> dict[str, Any]:
        """What is kept of a decoded Pod."""
        kept: dict[str, Any] = msgspec.json.decode(self.text(msgspec.json.encode(content)))
        return kept

    def text(self, raw: bytes) -> bytes:
        """What is kept of the text of a Pod. Raises `msgspec.MsgspecError`, `UnicodeDecodeError`."""
        pod = self._read(raw)
        if b'"managedFields"' in bytes(pod.metadata):
            fields = self._fields(pod.metadata)
            fields.pop("managedFields", None)
            pod.metadata = Raw(msgspec.json.encode(fields))
        spec = pod.spec = pod.spec or UNSET
        if spec:
            spec.containers = spec.containers or UNSET
            spec.init_containers = _some(spec.init_containers, _gms_servers)
            spec.volumes = _some(spec.volumes, _volumes)
        status = pod.status = pod.status or UNSET
        if status:
            status.conditions = _some(status.conditions, _conditions)
            status.container_statuses = _some(status.container_statuses, _statuses)
            status.init_container_statuses = _some(status.init_container_statuses, _statuses)
        return msgspec.json.encode(pod)


slim_pod: Final = SlimPod()


def _some(items: list[T] | UnsetType | None, pick: Callable[[list[T]], Iterable[T]]) -> list[T] | UnsetType:
    return [*pick(items)] or UNSET if items else UNSET


def _gms_servers(containers: list[_InitContainer]) -> Iterator[_InitContainer]:
    return (each for each in containers if each.name == GMS_SERVER)


def _volumes(volumes: list[_Volume]) -> Iterator[_Volume]:
    for volume in volumes:
        source = volume.downward_api
        if volume.config_map:
            volume.downward_api = UNSET
            yield volume
        elif source:
            source.items = [item for item in source.items or () if item.field_ref] or UNSET
            volume.config_map = UNSET
            yield volume


def _conditions(conditions: list[_Condition]) -> Iterator[_Condition]:
    for each in conditions:
        if each.type == "Ready":
            each.reason = UNSET
            yield each
        elif each.type in _WITH_REASON:
            yield each


def _statuses(statuses: list[_ContainerStatus]) -> Iterator[_ContainerStatus]:
    for each in statuses:
        state, last = each.state, each.last_state
        if state:
            state.waiting, state.terminated = state.waiting or UNSET, state.terminated or UNSET
        each.state = state if state and (state.waiting or state.terminated) else UNSET
        each.last_state = last if last and last.terminated else UNSET
        yield each
