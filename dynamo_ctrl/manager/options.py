"""The options of a manager, and the one resolver that makes them from flags, files and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar, get_type_hints

import msgspec

from dynamo_ctrl.cache.cache import CacheOptions
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.manager.errors import InvalidOption

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """How a manager runs. All times are seconds.

    Attributes:
        name: who it is: the reporting controller of its events, and in its log.
        cache: namespaces and bounds of the cache.
        controller: for every controller that `controllers` does not name.
        controllers: for single controllers, by name.
        health_address: where `/healthz` and `/readyz` are served, as `host:port` or `:port`; "" or "0" for nowhere.
        metrics_address: where `/metrics` is served; it may be the same address.
        sync_timeout: how long the start waits for caches before it goes on; controllers wait for their own sources anyway.
        stop_budget: how long everything together may take to stop.
        event_capacity: events that may wait to be sent; more are dropped.
        event_flush: how long the last events may take when everything else has stopped.
        garbage: whether the process's garbage collector is set up for many long-lived objects while the manager runs.
    """

    name: str = "dynamo-ctrl"
    cache: CacheOptions = field(default_factory=CacheOptions)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    controllers: Mapping[str, ControllerOptions] = field(default_factory=lambda: MappingProxyType({}))
    health_address: str = ""
    metrics_address: str = ""
    sync_timeout: float = 10.0
    stop_budget: float = 30.0
    event_capacity: int = 1000
    event_flush: float = 5.0
    garbage: bool = True

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        for name in ("sync_timeout", "stop_budget", "event_flush"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: must not be negative, got {getattr(self, name)}")
        if self.event_capacity < 1:
            raise ValueError(f"event_capacity: must be at least 1, got {self.event_capacity}")

    def for_controller(self, name: str) -> ControllerOptions:
        """The options of the controller with that name."""
        return self.controllers.get(name, self.controller)


def resolve(cls: type[T], *layers: Mapping[str, Any]) -> T:
    """Options of type `cls` from several layers; the first that names a field wins, `None` means not named, defaults come last.

    Nested options are given as nested mappings and merged field by field.

    Raises:
        InvalidOption: an unknown field, a value of the wrong type, or one that breaks a rule of the options.
    """
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        merged = _over(merged, layer)
    _check(cls, merged, "")
    try:
        return msgspec.convert(merged, cls, strict=False)
    except msgspec.ValidationError as error:
        rule, _, at = str(error).partition(" - at `$")
        path = at.rstrip("`").lstrip(".")
        if not path and ": " in rule:  # raised by the options themselves, which name the field
            path, _, rule = rule.partition(": ")
        raise InvalidOption(path, rule) from error


def _over(below: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in layer.items():
        if isinstance(value, Mapping):
            under = merged.get(name)
            merged[name] = _over(under if isinstance(under, Mapping) else {}, value)
        elif value is not None:
            merged[name] = value
    return merged


def _check(cls: type[Any], values: Mapping[str, Any], path: str) -> None:
    hints = get_type_hints(cls)
    known = {option.name for option in fields(cls)}
    for name, value in values.items():
        where = f"{path}{name}"
        if name not in known:
            raise InvalidOption(where, f"no such option; there are: {', '.join(sorted(known))}")
        if is_dataclass(hints[name]) and isinstance(hints[name], type) and isinstance(value, Mapping):
            _check(hints[name], value, f"{where}.")
