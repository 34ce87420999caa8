"""The leg of engines that span nodes: LeaderWorkerSets, the scripts by which they wait, the keys by which they reach each other.

Their API is served here and nobody plays its controller, so nothing of this leg becomes Ready.
"""

from __future__ import annotations

from typing import Any, Final

from envtest.graphs import COMPONENTS, Tree, component, graph
from envtest.installation import NAMESPACE
from envtest.rights.steps import Steps

SETS: Final = "leaderworkersets"
TYPED: Final = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoComponentDeployment"}

CONFIG: Final[Tree] = {"mpi": {"sshSecretName": "mpi-ssh-keys", "sshSecretNamespace": NAMESPACE}}
"""The configuration of a manager that can make the keys."""


def worker(framework: str, *, image: str = "registry.example/dynamo/worker:1.4.0") -> Tree:
    """A worker whose engine spans two nodes."""
    spanning = component("decode", "decode", image=image, multinode={"nodeCount": 2})
    [main] = spanning["podTemplate"]["spec"]["containers"]
    main |= {
        "command": ["python3"],
        "args": ["-m", f"dynamo.{framework}", "--model", "m", "--tensor-parallel-size", "2"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    return spanning


def spanning(steps: Steps) -> None:
    """Make the leg. The manager does not see LeaderWorkerSets yet when it begins, and sees them as soon as it needs to."""
    steps.apply(graph(steps.namespace, "wide", worker("vllm")))
    steps.has("create", "configmaps", "wide-wait-leader-script")
    steps.has("create", SETS)
    steps.orphan("configmaps", "wide-wait-leader-script")
    _a_component_that_changes_what_it_runs_on(steps)
    keys = graph(steps.namespace, "keys", worker("trtllm"))
    keys["spec"]["backendFramework"] = "trtllm"
    steps.apply(keys)
    steps.has("create", "secrets")
    steps.has("get", "secrets")
    for name in ("wide", "keys"):
        steps.delete("dynamographdeployments", name)


def names_that_are_taken(steps: Steps) -> None:
    """Objects of others with the names of children, which the manager has not seen yet."""
    steps.create("configmaps", "taken-e-wait-leader-script")
    steps.apply(graph(steps.namespace, "taken-e", worker("vllm")))
    steps.has("get", "configmaps", "taken-e-wait-leader-script")
    steps.delete("dynamographdeployments", "taken-e")
    kind: dict[str, Any] = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    steps.create(SETS, "taken-f-0", **kind)
    _create_component(steps, "taken-f")
    steps.has("get", SETS, "taken-f-0")
    steps.delete(COMPONENTS, "taken-f")


def _a_component_that_changes_what_it_runs_on(steps: Steps) -> None:
    made = _create_component(steps, "span")
    steps.has("create", SETS, "span-0")
    steps.orphan(SETS, "span-0")
    steps.edit(COMPONENTS, "span", {"spec": {"multinode": None}})
    steps.has("delete", SETS, "span-0")
    steps.edit(COMPONENTS, "span", {"spec": {"multinode": {"nodeCount": 2}}})
    steps.has("delete", "deployments", "span")
    owner = {**TYPED, "name": "span", "uid": made["metadata"]["uid"], "controller": True}
    legacy: dict[str, Any] = {"labels": {"instance-id": "0"}, "ownerReferences": [owner]}
    steps.create("podgroups", "span-0", apiVersion="scheduling.volcano.sh/v1beta1", kind="PodGroup", metadata=legacy)
    steps.has("delete", "podgroups", "span-0")
    etcd = {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}
    steps.edit(COMPONENTS, "span", {"spec": {"podTemplate": {"metadata": etcd}}})
    steps.has("delete", "services", "span")
    steps.delete(COMPONENTS, "span")


def _create_component(steps: Steps, name: str) -> Tree:
    """A component deployment without a graph."""
    metadata: dict[str, Any] = {"labels": {"nvidia.com/dynamo-namespace": steps.namespace}}
    return steps.create(
        COMPONENTS, name, **TYPED, metadata=metadata, spec={**worker("vllm"), "backendFramework": "vllm"}
    )
