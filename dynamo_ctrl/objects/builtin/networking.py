"""The networking group: how Services are reached from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class Ingress(Object[Mapping[str, Any], Mapping[str, Any]]):
    """networking.k8s.io/v1 Ingress."""


INGRESS = Kind(
    Ingress, group="networking.k8s.io", version="v1", kind="Ingress", plural="ingresses", short=("ing",)
)  # fmt: skip
