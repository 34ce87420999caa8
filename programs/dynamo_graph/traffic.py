"""The APIs by which requests reach a graph, as far as it has to know them: Istio's and the inference gateway's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class VirtualService(Object[Mapping[str, Any], Mapping[str, Any]]):
    """Istio's routes of a host."""


class DestinationRule(Object[Mapping[str, Any], Mapping[str, Any]]):
    """How Istio's sidecars talk to a Service."""


class InferencePool(Object[Mapping[str, Any], Mapping[str, Any]]):
    """The Pods that an endpoint picker chooses between."""


_ISTIO: Final = "networking.istio.io"

VIRTUAL_SERVICE: Final = Kind(
    VirtualService, group=_ISTIO, version="v1beta1", kind="VirtualService", plural="virtualservices", short=("vs",)
)
DESTINATION_RULE: Final = Kind(
    DestinationRule, group=_ISTIO, version="v1beta1", kind="DestinationRule", plural="destinationrules", short=("dr",)
)
INFERENCE_POOL: Final = Kind(
    InferencePool,
    group="inference.networking.k8s.io",
    version="v1",
    kind="InferencePool",
    plural="inferencepools",
    short=("infpool",),
)
