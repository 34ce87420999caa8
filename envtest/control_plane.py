"""The command lines of a cluster's components. Pure: paths and ports in, arguments out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SERVICE_NETWORK: Final = "10.0.0.0/16"
POD_NETWORK: Final = "10.244.0.0/16"
KUBERNETES_SERVICE: Final = "10.0.0.1"
"""The address of the Service `kubernetes`, which the serving certificate must name."""

NODE_LEASE: Final = 40
"""Seconds that a node's sign of life is good for; it is renewed every ten."""

STAGES: Final = Path(__file__).with_name("stages")
"""The rules by which kwok plays nodes and Pods."""


@dataclass(frozen=True)
class Layout:
    """The files and ports of one cluster."""

    directory: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int
    controller_manager_port: int
    scheduler_port: int

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return f"https://127.0.0.1:{self.api_port}"

    @property
    def etcd_url(self) -> str:
        """Where etcd listens for clients."""
        return f"http://127.0.0.1:{self.etcd_port}"

    @property
    def data(self) -> Path:
        """What etcd stores."""
        return self.directory / "etcd"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "admin.kubeconfig"

    def certificate(self, name: str) -> Path:
        """A certificate in PEM; `ca` is the authority."""
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key beside a certificate."""
        return self.directory / f"{name}.key"

    @property
    def tokens(self) -> Path:
        """The server's static tokens."""
        return self.directory / "tokens.csv"

    @property
    def audit_log(self) -> Path:
        """What service accounts asked of the API server, one event in a line."""
        return self.directory / "audit.log"

    @property
    def audit_policy(self) -> Path:
        """Which requests the audit log tells."""
        return self.directory / "audit-policy.json"

    def log(self, name: str) -> Path:
        """The log of one component."""
        return self.directory / f"{name}.log"


def etcd(layout: Layout) -> tuple[str, ...]:
    """A single member that does not wait for the disk."""
    peer = f"http://127.0.0.1:{layout.etcd_peer_port}"
    return (
        f"--data-dir={layout.data}",
        f"--listen-client-urls={layout.etcd_url}",
        f"--advertise-client-urls={layout.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    )


def apiserver(layout: Layout, *, service_accounts: bool) -> tuple[str, ...]:
    """The API server, with RBAC, an audit log, and the strictest rule for owner references.

    Who refers to an owner that must wait for it needs the right to update the owner's finalizers, as on OpenShift.
    `service_accounts` says whether somebody makes each namespace's default ServiceAccount; without, Pods do not ask for one.
    """
    return (
        f"--etcd-servers={layout.etcd_url}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.api_port}",
        f"--tls-cert-file={layout.certificate('apiserver')}",
        f"--tls-private-key-file={layout.key('apiserver')}",
        f"--client-ca-file={layout.certificate('ca')}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        f"--audit-log-path={layout.audit_log}",
        f"--audit-policy-file={layout.audit_policy}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={layout.key('service-accounts')}",
        f"--service-account-signing-key-file={layout.key('service-accounts')}",
        *(() if service_accounts else ("--disable-admission-plugins=ServiceAccount",)),
    )


def controller_manager(layout: Layout, controllers: Sequence[str]) -> tuple[str, ...]:
    """The controllers of `controllers`, as `--controllers` reads them: `*`, `name`, `-name`."""
    return (
        f"--kubeconfig={layout.kubeconfig}",
        f"--authentication-kubeconfig={layout.kubeconfig}",
        f"--authorization-kubeconfig={layout.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.controller_manager_port}",
        "--leader-elect=false",
        f"--controllers={','.join(controllers)}",
        f"--service-account-private-key-file={layout.key('service-accounts')}",
        f"--root-ca-file={layout.certificate('ca')}",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )


def scheduler(layout: Layout) -> tuple[str, ...]:
    """The default scheduler."""
    return (
        f"--kubeconfig={layout.kubeconfig}",
        f"--authentication-kubeconfig={layout.kubeconfig}",
        f"--authorization-kubeconfig={layout.kubeconfig}",
        "--bind-address=127.0.0.1",
        f"--secure-port={layout.scheduler_port}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    )


def kwok(layout: Layout) -> tuple[str, ...]:
    """The kubelets of all nodes, played by the rules in `stages/`.

    It renews a Lease for each node (only if it is told how long one lasts); without, the node controller takes every node for
    dead after 50 s, and marks all Pods as not ready.
    """
    return (
        f"--kubeconfig={layout.kubeconfig}",
        "--manage-all-nodes",
        f"--node-lease-duration-seconds={NODE_LEASE}",
        f"--cidr={POD_NETWORK}",
        *(f"--config={stage}" for stage in sorted(STAGES.glob("*.yaml"))),
    )
