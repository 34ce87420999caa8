"""Custom resource definitions, and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dynamo_ctrl.objects.builtin.core import BuiltinCondition
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object


class CustomResourceDefinitionStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Whether the server has accepted and established the definition."""

    conditions: tuple[BuiltinCondition, ...] = ()


class CustomResourceDefinition(Object[Mapping[str, Any], CustomResourceDefinitionStatus]):
    """apiextensions.k8s.io/v1 CustomResourceDefinition."""


class Event(Object[None, None]):
    """events.k8s.io/v1 Event."""


CUSTOM_RESOURCE_DEFINITION = Kind(
    CustomResourceDefinition, group="apiextensions.k8s.io", version="v1", kind="CustomResourceDefinition",
    plural="customresourcedefinitions", namespaced=False, short=("crd",),
)  # fmt: skip
EVENT = Kind(Event, group="events.k8s.io", version="v1", kind="Event", plural="events", status_subresource=False)
