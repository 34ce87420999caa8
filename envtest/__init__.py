"""A real Kubernetes cluster for tests: found or built once, started in seconds, gone without a trace.

    from envtest import Cluster, find_binaries

    with Cluster(find_binaries()) as cluster:
        print(cluster.kubeconfig)

`python -m envtest` does the same for people. There are no kubelets: kwok plays the nodes, by the rules in `stages/`.
"""

from __future__ import annotations

from envtest.api import Api, ApiError
from envtest.binaries import Binaries, find_binaries
from envtest.cluster import Cluster, ClusterOptions
from envtest.errors import BinariesMissing, BuildFailed, EnvtestError, StartFailed

__all__ = [
    "Api",
    "ApiError",
    "Binaries",
    "BinariesMissing",
    "BuildFailed",
    "Cluster",
    "ClusterOptions",
    "EnvtestError",
    "StartFailed",
    "find_binaries",
]
