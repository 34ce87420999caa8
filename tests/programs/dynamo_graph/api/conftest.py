"""Servers that serve the kinds of this API: `memory`, `real`, and `server`, which is each of them in turn."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

import pytest

from dynamo_ctrl.objects.schema.crd import to_yaml
from dynamo_graph.api.crds import documents
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT
from envtest import ApiError, Cluster
from envtest.api import wait_for
from tests.programs.dynamo_graph.api.servers import MemoryServer, RealServer, Server, Tree

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISHED_TIMEOUT = 60.0
"""Seconds from applying a CRD to the server answering for it."""


@pytest.fixture(scope="module")
def crds(cluster: Cluster) -> list[Tree]:
    """The CRDs of the models, applied as a user would, and as the real server has them."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=to_yaml(documents()))

    def live() -> list[Tree] | None:
        found = [cluster.api.get(f"{CRDS}/{document['metadata']['name']}") for document in documents()]
        return found if all(_established(crd) for crd in found) else None

    found = wait_for("CRDs to be established", live, timeout=ESTABLISHED_TIMEOUT)
    path = DYNAMO_GRAPH_DEPLOYMENT.path("default")

    def served() -> bool:
        try:
            return bool(cluster.api.get(path))
        except ApiError as error:
            if error.code not in (404, 429):  # unknown yet, or its storage is still being made
                raise
            return False

    wait_for("graphs to be served", served, timeout=ESTABLISHED_TIMEOUT)
    return found


def _established(crd: Tree) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


@pytest.fixture
def memory() -> MemoryServer:
    """The memory engine's core."""
    return MemoryServer()


@pytest.fixture
def real(cluster: Cluster, crds: list[Tree]) -> Iterator[RealServer]:
    """A fresh namespace of the real cluster. It need not accept Pods, so nothing is waited for."""
    name = f"api-{secrets.token_hex(4)}"
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield RealServer(cluster, name)
    with contextlib.suppress(ApiError, OSError):
        cluster.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.cluster)])
def server(request: pytest.FixtureRequest) -> Server:
    """One server after the other."""
    found: Server = request.getfixturevalue(request.param)
    return found
