"""The default probes of each component type (P 3.2). They name ports, so a user's port list decides where they go."""

from __future__ import annotations

from typing import Any, Final

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_graph.api.names import Port, PortName
from dynamo_graph.render.runtime_version import HEALTH_CHECK, STRICT_PREFIX, RuntimeVersion, at_least

Probes = dict[str, Any]
"""The three probes of a container, by their field names."""

NAMES: Final = frozenset({"livenessProbe", "readinessProbe", "startupProbe"})
"""Their field names."""


def worker(version: RuntimeVersion | None) -> Probes:
    """An engine: busy for seconds at a time, and up to two hours of loading."""
    failures = 3 if at_least(version, HEALTH_CHECK) else 1
    return {
        "livenessProbe": _http("/live", PortName.SYSTEM, period=5, timeout=4, failures=failures),
        "readinessProbe": _http("/health", PortName.SYSTEM, period=10, timeout=4, failures=3),
        "startupProbe": _http("/live", PortName.SYSTEM, period=10, timeout=5, failures=720),
    }


def planner() -> Probes:
    """A planner."""
    return worker(None)


def frontend(version: RuntimeVersion | None) -> Probes:
    """A frontend."""
    probes = {
        "livenessProbe": _http("/live", PortName.HTTP, delay=15, period=10, timeout=1, failures=3),
        "readinessProbe": _http("/health", PortName.HTTP, delay=10, period=10, timeout=3, failures=3),
    }
    if at_least(version, STRICT_PREFIX):
        probes["startupProbe"] = _http("/live", PortName.HTTP, period=10, timeout=1, failures=30)
    return probes


def endpoint_picker() -> Probes:
    """An endpoint picker, up to thirty minutes of start."""
    return {
        "livenessProbe": _grpc(delay=5, period=10),
        "readinessProbe": _grpc(delay=5, period=10),
        "startupProbe": _grpc(period=10, failures=180),
    }


def without_probes(container: JsonMap) -> dict[str, Any]:
    """A container that nobody asks how it is, the user's own probes included."""
    return {key: value for key, value in container.items() if key not in NAMES}


def _http(path: str, port: str, *, period: int, timeout: int, failures: int, delay: int = 0) -> dict[str, Any]:
    probe: dict[str, Any] = {"httpGet": {"path": path, "port": port}}
    if delay:
        probe["initialDelaySeconds"] = delay
    return {**probe, "periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}


def _grpc(*, period: int, delay: int = 0, failures: int = 0) -> dict[str, Any]:
    probe: dict[str, Any] = {"grpc": {"port": Port.EPP_HEALTH, "service": "inference-extension"}}
    if delay:
        probe["initialDelaySeconds"] = delay
    probe["periodSeconds"] = period
    if failures:
        probe["failureThreshold"] = failures
    return probe
