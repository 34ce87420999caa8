"""The parts of a Pod template that rendering reads, checked by type and value before anything reads them (G 1.4, P 1).

A template is kept as the JSON that its author wrote: the hash of a worker and what reaches the Pod depend on it. So nothing here
converts, and what rendering passes on unread is left to the server. Null stands for "absent", as it does there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from dynamo_ctrl.objects.codec import invalid
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.quantity import InvalidQuantity, parse_quantity

Tree = dict[str, Any]


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


class _Resources(Struct, rename="camel"):
    limits: dict[str, str | int | float] | None = None
    requests: dict[str, str | int | float] | None = None
    claims: list[Tree] | None = None


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
    termination_grace_period_seconds: int | None = None


class _Metadata(Struct, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Template(Struct, rename="camel"):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


def template_problems(template: JsonMap, what: str, path: str) -> Iterator[InvalidObject]:
    """What makes a template unreadable: a part of a wrong type (then nothing else is told), a name that is there twice or
    missing, an amount that is none. `path` is where the template stands.
    """
    try:
        read = msgspec.convert(template, _Template)
    except msgspec.ValidationError as error:
        yield invalid(what, path, error)
        return
    spec = read.spec or _PodSpec()
    seen: set[str] = set()
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        at = f"{path}.spec.{field}"
        yield from _unnamed(containers or (), what, at, seen)
        for index, container in enumerate(containers or ()):
            yield from _amounts(container.resources or _Resources(), what, f"{at}[{index}].resources")
            if any(not entry.name for entry in container.env or ()):
                yield InvalidObject(what, f"{at}[{index}].env", "every entry must have a name")
    yield from _unnamed(spec.volumes or (), what, f"{path}.spec.volumes", set())


def _unnamed(entries: Iterable[_Named], what: str, path: str, seen: set[str]) -> Iterator[InvalidObject]:
    for index, entry in enumerate(entries):
        if not entry.name:
            yield InvalidObject(what, f"{path}[{index}].name", "must be set")
        elif entry.name in seen:
            yield InvalidObject(what, f"{path}[{index}].name", f'must be unique; "{entry.name}" is there already')
        seen.add(entry.name)


def _amounts(resources: _Resources, what: str, path: str) -> Iterator[InvalidObject]:
    for field, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in (amounts or {}).items():
            at = f"{path}.{field}[{name}]"
            try:
                if parse_quantity(amount) < 0:
                    yield InvalidObject(what, at, "must not be negative")
            except InvalidQuantity as error:
                yield InvalidObject(what, at, str(error))
