"""A real server behind a bad line (issue 4, 5): whatever befalls requests and streams, the manager ends where it would anyway.

The manager reaches the server through a proxy that throttles, fails, loses answers, cuts streams and refuses connections. The
user and the test do not. `test_crash.py` has the server that dies.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from envtest import Cluster
from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, component, graph
from envtest.installation import Installation
from envtest.manager import ManagerProcess
from envtest.proxy import Proxy

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

HEALING = 60.0
"""Seconds until all is well again: a watch that was refused is opened again after 30 s at the latest."""

AWAY = 5.0
"""Seconds for which connections are refused. A minute of it is simulated (`tests/simulation/test_server.py`)."""


@pytest.fixture(scope="module")
def line(cluster: Cluster) -> Iterator[Proxy]:
    """The line between the manager and the server."""
    with Proxy(cluster) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def manager(
    line: Proxy, installation: Installation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerProcess]:
    """One manager for all tests: what one fault leaves behind would show in the next."""
    log = tmp_path_factory.mktemp("manager") / "manager.log"
    with ManagerProcess(line.kubeconfig(installation.kubeconfig()), log) as manager:
        manager.wait_ready()
        yield manager
        assert manager.stop() == 0, manager.output
        for word in ("Traceback", "destroyed", "Unclosed"):
            assert word not in manager.output


def cached(manager: ManagerProcess) -> dict[str, int]:
    """How many graphs and components the manager sees."""
    body = manager.get("/metrics")[1]
    found = re.findall(r'^dynamo_ctrl_informer_objects\{kind="([^"]+)"\} (\S+)$', body, re.MULTILINE)
    return {kind: int(float(number)) for kind, number in found if kind.split(".")[0] in (GRAPHS, COMPONENTS)}


def stored(cluster: Cluster) -> dict[str, int]:
    """How many of them there are."""
    group = "/apis/nvidia.com/v1beta1"
    return {f"{each}.nvidia.com": len(cluster.api.get(f"{group}/{each}")["items"]) for each in (GRAPHS, COMPONENTS)}


def followed(cluster: Cluster, place: Place, manager: ManagerProcess, replicas: int) -> None:
    """A change that was made meanwhile is carried out, once, and the manager sees what there is."""
    place.wait_ready(timeout=HEALING)

    def done() -> bool:
        (frontend,) = [
            each for name, each in place.children().items() if re.fullmatch(r"deployments/g-frontend.*", name)
        ]
        return bool(frontend["spec"]["replicas"] == replicas)

    wait_for("the change to be carried out", done, timeout=HEALING)
    place.comes_to_rest()
    manager.wait_ready(HEALING)
    wait_for("the cache to hold what there is", lambda: cached(manager) == stored(cluster), timeout=HEALING)
    created = place.created()
    assert len(created) == len(set(created)), "nothing is made twice"


def frontend_with(replicas: int) -> dict[str, object]:
    return component("Frontend", "frontend", replicas=replicas)


def ready_graph(place: Place) -> None:
    place.apply(graph(place.namespace, "g", frontend_with(1)))
    place.wait_ready()
    place.comes_to_rest()


def change(place: Place, replicas: int) -> None:
    place.apply(graph(place.namespace, "g", frontend_with(replicas)))


def test_every_stream_breaks_again_and_again(
    cluster: Cluster, place: Place, line: Proxy, manager: ManagerProcess
) -> None:
    ready_graph(place)
    for replicas in (2, 3, 2):
        line.cut()
        change(place, replicas)
        line.cut()
    followed(cluster, place, manager, 2)


@pytest.mark.parametrize(("code", "retry_after"), [(429, 1), (500, None)], ids=["throttled", "failed"])
def test_requests_are_refused_for_a_while(
    cluster: Cluster, place: Place, line: Proxy, manager: ManagerProcess, code: int, retry_after: int | None
) -> None:
    """Twelve requests of all kinds: writes, and the watches that open again because their streams broke."""
    ready_graph(place)
    refused = line.answer("", f"/{place.namespace}/|watch=", code, times=12, retry_after=retry_after)
    line.cut()
    change(place, 2)
    wait_for("requests to be refused", lambda: refused.given == 12, timeout=HEALING)
    followed(cluster, place, manager, 2)


@pytest.mark.parametrize(
    ("method", "target"), [("POST", f"/{COMPONENTS}"), ("PATCH", f"/{GRAPHS}/g/status")], ids=["created", "status"]
)
def test_an_answer_is_lost_after_the_server_has_done_what_it_was_asked_for(
    cluster: Cluster, place: Place, line: Proxy, manager: ManagerProcess, method: str, target: str
) -> None:
    held = line.hold(method, f"/namespaces/{place.namespace}{target}", when="answer")
    place.apply(graph(place.namespace, "g", frontend_with(1)))
    held.wait(30)
    held.drop()
    followed(cluster, place, manager, 1)


def test_connections_are_refused_for_a_while(
    cluster: Cluster, place: Place, line: Proxy, manager: ManagerProcess
) -> None:
    ready_graph(place)
    with line.away():
        change(place, 2)
        time.sleep(AWAY)
        assert manager.alive
    followed(cluster, place, manager, 2)
