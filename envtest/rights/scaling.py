"""The leg of scaling adapters: made, kept, obeyed, and removed."""

from __future__ import annotations

from typing import Any, Final

from envtest.graphs import GRAPHS, Tree, component, graph
from envtest.proxy import Hold, Proxy
from envtest.rights.steps import TIMEOUT, Steps

ADAPTERS: Final = "dynamographdeploymentscalingadapters"


def names_that_are_taken(steps: Steps, unseen: Hold) -> None:
    """An adapter of somebody else that the manager has not seen yet; it takes it over as soon as it sees it."""
    kind: dict[str, Any] = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentScalingAdapter"}
    reference = {"name": "taken-g", "componentName": "Other"}
    steps.create(ADAPTERS, "taken-g-frontend", **kind, spec={"replicas": 1, "dgdRef": reference})
    steps.apply(_graph(steps, "taken-g"))
    steps.has("get", ADAPTERS, "taken-g-frontend")
    unseen.release()
    steps.has("patch", ADAPTERS, "taken-g-frontend")
    steps.delete(GRAPHS, "taken-g")


def scaling(steps: Steps, proxy: Proxy) -> None:
    """Make the leg."""
    status = proxy.hold("PATCH", rf"/{ADAPTERS}/scaled-frontend/status")
    steps.apply(_graph(steps, "scaled"))
    steps.has("create", ADAPTERS, "scaled-frontend")
    status.wait(TIMEOUT)
    steps.edit(ADAPTERS, "scaled-frontend", {"metadata": {"annotations": {"moved": "yes"}}})
    status.release()
    steps.has("get", ADAPTERS, "scaled-frontend")
    steps.edit(ADAPTERS, "scaled-frontend", {"spec": {"replicas": 2}})
    steps.has("patch", GRAPHS, "scaled")
    steps.apply(graph(steps.namespace, "scaled", component("Frontend", "frontend")))
    steps.has("delete", ADAPTERS, "scaled-frontend")
    steps.delete(GRAPHS, "scaled")


def _graph(steps: Steps, name: str) -> Tree:
    return graph(steps.namespace, name, component("Frontend", "frontend", scalingAdapter={}))
