"""The core group: Pods and what surrounds them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from dynamo_ctrl.objects.codec import Codec
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import FrozenDict
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

_TEXTS: Codec[dict[str, str]] = Codec(dict[str, str])


class EnvVar(Struct, frozen=True, gc=False, rename="camel"):
    """One environment variable; `value_from` is kept as JSON."""

    name: str
    value: str = ""
    value_from: FrozenDict[str, Any] | None = None


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """What programs read of a container."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: tuple[EnvVar, ...] = ()
    restart_policy: str = ""


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What programs read of a Pod's spec."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[FrozenDict[str, Any], ...] = ()
    resource_claims: tuple[FrozenDict[str, Any], ...] = ()
    node_name: str = ""
    restart_policy: str = "Always"
    service_account_name: str = ""
    termination_grace_period_seconds: int | None = None


class Terminated(Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    exit_code: int
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class Waiting(Struct, frozen=True, gc=False, rename="camel"):
    """Why a container does not run."""

    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True, gc=False, rename="camel"):
    """Since when a container runs."""

    started_at: datetime | None = None


class ContainerState(Struct, frozen=True, gc=False, rename="camel"):
    """At most one of the three is set."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The state of one container and of the one before it."""

    name: str
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class BuiltinCondition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a built-in kind."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    """Deployments only."""


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What programs read of a Pod's status."""

    phase: str = ""
    reason: str = ""
    conditions: tuple[BuiltinCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()

    def condition(self, type_: str) -> BuiltinCondition | None:
        """The condition of that type."""
        return next((condition for condition in self.conditions if condition.type == type_), None)


class Pod(Object[PodSpec, PodStatus]):
    """core/v1 Pod."""


class ServicePort(Struct, frozen=True, gc=False, rename="camel"):
    """One port of a Service."""

    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str | None = None


class ServiceSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What programs read of a Service."""

    ports: tuple[ServicePort, ...] = ()
    selector: FrozenDict[str, str] = FrozenDict()
    type: str = "ClusterIP"


class Service(Object[ServiceSpec, Mapping[str, Any]]):
    """core/v1 Service."""


class ServiceAccount(Object[None, None]):
    """core/v1 ServiceAccount."""

    @property
    def image_pull_secrets(self) -> tuple[str, ...]:
        """Names of the pull secrets."""
        entries: tuple[FrozenDict[str, Any], ...] = self.field("imagePullSecrets", _ENTRIES)
        return tuple(entry.get("name", "") for entry in entries)


class ConfigMap(Object[None, None]):
    """core/v1 ConfigMap."""

    @property
    def data(self) -> Mapping[str, str]:
        """A copy of the text entries."""
        return self.field("data", _TEXTS)


class Secret(Object[None, None]):
    """core/v1 Secret. Its text must never be logged; `repr` shows the key only."""

    @property
    def type(self) -> str:
        """The secret's type, e.g. `kubernetes.io/dockerconfigjson`."""
        return self.field("type", _TYPE) if self.section("type") else "Opaque"

    @property
    def data(self) -> Mapping[str, bytes]:
        """A copy of the entries, base64 decoded. Raises `InvalidObject` for an entry that is not base64."""
        entries: dict[str, bytes] = {}
        for key, value in self.field("data", _TEXTS).items():
            try:
                entries[key] = base64.b64decode(value, validate=True)
            except binascii.Error as error:
                raise InvalidObject(f"Secret {self.key}", f"data.{key}", "must be base64") from error
        return entries


class PersistentVolumeClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Whether the claim is bound."""

    phase: str = ""


class PersistentVolumeClaim(Object[Mapping[str, Any], PersistentVolumeClaimStatus]):
    """core/v1 PersistentVolumeClaim."""


class Namespace(Object[Mapping[str, Any], Mapping[str, Any]]):
    """core/v1 Namespace."""


class Node(Object[Mapping[str, Any], Mapping[str, Any]]):
    """core/v1 Node."""


_TYPE: Codec[str] = Codec(str)
_ENTRIES: Codec[tuple[FrozenDict[str, Any], ...]] = Codec(tuple[FrozenDict[str, Any], ...])

POD = Kind(Pod, group="", version="v1", kind="Pod", plural="pods", short=("po",))
SERVICE = Kind(Service, group="", version="v1", kind="Service", plural="services", short=("svc",))
SERVICE_ACCOUNT = Kind(
    ServiceAccount, group="", version="v1", kind="ServiceAccount", plural="serviceaccounts", status_subresource=False
)
CONFIG_MAP = Kind(ConfigMap, group="", version="v1", kind="ConfigMap", plural="configmaps", status_subresource=False)
SECRET = Kind(Secret, group="", version="v1", kind="Secret", plural="secrets", status_subresource=False)
PERSISTENT_VOLUME_CLAIM = Kind(
    PersistentVolumeClaim, group="", version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims",
    short=("pvc",),
)  # fmt: skip
NAMESPACE = Kind(
    Namespace, group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False, short=("ns",)
)
NODE = Kind(Node, group="", version="v1", kind="Node", plural="nodes", namespaced=False)
