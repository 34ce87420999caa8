"""Image pull secrets by registry (P 5.7). Credentials are never read: only the names of the registries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dynamo_ctrl.objects.builtin.core import Secret
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.names import Annotation

SECRET_TYPE: Final = "kubernetes.io/dockerconfigjson"  # noqa: S105  (a type, not a secret)
_ENTRY: Final = ".dockerconfigjson"
DOCKER_HUB: Final = "docker.io"
_HUB_NAMES: Final = frozenset({DOCKER_HUB, "index.docker.io"})


class _DockerConfig(msgspec.Struct, gc=False):
    auths: dict[str, msgspec.Raw] = {}


_DECODER: Final = msgspec.json.Decoder(_DockerConfig)


@dataclass(frozen=True, slots=True)
class PullSecrets:
    """Which secrets of one namespace open which registry.

    Attributes:
        by_registry: registry host to sorted names of secrets.
        malformed: names of secrets that could not be read and were skipped.
    """

    by_registry: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    malformed: tuple[str, ...] = ()

    @classmethod
    def of(cls, secrets: Iterable[Secret], namespace: str) -> PullSecrets:
        """The index of the docker configurations among `secrets` that are in `namespace`."""
        found: dict[str, set[str]] = {}
        malformed = []
        for secret in secrets:
            if secret.metadata.namespace != namespace or secret.type != SECRET_TYPE:
                continue
            try:
                hosts = _hosts(secret)
            except (KeyError, ValueError):  # msgspec's errors are ValueErrors, and so are those of base64
                malformed.append(secret.metadata.name)
                continue
            for host in hosts:
                found.setdefault(host, set()).add(secret.metadata.name)
        index = {host: tuple(sorted(names)) for host, names in sorted(found.items())}
        return cls(MappingProxyType(index), tuple(sorted(malformed)))

    def for_image(self, image: str) -> tuple[str, ...]:
        """The secrets for the registry of an image."""
        return self.by_registry.get(image_registry(image), ())


def image_registry(image: str) -> str:
    """The registry host of an image: what stands before the first `/` if it looks like a host, else Docker Hub."""
    first, slash, _ = image.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return _canonical(first) if is_host else DOCKER_HUB


def configured_registry(key: str) -> str:
    """The registry host of a key of `auths`, which may carry a scheme and a path."""
    return _canonical(key.rpartition("://")[2].partition("/")[0])


def with_pull_secrets(pod: JsonMap, annotations: Mapping[str, str], secrets: PullSecrets) -> dict[str, Any]:
    """A Pod spec with the secrets for the registries of its images after those that it names itself."""
    if annotations.get(Annotation.DISABLE_PULL_SECRET_DISCOVERY) == "true":
        return dict(pod)
    entries = list(pod.get("imagePullSecrets") or ())
    names = {entry.get("name") for entry in entries}
    for container in (*(pod.get("containers") or ()), *(pod.get("initContainers") or ())):
        for name in secrets.for_image(container["image"]) if container.get("image") else ():
            if name not in names:
                names.add(name)
                entries.append({"name": name})
    return {**pod, "imagePullSecrets": entries} if entries else dict(pod)


def _hosts(secret: Secret) -> set[str]:
    return {configured_registry(key) for key in _DECODER.decode(secret.data[_ENTRY]).auths}


def _canonical(host: str) -> str:
    return DOCKER_HUB if host in _HUB_NAMES else host
