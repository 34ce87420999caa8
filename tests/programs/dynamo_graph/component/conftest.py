"""Component deployments and Pods in a line, for tests of what is decided about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.component.inventory import Worker

MakeWorker = Callable[..., Worker]
MakePod = Callable[..., Pod]


def _worker(
    name: str,
    component: str = "decode",
    *,
    replicas: int | None = 1,
    available: int | None = None,
    total: int | None = None,
    age: int = 0,
    generation: int = 1,
    observed: int | None = None,
    status: bool = True,
    terminating: bool = False,
    kind: str = "Deployment",
    **component_status: Any,
) -> Worker:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "generation": generation,
        "creationTimestamp": f"2026-01-{20 - age:02d}T00:00:00Z",
    }
    if terminating:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    spec: dict[str, Any] = {"name": component, "type": "decode"}
    if replicas is not None:
        spec["replicas"] = replicas
    content: dict[str, Any] = {"metadata": metadata, "spec": spec}
    have = (replicas or 0) if available is None else available
    numbers = {
        "componentKind": kind,
        "componentNames": [name],
        "replicas": (replicas or 0) if total is None else total,
        "readyReplicas": have,
        **({"availableReplicas": have} if kind == "Deployment" else {}),
        **component_status,
    }
    content["status"] = {
        "observedGeneration": generation if observed is None else observed,
        **({"component": numbers} if status else {}),
    }
    return Worker(DYNAMO_COMPONENT_DEPLOYMENT.object(content), component)


def _pod(
    phase: str = "Running",
    *,
    selector: str | None = "old",
    deleting: bool = False,
    type_: str = "decode",
    **labels: str,
) -> Pod:
    found = {
        "nvidia.com/dynamo-graph-deployment-name": "g",
        "nvidia.com/dynamo-component": "decode",
        "nvidia.com/dynamo-component-type": type_,
        **({"nvidia.com/selector": selector} if selector is not None else {}),
        **labels,
    }
    metadata: dict[str, Any] = {"name": "p", "namespace": "ns", "labels": found}
    if deleting:
        metadata["deletionTimestamp"] = "2026-02-01T00:00:00Z"
    return POD.object({"metadata": metadata, "status": {"phase": phase}})


@pytest.fixture
def worker() -> MakeWorker:
    """Makes a worker deployment that has what it asks for, unless it is told otherwise; `age` in days."""
    return _worker


@pytest.fixture
def pod() -> MakePod:
    """Makes a Pod of a worker of the graph `g`."""
    return _pod
