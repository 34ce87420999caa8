"""The parts of a Pod template that rendering reads, checked by type and value before anything reads them (G 1.4, P 1).

A template is kept as the JSON that its author wrote: the hash of a worker and what reaches the Pod depend on it. So nothing here
converts, and what rendering passes on unread is left to the server. Null stands for "absent", as it does there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from typing import Any, Final

import msgspec
from msgspec import Struct

from dynamo_ctrl.objects.codec import invalid
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.quantity import InvalidQuantity, parse_quantity

Tree = dict[str, Any]

MAX_PORT: Final = 65535

_ALWAYS: Final = (None, "", "Always")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_RULE: Final = (
    "must have at most 63 lower-case letters, digits or '-', and begin and end with a letter or a digit"
)


class _Named(Struct, rename="camel"):
    name: str


class _EnvVar(_Named):
    value: str | None = None
    value_from: Tree | None = None


class _Mount(Struct, rename="camel"):  # without a name or a path it is refused in words of its own (P 5.3)
    name: str | None = None
    mount_path: str | None = None
    read_only: bool | None = None


class _Port(Struct, rename="camel"):
    container_port: int
    name: str | None = None


class _Secret(Struct):
    name: str | None = None


class _Volume(_Named):
    persistent_volume_claim: Tree | None = None


class _Claim(Struct):
    name: str | None = None


class _Resources(Struct, rename="camel"):
    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None
    claims: list[_Claim] | None = None


class _Container(_Named):
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    env_from: list[Tree] | None = None
    ports: list[_Port] | None = None
    resources: _Resources | None = None
    volume_mounts: list[_Mount] | None = None
    liveness_probe: Tree | None = None
    readiness_probe: Tree | None = None
    startup_probe: Tree | None = None
    security_context: Tree | None = None
    working_dir: str | None = None


class _PodSpec(Struct, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    image_pull_secrets: list[_Secret] | None = None
    resource_claims: list[_Named] | None = None
    tolerations: list[Tree] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Tree | None = None
    security_context: Tree | None = None
    service_account_name: str | None = None
    service_account: str | None = None
    host_network: bool | None = None
    dns_policy: str | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: int | None = None


class _Metadata(Struct, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Template(Struct, rename="camel"):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


def template_problems(template: JsonMap, what: str, path: str) -> Iterator[InvalidObject]:
    """What makes a template unreadable, or one of which no server makes a workload; `path` is where the template stands.

    A part of a wrong type (then nothing else is told); a name that is missing, there twice, or none that Kubernetes takes; an
    amount that is none; a port that cannot be; a claim that the Pod does not have; Pods that would not be restarted.
    """
    try:
        read = msgspec.convert(template, _Template)
    except msgspec.ValidationError as error:
        yield invalid(what, path, error)
        return
    spec = read.spec or _PodSpec()
    claims = {claim.name for claim in spec.resource_claims or ()}
    seen: set[str] = set()
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        at = f"{path}.spec.{field}"
        yield from _misnamed(containers or (), what, at, seen)
        for index, container in enumerate(containers or ()):
            yield from _container(container, claims, what, f"{at}[{index}]")
    yield from _misnamed(spec.volumes or (), what, f"{path}.spec.volumes", set())
    if spec.restart_policy not in _ALWAYS:
        yield InvalidObject(what, f"{path}.spec.restartPolicy", "must be Always; other Pods do not make a workload")


def _misnamed(entries: Iterable[_Named], what: str, path: str, seen: set[str]) -> Iterator[InvalidObject]:
    for index, entry in enumerate(entries):
        at = f"{path}[{index}].name"
        if not entry.name:
            yield InvalidObject(what, at, "must be set")
        elif entry.name in seen:
            yield InvalidObject(what, at, f'must be unique; "{entry.name}" is there already')
        elif not _LABEL.fullmatch(entry.name):
            yield InvalidObject(what, at, _LABEL_RULE)
        seen.add(entry.name)


def _container(container: _Container, claims: Set[str | None], what: str, path: str) -> Iterator[InvalidObject]:
    resources = container.resources or _Resources()
    yield from _amounts(resources, what, f"{path}.resources")
    for index, claim in enumerate(resources.claims or ()):
        if claim.name not in claims:
            rule = f'"{claim.name or ""}" is none of the resourceClaims of the Pod'
            yield InvalidObject(what, f"{path}.resources.claims[{index}].name", rule)
    if any(not entry.name for entry in container.env or ()):
        yield InvalidObject(what, f"{path}.env", "every entry must have a name")
    for index, port in enumerate(container.ports or ()):
        if not 0 < port.container_port <= MAX_PORT:
            yield InvalidObject(what, f"{path}.ports[{index}].containerPort", f"must be between 1 and {MAX_PORT}")


def _amounts(resources: _Resources, what: str, path: str) -> Iterator[InvalidObject]:
    for field, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in (amounts or {}).items():
            at = f"{path}.{field}[{name}]"
            try:
                if parse_quantity(amount) < 0:
                    yield InvalidObject(what, at, "must not be negative")
            except InvalidQuantity as error:
                yield InvalidObject(what, at, str(error))
