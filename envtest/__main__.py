"""`python -m envtest`: a real cluster until Ctrl-C.

It prints the path of the administrator's kubeconfig as the only line on standard output, so that a script can read it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from envtest.binaries import find_binaries
from envtest.cluster import Cluster, ClusterOptions
from envtest.errors import EnvtestError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0, 1 when there can be no cluster here, 130 when it was interrupted before."""
    parser = argparse.ArgumentParser(prog="envtest", description="Start a real Kubernetes cluster for tests.")
    parser.add_argument("--nodes", type=int, default=1, help="how many nodes it has (default 1)")
    parser.add_argument("--build-only", action="store_true", help="find or build the binaries, and stop there")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        binaries = find_binaries(progress=_say)
        if options.build_only:
            _say(f"envtest: {binaries['kube-apiserver'].parent}")
            return 0
        _say("envtest: starting")
        with Cluster(binaries, ClusterOptions(nodes=options.nodes)) as cluster:
            print(cluster.kubeconfig, flush=True)
            _say(f"envtest: ready; try: KUBECONFIG={cluster.kubeconfig} {binaries['kubectl']} get nodes")
            _say("envtest: Ctrl-C stops it")
            try:
                signal.pause()
            except KeyboardInterrupt:
                _say("envtest: stopping")
    except KeyboardInterrupt:
        return 130
    except EnvtestError as error:
        _say(f"envtest: {error}")
        return 1
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
