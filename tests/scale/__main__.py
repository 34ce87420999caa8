"""`python -m tests.scale [figure ...]`: the figures of docs/scale.md, measured here and now.

Figures: `converge` (10, 100 and 1,000 graphs on the embedded engine), `look` (a pass over a converged graph), `pods` (an event),
`crowd` (200 graphs and 10,000 foreign Pods on a real cluster). Without any: all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import structlog

from envtest import Cluster, find_binaries
from envtest.installation import Installation
from envtest.manager import ManagerProcess
from tests.benchmarks.machine import load, machine
from tests.cluster.conftest import Place
from tests.scale.crowd import crowded, lines
from tests.scale.embedded import converge, look, pod_events

SIZES = (10, 100, 1_000)
PODS = (100, 1_000, 10_000)
CROWD = {"graphs": 200, "pods": 10_000, "events": 2_000}
IDLE = 30.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    flags = argparse.ArgumentParser(prog="tests.scale", description=__doc__)
    flags.add_argument("figures", nargs="*", choices=[[], *FIGURES], help="what to measure; everything by default")
    wanted = flags.parse_args(arguments).figures or list(FIGURES)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    _say(f"{machine()}; {load():.1f} processes wanted to run when this began")
    for figure in wanted:
        for line in FIGURES[figure]():
            _say(f"{figure}: {line}")
    return 0


def _converge() -> Iterator[str]:
    for size in SIZES:
        seen = asyncio.run(converge(size))
        first, other = (each * 1e6 for each in seen.forced)
        yield (
            f"{size} graphs of three components: {seen.seconds:.1f} s, {seen.cpu:.1f} CPU s; each {seen.writes:.1f} writes, "
            f"{seen.requests:.1f} requests; a forced reconcile {first:.0f} us, then {other:.0f} us, {seen.wrote} writes"
        )


def _look() -> Iterator[str]:
    settled, whole = (each * 1e6 for each in look())
    yield f"a pass over a converged graph of five components: {settled:.0f} us; {whole:.0f} us when something was touched"


def _pods() -> Iterator[str]:
    for pods in PODS:
        each, reconciles = asyncio.run(pod_events(pods))
        yield f"an event of one of {pods} foreign Pods: {each * 1e6:.0f} us, {reconciles} reconciles for 1,000 of them"


def _crowd() -> Iterator[str]:
    with Cluster(find_binaries(progress=_say)) as cluster, tempfile.TemporaryDirectory() as directory:
        installation = Installation(cluster)
        installation.apply()
        cluster.kubectl("create", "namespace", "crowd")
        place = Place(cluster, installation, "crowd")
        with ManagerProcess(installation.kubeconfig(), Path(directory) / "manager.log") as manager:
            manager.wait_ready()
            yield from lines(crowded(place, manager, idle=IDLE, **CROWD))


FIGURES: dict[str, Callable[[], Iterator[str]]] = {
    "look": _look,
    "pods": _pods,
    "converge": _converge,
    "crowd": _crowd,
}


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
