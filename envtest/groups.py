"""LeaderWorkerSet on a cluster where nobody plays it: its definition, and `LeaderWorkerSetProgram` as a process of its own.

The Pods that it makes are real ones: the scheduler places them, and kwok lets them live.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from data_plane.leader_worker_set import LeaderWorkerSetProgram
from data_plane.leader_worker_set_kind import LEADER_WORKER_SET, definition
from dynamo_ctrl.engine.registry import EngineConfig
from dynamo_ctrl.manager.manager import Manager
from dynamo_ctrl.manager.options import ManagerOptions
from envtest.api import ApiError, wait_for
from envtest.cluster import Cluster
from envtest.process import Process

if TYPE_CHECKING:
    from typing import Self

TIMEOUT: Final = 30.0
"""Seconds for the definition to be served, and to be gone again."""

_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Groups:
    """LeaderWorkerSets are served and played for as long as the block lasts."""

    def __init__(self, cluster: Cluster, log: Path) -> None:
        self._cluster = cluster
        self._log = log

    def __enter__(self) -> Self:
        document: dict[str, Any] = dict(definition())
        self._name = document["metadata"]["name"]
        self._cluster.api.create(_CRDS, document)
        self._cluster.kubectl("wait", "--for=condition=Established", f"crd/{self._name}", f"--timeout={TIMEOUT:.0f}s")
        wait_for("LeaderWorkerSets to be served", self._served, timeout=TIMEOUT)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._cluster.kubectl("delete", "crd", self._name, "--ignore-not-found", f"--timeout={TIMEOUT:.0f}s")

    def start(self) -> None:
        """Start the program, also again after `kill`."""
        command = (sys.executable, "-m", "envtest.groups", self._cluster.kubeconfig)
        self._process = Process("groups", command, self._log)

    def kill(self) -> None:
        """End it as a crash would. What it has made goes on."""
        self._process.kill()

    def _served(self) -> bool:
        try:
            return bool(self._cluster.api.get(LEADER_WORKER_SET.path()))
        except ApiError as error:
            if error.code not in (404, 429):
                raise
            return False


async def _run(kubeconfig: Path) -> None:
    config = EngineConfig(kubeconfig=kubeconfig, user_agent="groups")
    options = ManagerOptions(name="groups", garbage=False)
    async with Manager("kubernetes", programs=[LeaderWorkerSetProgram()], config=config, options=options) as manager:
        await manager.run()


if __name__ == "__main__":
    asyncio.run(_run(Path(sys.argv[1])))
