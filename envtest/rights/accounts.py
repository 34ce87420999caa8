"""The leg of the accounts that every namespace with graphs has: made, and bound anew when another role was meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dynamo_ctrl.objects.builtin.rbac import CLUSTER_ROLE
from dynamo_graph.component.cluster_accounts import PLANNER
from dynamo_graph.component.rbac_labels import rbac_labels
from envtest.cluster import Cluster
from envtest.graphs import component, graph
from envtest.rights.steps import Steps

PREFIX: Final = "tour-"
"""Of the names of the cluster roles."""

CONFIG: Final[dict[str, Any]] = {
    "rbac": {f"{who}ClusterRoleName": f"{PREFIX}{who.lower()}" for who in ("planner", "dgdrProfiling", "epp")}
}
"""What a manager's configuration calls the roles."""

_OTHER: Final = f"{PREFIX}other"


@contextmanager
def cluster_roles(cluster: Cluster) -> Iterator[None]:
    """The cluster roles are there. They grant nothing: to bind one that does is for the installation to permit, by its name."""
    names = [*CONFIG["rbac"].values(), _OTHER]
    try:
        for name in names:
            cluster.api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": name}})
        yield
    finally:
        cluster.kubectl("delete", "clusterrole", *names, "--ignore-not-found")


def bound_anew(steps: Steps) -> None:
    """Make the leg. It must come before every other graph of the namespace."""
    reference = {"apiGroup": CLUSTER_ROLE.group, "kind": CLUSTER_ROLE.kind, "name": _OTHER}
    steps.create("rolebindings", PLANNER.binding, metadata={"labels": rbac_labels(PLANNER.name)}, roleRef=reference)
    steps.apply(graph(steps.namespace, "bound", component("Frontend", "frontend")))
    steps.has("create", "serviceaccounts", PLANNER.name)
    steps.has("delete", "rolebindings", PLANNER.binding)
    steps.has("create", "rolebindings")
    steps.delete("dynamographdeployments", "bound")
