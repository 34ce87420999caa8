"""`python -m envtest`: a real cluster until Ctrl-C.

It prints the path of the administrator's kubeconfig as the only line on standard output, so that a script can read it.
From that line on a signal means "stop": it is heard at any moment, however soon it comes, and a second one does not
break the stopping off.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final

from envtest.binaries import find_binaries
from envtest.cluster import Cluster, ClusterOptions
from envtest.errors import EnvtestError

_LISTEN_EVERY: Final = 0.5
"""Seconds between two looks at whether a signal came: one that comes just before a wait begins does not end the wait."""


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
            stop = _asked_to_stop()
            print(cluster.kubeconfig, flush=True)
            _say(f"envtest: ready; try: KUBECONFIG={cluster.kubeconfig} {binaries['kubectl']} get nodes")
            _say("envtest: Ctrl-C stops it")
            while not stop.wait(_LISTEN_EVERY):
                pass
            _say("envtest: stopping")
    except KeyboardInterrupt:
        return 130
    except EnvtestError as error:
        _say(f"envtest: {error}")
        return 1
    return 0


def _asked_to_stop() -> threading.Event:
    """What is set by SIGINT and SIGTERM from now on, instead of an interruption wherever the program happens to be."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    return asked


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
