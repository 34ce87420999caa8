"""The kinds that are measured with, typed as their users type them: every field of the custom resource, in pydantic."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from dynamo_ctrl import Kind, Object
from dynamo_ctrl.objects.builtin.core import POD, Pod

GROUP = "bench.example.com"
NAMESPACE = "bench"
TIMESTAMP = "bench.example.com/ts"


class Model(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class NameValue(Model):
    name: str
    value: str | None = None


class Port(Model):
    name: str
    port: int


class Service(Model):
    component: str | None = None
    replicas: int | None = None
    image: str | None = None
    args: tuple[str, ...] = ()
    requests: dict[str, str] | None = None
    limits: dict[str, str] | None = None
    ports: tuple[Port, ...] = ()


class WidgetSpec(Model):
    replicas: int | None = None
    paused: bool | None = None
    backend: str | None = None
    selector: dict[str, str] | None = None
    env: tuple[NameValue, ...] = ()
    services: dict[str, Service] = {}


class Condition(Model):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class WidgetStatus(Model):
    observed_generation: int | None = None
    state: str | None = None
    run: str | None = None
    conditions: tuple[Condition, ...] = ()


class MoteSpec(Model):
    value: str


class Widget(Object[WidgetSpec, WidgetStatus]):
    pass


class Mote(Object[MoteSpec, None]):
    pass


WIDGET = Kind(Widget, group=GROUP, version="v1", kind="Widget", plural="widgets")
MOTE = Kind(Mote, group=GROUP, version="v1", kind="Mote", plural="motes")

__all__ = ["GROUP", "MOTE", "NAMESPACE", "POD", "TIMESTAMP", "WIDGET", "Mote", "Pod", "Widget", "WidgetStatus"]
