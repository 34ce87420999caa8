"""Claims of dynamic resources, as far as counting GPUs needs them (P 2.6 step 5), read from the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.cache.view import View
from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_graph.capabilities import Capability


class ResourceClaim(Object[Mapping[str, Any], Mapping[str, Any]]):
    """resource.k8s.io ResourceClaim: devices that Pods share."""


class ResourceClaimTemplate(Object[Mapping[str, Any], None]):
    """resource.k8s.io ResourceClaimTemplate: devices of each Pod."""


class DeviceClass(Object[Mapping[str, Any], None]):
    """resource.k8s.io DeviceClass: a kind of device."""


_GROUP: Final = "resource.k8s.io"
RESOURCE_CLAIM: Final = Kind(ResourceClaim, group=_GROUP, version="v1", kind="ResourceClaim", plural="resourceclaims")
RESOURCE_CLAIM_TEMPLATE: Final = Kind(
    ResourceClaimTemplate,
    group=_GROUP,
    version="v1",
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    status_subresource=False,
)
DEVICE_CLASS: Final = Kind(
    DeviceClass,
    group=_GROUP,
    version="v1",
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    status_subresource=False,
)


DEVICES: Final = Capability(
    "dra.enabled", (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE, DEVICE_CLASS), lambda config: config.dra.enabled
)
"""Dynamic resources."""


class CachedDevices:
    """The claims of one namespace. Where the cluster serves no dynamic resources there are none."""

    def __init__(self, view: View, namespace: str) -> None:
        self._view = view
        self._namespace = namespace

    def claim(self, name: str) -> JsonMap | None:
        """The spec of a ResourceClaim of the namespace."""
        return _spec(self._view.get(RESOURCE_CLAIM, f"{self._namespace}/{name}"))

    def template(self, name: str) -> JsonMap | None:
        """The spec of a ResourceClaimTemplate of the namespace."""
        return _spec(self._view.get(RESOURCE_CLAIM_TEMPLATE, f"{self._namespace}/{name}"))

    def device_class(self, name: str) -> JsonMap | None:
        """The spec of a DeviceClass."""
        return _spec(self._view.get(DEVICE_CLASS, name))


def _spec(found: Object[Mapping[str, Any], Any] | None) -> JsonMap | None:
    return None if found is None else found.spec
