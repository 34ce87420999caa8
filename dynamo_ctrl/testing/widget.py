"""`Widget`: the small custom kind of examples and tests. It wants `size` replicas of something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from dynamo_ctrl.objects.conditions import Condition
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object

_MODEL = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class WidgetSpec(BaseModel):
    """What is wanted."""

    model_config = _MODEL

    size: Annotated[int, Field(ge=0)] = 1
    image: str = "example.com/widget:1"


class WidgetStatus(BaseModel):
    """What is."""

    model_config = _MODEL

    state: str = ""
    ready: int | None = None
    observed_generation: int | None = None
    components: dict[str, int] | None = None
    restart: str | None = None
    conditions: tuple[Condition, ...] = ()


class Widget(Object[WidgetSpec, WidgetStatus]):
    """example.com/v1 Widget."""


WIDGET = Kind(Widget, group="example.com", version="v1", kind="Widget", plural="widgets")


def widget(
    name: str = "w",
    *,
    namespace: str = "ns",
    size: int = 1,
    annotations: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
) -> Widget:
    """A widget as a user would write it."""
    metadata: dict[str, object] = {"name": name, "namespace": namespace}
    if annotations:
        metadata["annotations"] = dict(annotations)
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return WIDGET.object({"metadata": metadata, "spec": {"size": size}})
