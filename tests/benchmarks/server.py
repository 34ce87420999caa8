"""The server that everything is measured on: a real etcd and kube-apiserver, no controllers, nothing that throttles."""

from __future__ import annotations

import base64
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from envtest import Api, Cluster, ClusterOptions, find_binaries
from envtest.build import KUBERNETES

BINARIES: Final = ("etcd", "kube-apiserver")

OPTIONS: Final = ClusterOptions(
    controllers=(),
    scheduler=False,
    kwok=False,
    nodes=0,
    timeout=240.0,
    apiserver=(
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=4000",
        "--max-mutating-requests-inflight=2000",
    ),
)


def cluster(progress: Callable[[str], None], data: Path | None = None) -> Cluster:
    """The server, not started yet; etcd begins with a copy of `data`. Raises `EnvtestError` where there can be none."""
    return Cluster(find_binaries(BINARIES, progress=progress), replace(OPTIONS, data=data))


def storage_version() -> str:
    """Names the format of what a server stores."""
    return f"kube-apiserver {KUBERNETES}"


def at_kubeconfig(path: Path) -> Api:
    """The server that a kubeconfig of this harness leads to."""
    content = yaml.safe_load(path.read_text())
    server, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    return Api(server["server"], base64.b64decode(server["certificate-authority-data"]), user["token"])


def main() -> None:
    """Run the server until a signal comes; prints the kubeconfig's path. For measuring single rows again and again."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), cluster(print) as running:
        print(running.kubeconfig, flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
