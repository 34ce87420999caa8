"""Node objects for kwok to animate. A Node is an ordinary object; what it can hold is what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

CAPACITY: Final[Mapping[str, str]] = {"cpu": "64", "memory": "512Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
"""What a node offers unless it is told otherwise: enough for any test."""

ROLE: Final = "envtest.dynamo-ctrl.io/node"
"""A label that every node of the harness carries."""


def node(
    name: str,
    *,
    capacity: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """A Node with that capacity on top of `CAPACITY` (`{"nvidia.com/gpu": "8"}` works)."""
    resources = {**CAPACITY, **(capacity or {})}
    own = {ROLE: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints]},
        "status": {"capacity": resources, "allocatable": resources},
    }


def is_ready(content: Mapping[str, Any]) -> bool:
    """Whether a Node (or a Pod) has the condition Ready=True."""
    conditions = content.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
