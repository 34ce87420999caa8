"""When an object counts as ready, and what to say while it is not.

The rule reads nothing but the object. A deletion timestamp means "not ready", and so does a status that has not seen the current
generation; then the `Ready` condition decides, else `Available`; an object that has neither is ready as soon as it exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from dynamo_ctrl.objects.object import Object


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an object is ready, and why not (or what it says of itself)."""

    ready: bool
    text: str


def readiness(obj: Object[Any, Any]) -> Readiness:
    """The readiness of one object, from its own status."""
    if obj.metadata.deletion_timestamp is not None:
        return Readiness(False, "being deleted")
    section = obj.section("status")
    status = msgspec.json.decode(section) if section else {}
    conditions = {
        condition.get("type"): condition
        for condition in (status.get("conditions") or () if isinstance(status, Mapping) else ())
    }
    decisive = conditions.get("Ready") or conditions.get("Available")
    observed = status.get("observedGeneration")
    if isinstance(observed, int) and observed < obj.metadata.generation:
        failure = decisive.get("message") if decisive and decisive.get("status") == "False" else None
        return Readiness(False, failure or f"generation {obj.metadata.generation} not observed yet")
    if decisive is None:
        if _has_status(obj):
            return Readiness(False, "no status yet")
        return Readiness(True, "exists")
    text = decisive.get("message") or decisive.get("reason") or ""
    return Readiness(decisive.get("status") == "True", text)


def _has_status(obj: Object[Any, Any]) -> bool:
    """Custom kinds with a status of their own start without one; built-in kinds without conditions never get any."""
    return obj.kind.status_subresource and "." in obj.kind.group and not obj.kind.group.endswith(".k8s.io")
