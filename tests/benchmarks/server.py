"""The server that everything is measured on: a real etcd and kube-apiserver, no controllers, nothing that throttles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from envtest import Cluster, ClusterOptions, find_binaries

BINARIES: Final = ("etcd", "kube-apiserver")

OPTIONS: Final = ClusterOptions(
    controllers=(),
    scheduler=False,
    kwok=False,
    nodes=0,
    apiserver=(
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
    ),
)


def cluster(progress: Callable[[str], None]) -> Cluster:
    """The server, not started yet. Raises `EnvtestError` where there can be none."""
    return Cluster(find_binaries(BINARIES, progress=progress), OPTIONS)
