"""The leg of what happens again and again: an event that repeats becomes a series.

A policy of the cluster keeps the specs of graphs as they are, so that an adapter asks for the same in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from envtest.api import ApiError
from envtest.cluster import Cluster
from envtest.graphs import GRAPHS, component, graph, path
from envtest.rights.scaling import ADAPTERS
from envtest.rights.steps import Steps

NAME: Final = "tour-keeps-specs"
"""Of the policy and of its binding."""

_API_VERSION: Final = "admissionregistration.k8s.io/v1"


def repeats(steps: Steps, cluster: Cluster) -> None:
    """Make the leg."""
    steps.apply(graph(steps.namespace, "kept", component("Frontend", "frontend", scalingAdapter={})))
    steps.has("create", ADAPTERS, "kept-frontend")
    kept = path(steps.namespace, GRAPHS, "kept")
    with _specs_kept(cluster, steps.namespace):
        steps.until("the policy to be in force", lambda: _refuses(cluster, kept))
        steps.edit(ADAPTERS, "kept-frontend", {"spec": {"replicas": 2}})
        steps.has("patch", "events")
    steps.until("the end of the policy", lambda: not _refuses(cluster, kept))
    steps.delete(GRAPHS, "kept")


@contextmanager
def _specs_kept(cluster: Cluster, namespace: str) -> Iterator[None]:
    rules = [{"apiGroups": ["nvidia.com"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [GRAPHS]}]
    policy: dict[str, Any] = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "object.spec == oldObject.spec", "message": "specs are kept"}],
    }
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    binding: dict[str, Any] = {"policyName": NAME, "validationActions": ["Deny"], "matchResources": here}
    made = {"validatingadmissionpolicies": policy, "validatingadmissionpolicybindings": binding}
    try:
        for resource, spec in made.items():
            cluster.api.create(f"/apis/{_API_VERSION}/{resource}", _object(resource, spec))
        yield
    finally:
        cluster.kubectl("delete", ",".join(made), NAME, "--ignore-not-found")


def _object(resource: str, spec: dict[str, Any]) -> dict[str, Any]:
    kind = "ValidatingAdmissionPolicyBinding" if "binding" in resource else "ValidatingAdmissionPolicy"
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def _refuses(cluster: Cluster, where: str) -> bool:
    """Whether another spec would be refused; nothing is written."""
    try:
        cluster.api.merge(f"{where}?dryRun=All", {"spec": {"annotations": {"another": "spec"}}})
    except ApiError as error:
        if "specs are kept" not in str(error):
            raise
        return True
    return False
