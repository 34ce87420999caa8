"""What `config/` installs, on a cluster: definitions, rights, and who the manager is there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from envtest.api import ApiError, wait_for
from envtest.audit import Trail
from envtest.cluster import Cluster

CONFIG: Final = Path(__file__).parents[1] / "config"
NAMESPACE: Final = "dynamo-system"
NAME: Final = "dynamo-manager"
"""Of the ServiceAccount, of its two roles, of the bindings between them, and of the lease that its replicas share."""

ROLE: Final = CONFIG / "rbac/role.yaml"
"""The generated file."""

RESTRICTED: Final = CONFIG / "restricted/role.yaml"
"""Its like for a manager that keeps to one namespace."""

TIMEOUT: Final = 30.0
"""Seconds for the definitions to be served, and to be gone again."""

_API: Final = "/apis/nvidia.com/v1beta1"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_ROLES: Final = f"{_RBAC}/clusterroles"


class Installation:
    """`kubectl apply --server-side -k config/default`, and what follows from it.

    Attributes:
        trail: what the manager's account asked of the server.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.trail = Trail(cluster.audit_log, f"system:serviceaccount:{NAMESPACE}:{NAME}")

    def apply(self) -> str:
        """Install everything, or what is missing of it; returns what kubectl says when the definitions are served."""
        said = self._cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(CONFIG / "default"))
        for name in definitions():
            self._cluster.kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={TIMEOUT:.0f}s")
        wait_for("graphs to be served", self._served, timeout=TIMEOUT)
        return said

    def _served(self) -> bool:
        try:
            return bool(self._cluster.api.get(f"{_API}/dynamographdeployments"))
        except ApiError as error:
            if error.code not in (404, 429):  # unknown yet, or its storage is still being made
                raise
            return False

    def kubeconfig(self) -> Path:
        """A kubeconfig of the manager's account, good for an hour."""
        return self._cluster.service_account(NAMESPACE, NAME)

    def remove_definitions(self) -> None:
        """Delete the definitions, and all objects of them, manager or not; returns when they are gone."""
        for name in definitions():
            plural = name.partition(".")[0]
            with suppress(ApiError):  # not there
                for each in self._cluster.api.get(f"{_API}/{plural}")["items"]:
                    self._let_go(
                        f"{_API}/namespaces/{each['metadata']['namespace']}/{plural}/{each['metadata']['name']}"
                    )
        self._cluster.kubectl("delete", "crd", *definitions(), "--ignore-not-found", f"--timeout={TIMEOUT:.0f}s")

    def _let_go(self, path: str) -> None:
        with suppress(ApiError):  # gone meanwhile
            self._cluster.api.delete(path)
            self._cluster.api.merge(path, {"metadata": {"finalizers": None}})

    def rules(self) -> list[dict[str, Any]]:
        """The rules of the account's role in the cluster."""
        rules: list[dict[str, Any]] = self._cluster.api.get(f"{_ROLES}/{NAME}")["rules"]
        return rules

    def rules_at_home(self) -> list[dict[str, Any]]:
        """The rules of the account's role in its own namespace."""
        rules: list[dict[str, Any]] = self._cluster.api.get(f"{_RBAC}/namespaces/{NAMESPACE}/roles/{NAME}")["rules"]
        return rules

    def set_rules(self, rules: list[dict[str, Any]]) -> None:
        """Replace the rules of the account's role in the cluster."""
        self._cluster.api.merge(f"{_ROLES}/{NAME}", {"rules": rules})


def definitions() -> list[str]:
    """The names of the definitions that `config/crd` holds."""
    return sorted(
        yaml.safe_load(file.read_text())["metadata"]["name"] for file in (CONFIG / "crd").glob("nvidia.com_*")
    )
