"""How many GPUs a container's resource claims ask for (P 2.6 step 5). Claims, templates and classes are given.

A request counts GPUs when the driver that its selectors demand is a GPU driver; without such a selector, when the class has
a GPU as its extended resource; without selectors at all, when the class is called like one. What stays undecided is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.render.errors import RenderError
from dynamo_graph.render.gpu import is_gpu_resource

_DRIVER: Final = re.compile(
    r"device\.driver\s*==\s*(?:\"([^\"]+)\"|'([^']+)')|(?:\"([^\"]+)\"|'([^']+)')\s*==\s*device\.driver"
)
_GPU_NAME: Final = re.compile(r"(gpu|gpu[./].*|.*/gpu([.-].*)?)")


class Devices(Protocol):
    """Where claims are looked up: the `spec` of an object by name, `None` when there is none."""

    def claim(self, name: str) -> JsonMap | None:
        """A ResourceClaim of the namespace."""

    def template(self, name: str) -> JsonMap | None:
        """A ResourceClaimTemplate of the namespace."""

    def device_class(self, name: str) -> JsonMap | None:
        """A DeviceClass."""


class NoDevices:
    """A cluster without dynamic resources: every claim is missing."""

    def claim(self, name: str) -> JsonMap | None:
        """None."""
        return None

    def template(self, name: str) -> JsonMap | None:
        """None."""
        return None

    def device_class(self, name: str) -> JsonMap | None:
        """None."""
        return None


class Claimed(NamedTuple):
    """One device request: its GPUs, and the named ResourceClaim that all Pods share, if it is one."""

    gpus: int
    shared_claim: str = ""


def claimed(containers: Iterable[JsonMap], pod: JsonMap, devices: Devices, path: str) -> dict[tuple[str, str], Claimed]:
    """The distinct (claim, request) pairs of the containers. A reference without a request means all of its claim's.

    Raises:
        RenderError: a claim or request that does not exist, or a number of GPUs that cannot be known.
    """
    sources = {source.get("name"): source for source in pod.get("resourceClaims") or ()}
    found: dict[tuple[str, str], Claimed] = {}
    for container in containers:
        at = f"{path}.resources.claims"
        for reference in (container.get("resources") or {}).get("claims") or ():
            name, wanted = reference.get("name"), reference.get("request")
            if name not in sources:
                raise RenderError(at, f'container ResourceClaim "{name}" has no matching pod resourceClaim')
            requests, shared = _requests(sources[name], devices, at)
            names = [wanted] if wanted else list(requests)
            for request in names:
                if request not in requests:
                    raise RenderError(at, f'device request "{request}" was not found')
                found[name, request] = Claimed(_count(requests[request], devices, at), shared)
    return found


def _requests(source: JsonMap, devices: Devices, path: str) -> tuple[dict[str, JsonMap], str]:
    """The device requests of a Pod's claim by name, and the name of the claim if Pods share it."""
    shared = source.get("resourceClaimName") or ""
    name = shared or source.get("resourceClaimTemplateName") or ""
    spec = devices.claim(shared) if shared else devices.template(name)
    if spec is None:
        kind = "ResourceClaim" if shared else "ResourceClaimTemplate"
        raise RenderError(path, f'{kind} "{name}" was not found')
    inner = spec if shared else spec.get("spec") or {}
    requests = (inner.get("devices") or {}).get("requests") or ()
    return {request["name"]: request for request in requests}, shared


def _count(request: JsonMap, devices: Devices, path: str) -> int:
    alternatives = request.get("firstAvailable")
    if not alternatives:
        return _exact(request.get("exactly") or {}, request["name"], devices, path)
    counts = {_exact(alternative, request["name"], devices, path) for alternative in alternatives}
    if len(counts) > 1:
        rule = f'device request "{request["name"]}" has alternatives with different numbers of GPUs'
        raise RenderError(path, rule)
    return counts.pop()


def _exact(wanted: JsonMap, name: str, devices: Devices, path: str) -> int:
    if not _is_gpu(wanted, name, devices, path):
        return 0
    if wanted.get("allocationMode") == "All":
        raise RenderError(path, f'device request "{name}" asks for all devices: its number of GPUs is not known')
    return wanted.get("count") or 1


def _is_gpu(wanted: JsonMap, name: str, devices: Devices, path: str) -> bool:
    class_name = wanted.get("deviceClassName") or ""
    device_class = devices.device_class(class_name) or {}
    selectors = [*_expressions(device_class), *_expressions(wanted)]
    drivers = {driver for expression in selectors if "||" not in expression for driver in _drivers(expression)}
    if drivers:
        return any(_GPU_NAME.fullmatch(driver) for driver in drivers)
    extended = device_class.get("extendedResourceName")
    if extended:
        return is_gpu_resource(extended)
    if not selectors:
        return bool(_GPU_NAME.fullmatch(class_name))
    rule = f'device request "{name}": whether class "{class_name}" holds GPUs cannot be decided from its selectors'
    raise RenderError(path, rule)


def _expressions(holder: JsonMap) -> Iterator[str]:
    for selector in holder.get("selectors") or ():
        yield (selector.get("cel") or {}).get("expression") or ""


def _drivers(expression: str) -> Iterator[Any]:
    for groups in _DRIVER.findall(expression):
        yield next(group for group in groups if group)
