"""The servers that are measured on, with their objects; the data of the large one are kept in the cache folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from envtest import Api
from tests.benchmarks.programs import PEERS, Progress, kept
from tests.benchmarks.scenes import PODS_100K, Seeder
from tests.benchmarks.server import cluster, storage_version


class Served:
    """A server, whoever started it.

    Attributes:
        environment: leads a program to it.
        seeder: brings its objects from scene to scene.
    """

    def __init__(self, api: Api, kubeconfig: Path, peerbench: tuple[str, ...], progress: Callable[[str], None]) -> None:
        self.environment = {"KUBECONFIG": str(kubeconfig)}
        self.seeder = Seeder(api, self.environment, peerbench, progress)


def find_data(peerbench: tuple[str, ...], progress: Progress) -> Path:
    """What etcd has to begin with for the large scenes, from the cache folder, where it is written the first time."""

    def seed(folder: Path) -> None:
        with cluster(progress) as running:
            Served(running.api, running.kubeconfig, peerbench, progress).seeder.reach(PODS_100K)
            running.keep(folder)

    sources = [PEERS / "controller_runtime" / name for name in ("objects.go", "seed.go", "widget.go", "go.mod")]
    return kept("pods-100k", sources, storage_version(), seed, progress, "seeding 100,000 Pods, once")
