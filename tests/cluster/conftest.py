"""What the tests of this folder share: the manager as a process of its own, on the real cluster, under `config/rbac`.

The manager works in all namespaces, as it is installed; so a test starts none while another one runs.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from envtest import ApiError, Cluster
from envtest.api import wait_for
from envtest.audit import Request
from envtest.graphs import COMPONENTS, GRAPHS, Tree, path
from envtest.installation import NAMESPACE, Installation
from envtest.manager import ManagerProcess

TIMEOUT = 60.0
"""Seconds for a graph to become Ready, and for a garbage collector to notice new definitions (it looks every 30 s)."""

UNSTABLE = frozenset(
    {
        *("uid", "resourceVersion", "creationTimestamp", "managedFields", "status"),
        *("clusterIP", "clusterIPs", "deployment.kubernetes.io/revision", "nvidia.com/last-applied-hash"),
    }
)
"""Fields that differ from one child to the next. The hash is one of texts that hold the graph's name."""

CHILDREN = (COMPONENTS, "deployments", "services", "serviceaccounts", "roles", "rolebindings")
"""What the manager makes for a graph."""


@pytest.fixture(scope="session")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """`config/default`, applied once. The definitions stay; the namespace goes, with the account and its rights' subject."""
    installation = Installation(cluster)
    installation.apply()
    yield installation
    with contextlib.suppress(ApiError, OSError):
        cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}")


class Place:
    """A namespace of the real cluster, and what the manager does in it.

    Attributes:
        namespace: its name.
    """

    def __init__(self, cluster: Cluster, installation: Installation, namespace: str) -> None:
        self.cluster = cluster
        self.api = cluster.api
        self.namespace = namespace
        self._trail = installation.trail

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the namespace; a failure shows what it said."""
        try:
            return self.cluster.kubectl("-n", self.namespace, *arguments, stdin=stdin)
        except subprocess.CalledProcessError as error:
            pytest.fail(f"kubectl {' '.join(arguments)}: {error.stderr}", pytrace=False)

    def apply(self, *objects: Tree) -> str:
        """`kubectl apply --server-side`."""
        return self.kubectl(
            "apply",
            "--server-side",
            "-f",
            "-",
            stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}),
        )

    def wait_ready(self, *names: str, timeout: float = TIMEOUT) -> None:
        """`kubectl wait --for=condition=Ready`, and the present generation was seen."""
        wanted = [f"dgd/{name}" for name in names or ("g",)]
        for name in names or ("g",):
            wait_for(f"generation of {name} to be seen", partial(self._seen, name), timeout=timeout)
        self.kubectl("wait", "--for=condition=Ready", *wanted, f"--timeout={timeout:.0f}s")

    def _seen(self, name: str) -> bool:
        graph = self.get(GRAPHS, name)
        observed = graph.get("status", {}).get("observedGeneration")
        return bool(observed == graph["metadata"]["generation"])

    def get(self, resource: str, name: str) -> Tree:
        """One object."""
        found: Tree = self.api.get(path(self.namespace, resource, name))
        return found

    def all(self, resource: str, *, selector: str = "") -> list[Tree]:
        """The objects of a kind."""
        query = f"?labelSelector={selector}" if selector else ""
        found: list[Tree] = self.api.get(path(self.namespace, resource) + query)["items"]
        return found

    def edit(self, resource: str, name: str, patch: Tree) -> Tree:
        """Merge `patch` into an object."""
        edited: Tree = self.api.merge(path(self.namespace, resource, name), patch)
        return edited

    def children(self) -> dict[str, Tree]:
        """Everything that graphs own here, directly or not, by `resource/name`."""
        return {
            f"{resource}/{each['metadata']['name']}": each
            for resource in CHILDREN
            for each in self.all(resource)
            if each["metadata"].get("ownerReferences")
        }

    def end_state(self, name: str, *unstable: str) -> dict[str, Any]:
        """All children of a graph, as if it were called `NAME`, without what differs from one object to the next."""
        left_out = UNSTABLE.union(unstable)

        def stable(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: stable(each) for key, each in value.items() if key not in left_out}
            if isinstance(value, list):
                return [stable(each) for each in value]
            return re.sub(rf"\b{name}\b", "NAME", value) if isinstance(value, str) else value

        children = self.children().items()
        return {stable(key): stable(child) for key, child in children if key.split("/")[1].startswith(f"{name}-")}

    def mark(self) -> int:
        """Now, for `requests`, `writes` and `created`."""
        return self._trail.mark()

    def requests(self, since: int = 0) -> list[Request]:
        """What the manager asked of the server here."""
        return self._trail.requests(since, self.namespace)

    def writes(self, since: int = 0) -> list[str]:
        """The writes of the manager here that were carried out, in words; events are left out."""
        return [f"{write.verb} {write.target}" for write in self._trail.writes(since, self.namespace)]

    def created(self, since: int = 0) -> list[str]:
        """The objects that the manager created here."""
        return self._trail.created(since, self.namespace)

    def comes_to_rest(self, quiet: float = 1.0) -> None:
        """Return when the manager has written nothing for so many seconds."""
        seen = -1

        def rests() -> bool:
            nonlocal seen
            before, seen = seen, len(self.writes())
            return before == seen

        wait_for("the manager to come to rest", rests, timeout=TIMEOUT, interval=quiet)


@pytest.fixture
def place(cluster: Cluster, installation: Installation, namespace: str) -> Place:
    """A namespace of this test."""
    return Place(cluster, installation, namespace)


StartManager = Callable[..., ManagerProcess]


@pytest.fixture
def start_manager(installation: Installation, tmp_path: Path) -> Iterator[StartManager]:
    """Starts managers: `start_manager(*flags, kubeconfig=..., ready=True)`. All are killed at the end."""
    with ExitStack() as stack:
        count = 0

        def start(*flags: Any, kubeconfig: Path | None = None, ready: bool = True) -> ManagerProcess:
            nonlocal count
            count += 1
            config = kubeconfig or installation.kubeconfig()
            manager = stack.enter_context(ManagerProcess(config, tmp_path / f"manager-{count}.log", *flags))
            if ready:
                manager.wait_ready()
            return manager

        yield start


@pytest.fixture(scope="module")
def manager(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    """One manager for all tests of a module; it must still be well when they are done."""
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    with ManagerProcess(installation.kubeconfig(), log) as manager:
        manager.wait_ready()
        yield manager
        assert manager.stop() == 0, manager.output
