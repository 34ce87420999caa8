"""Graphs for tests on the real cluster, as a user would write them."""

from __future__ import annotations

from typing import Any, Final

GRAPHS: Final = "dynamographdeployments"
COMPONENTS: Final = "dynamocomponentdeployments"
SHARED: Final = ("serviceaccounts/planner-serviceaccount", "rolebindings/planner-serviceaccount-binding")
"""What the manager makes once for all graphs of a namespace. It belongs to the namespace and goes with it."""

IMAGE: Final = "registry.example/dynamo/frontend:1.4.0"

Tree = dict[str, Any]


def component(name: str, type_: str, *, replicas: int = 1, image: str = IMAGE, **fields: Any) -> Tree:
    """One component with a container `main`."""
    containers = [{"name": "main", "image": image}]
    template = {"spec": {"containers": containers}}
    return {"name": name, "type": type_, "replicas": replicas, "podTemplate": template, **fields}


def graph(namespace: str, name: str = "g", *components: Tree) -> Tree:
    """A graph of those components; of a frontend with two replicas and a decode worker when there are none."""
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "backendFramework": "vllm",
            "components": list(components)
            or [component("Frontend", "frontend", replicas=2), component("decode", "decode")],
        },
    }


def path(namespace: str, resource: str, name: str = "", subresource: str = "") -> str:
    """The path of a collection or an object of `nvidia.com`, or of what a graph makes."""
    parts = (_prefix(resource), "namespaces", namespace, resource, name, subresource)
    return "/".join(part for part in parts if part)


def _prefix(resource: str) -> str:
    match resource:
        case "dynamographdeployments" | "dynamocomponentdeployments" | "dynamographdeploymentscalingadapters":
            return "/apis/nvidia.com/v1beta1"
        case "deployments" | "replicasets":
            return "/apis/apps/v1"
        case "leaderworkersets":
            return "/apis/leaderworkerset.x-k8s.io/v1"
        case "podgroups":
            return "/apis/scheduling.volcano.sh/v1beta1"
        case "roles" | "rolebindings":
            return "/apis/rbac.authorization.k8s.io/v1"
        case "ingresses":
            return "/apis/networking.k8s.io/v1"
        case "virtualservices" | "destinationrules":
            return "/apis/networking.istio.io/v1beta1"
        case "inferencepools":
            return "/apis/inference.networking.k8s.io/v1"
        case "events":
            return "/apis/events.k8s.io/v1"
        case _:
            return "/api/v1"


def conditions(obj: Tree) -> dict[str, str]:
    """The statuses of the conditions of an object, by type."""
    return {each["type"]: each["status"] for each in obj.get("status", {}).get("conditions") or ()}


def is_ready(obj: Tree) -> bool:
    """Whether the graph is Ready in its present generation."""
    observed = obj.get("status", {}).get("observedGeneration")
    return observed == obj["metadata"]["generation"] and conditions(obj).get("Ready") == "True"
