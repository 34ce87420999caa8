"""The options of a manager, and the one resolver that makes them from flags, files and defaults."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, get_type_hints

import msgspec

from dynamo_ctrl.cache.cache import CacheOptions
from dynamo_ctrl.controller.options import ControllerOptions
from dynamo_ctrl.manager.errors import InvalidOption

T = TypeVar("T")

JITTER = 1.2
"""A candidate waits for a retry period and up to this share of it longer; a renew deadline has to leave room for it."""

_DOMAIN: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED_NAME: Final = re.compile(rf"({_DOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionOptions:
    """How managers agree on who works. All times are seconds; the rules are those of `dynamo_ctrl.manager.election`.

    Attributes:
        enabled: without it every manager works at once.
        name: of the Lease; needed, and the same for all replicas.
        namespace: of the Lease; the Pod's own when empty, and needed outside a cluster.
        identity: ours, unique for each process; host name and a random uuid when empty.
        lease_duration: how long others wait after the last renewal that they have seen. Written into the Lease as whole seconds.
        renew_deadline: after so long without a successful renewal the leader gives up.
        retry_period: between two tries.
        guard_margin: by so much writes end before the renew deadline.
        health_tolerance: `/healthz` fails when a lease that we claim is older than its duration and this.
        release: whether a clean stop gives the lease back, so that another replica takes over at once.
        labels: for the Lease.
        renewal: `thread` renews on a thread with a connection of its own, so that a busy loop does not lose the lease; `loop`
            renews on the manager's loop through its engine: for engines that live there, such as the memory engine.
        groups: by controller, the name of a lease of its own under which it works; another replica may hold it.
    """

    enabled: bool = False
    name: str = ""
    namespace: str = ""
    identity: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    guard_margin: float = 1.0
    health_tolerance: float = 20.0
    release: bool = True
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    renewal: Literal["thread", "loop"] = "thread"
    groups: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        for name in ("lease_duration", "renew_deadline", "retry_period"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}: must be positive and finite, got {getattr(self, name)}")
        for name in ("guard_margin", "health_tolerance"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: must be finite and not negative, got {getattr(self, name)}")
        if not self.lease_duration > self.renew_deadline:
            raise ValueError(f"lease_duration: must be more than renew_deadline ({self.renew_deadline:g})")
        if not self.renew_deadline > self.retry_period * JITTER:
            raise ValueError(f"renew_deadline: must be more than {JITTER} times retry_period ({self.retry_period:g})")
        if not self.renew_deadline - self.guard_margin > self.retry_period * JITTER:
            raise ValueError(
                f"guard_margin: must leave writes more than {JITTER} times retry_period of the renew_deadline"
            )
        if self.enabled and not self.name:
            raise ValueError("name: must be given when leader election is enabled")
        for controller, name in self.groups.items():
            if not name:
                raise ValueError(f"groups: the lease of {controller!r} needs a name")

    @property
    def request_timeout(self) -> float:
        """Seconds that one request of the election may take."""
        return max(1.0, self.renew_deadline / 2)

    def leases(self) -> tuple[str, ...]:
        """The names of all leases, each once; that of everything without a group first."""
        return tuple(dict.fromkeys((self.name, *self.groups.values())))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerOptions:
    """How a manager runs. All times are seconds.

    Attributes:
        name: who it is: the reporting controller of its events, and in its log. The server takes no events of one whose name is
            no qualified name, such as `graphs` or `example.com/graphs`.
        cache: namespaces and bounds of the cache.
        controller: for every controller that `controllers` does not name.
        controllers: for single controllers, by name.
        health_address: where `/healthz` and `/readyz` are served, as `host:port` or `:port`; "" or "0" for nowhere.
        metrics_address: where `/metrics` is served; it may be the same address.
        debug: whether the health server shows `/debug/` although other machines reach it; on a loopback address it always does.
        leader_election: whether, and how, only one of several managers works.
        sync_timeout: how long the start waits for caches before it goes on; controllers wait for their own sources anyway.
        stop_budget: how long everything together may take to stop; 0 cancels without waiting, infinity waits for ever.
        event_capacity: events that may wait to be sent; more are dropped.
        event_flush: how long the last events may take when everything else has stopped.
        stall_threshold: the loop is reported when it stands still for longer (R 4, 14); 0 for never. Only where the manager's
            clock is the system's.
        request_histograms: whether the rest client's histograms are kept; they cost a little on each request. For an engine that
            is given they are its opener's to keep (`RequestNumbers`).
        garbage: whether the process's garbage collector is set up for many long-lived objects while the manager runs.
    """

    name: str = "dynamo-ctrl"
    cache: CacheOptions = field(default_factory=CacheOptions)
    controller: ControllerOptions = field(default_factory=ControllerOptions)
    controllers: Mapping[str, ControllerOptions] = field(default_factory=lambda: MappingProxyType({}))
    health_address: str = ""
    metrics_address: str = ""
    debug: bool = False
    leader_election: LeaderElectionOptions = field(default_factory=LeaderElectionOptions)
    sync_timeout: float = 10.0
    stop_budget: float = 30.0
    event_capacity: int = 1000
    event_flush: float = 5.0
    stall_threshold: float = 0.1
    request_histograms: bool = False
    garbage: bool = True

    def __post_init__(self) -> None:
        """Raises `ValueError` that names the field."""
        for name in ("sync_timeout", "stop_budget", "event_flush", "stall_threshold"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}: must not be negative, got {getattr(self, name)}")
        if self.event_capacity < 1:
            raise ValueError(f"event_capacity: must be at least 1, got {self.event_capacity}")
        if not _QUALIFIED_NAME.fullmatch(self.name):
            raise ValueError(f"name: must be a qualified name, or no event is taken, got {self.name!r}")

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
