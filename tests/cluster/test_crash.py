"""The manager dies between its writes, and the server dies under the manager: both go on where they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from envtest import Cluster
from envtest.api import wait_for
from envtest.graphs import GRAPHS, SHARED, component, graph
from envtest.installation import Installation
from envtest.proxy import Proxy

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager


@pytest.mark.parametrize(
    ("method", "target", "when"),
    [
        pytest.param("PATCH", f"/{GRAPHS}/g/status", "request", id="T-E2E-05 before the status write"),
        pytest.param("PATCH", f"/{GRAPHS}/g/status", "answer", id="T-E2E-05 status written, answer lost"),
        pytest.param("POST", "/deployments", "answer", id="T-E2E-05 Deployment created, answer lost"),
    ],
)
def test_a_manager_that_is_killed_between_two_writes_ends_where_another_ends(
    cluster: Cluster,
    installation: Installation,
    place: Place,
    start_manager: StartManager,
    method: str,
    target: str,
    when: Any,
) -> None:
    with Proxy(cluster) as proxy:
        held = proxy.hold(method, rf"/namespaces/{place.namespace}{target}", when=when)
        first = start_manager(kubeconfig=proxy.kubeconfig(installation.kubeconfig()))
        place.apply(graph(place.namespace))
        held.wait(30)
        first.kill()
        held.drop()
    unfinished = place.get(GRAPHS, "g").get("status", {})
    assert unfinished.get("state") != "successful"
    start_manager()
    place.wait_ready()
    place.comes_to_rest()
    created = place.created()
    assert len(created) == len(set(created)) == 9 + len(SHARED)
    assert sorted(created) == sorted([*place.children(), *SHARED])

    place.apply(graph(place.namespace, "undisturbed"))
    place.wait_ready("undisturbed")
    place.comes_to_rest()
    assert len(place.end_state("g")) == 9
    assert place.end_state("g") == place.end_state("undisturbed")


def test_a_server_that_dies_and_comes_back_is_followed_again(
    cluster: Cluster, place: Place, start_manager: StartManager
) -> None:
    manager = start_manager()
    place.apply(graph(place.namespace))
    place.wait_ready()
    since = place.mark()
    cluster.stop_apiserver()
    wait_for("a line about the lost server", lambda: "source is stale" in manager.output, timeout=30)
    assert manager.alive
    cluster.start_apiserver()
    new = component("Frontend", "frontend", replicas=3, image="registry.example/dynamo/frontend:1.4.1")
    place.apply(graph(place.namespace, "g", new, component("decode", "decode")))
    place.wait_ready()
    manager.wait_ready()
    assert place.created(since) == []
    assert "Traceback" not in manager.output
    assert manager.stop() == 0
