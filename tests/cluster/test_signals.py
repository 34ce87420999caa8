"""How the process ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dynamo_ctrl.manager.options import ManagerOptions
from envtest import Cluster
from envtest.api import wait_for
from envtest.graphs import component, graph, path
from envtest.installation import Installation
from envtest.proxy import Proxy

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager


def test_sigterm_ends_with_0_and_leaves_no_connection(
    cluster: Cluster, installation: Installation, place: Place, start_manager: StartManager
) -> None:
    with Proxy(cluster) as proxy:
        manager = start_manager(kubeconfig=proxy.kubeconfig(installation.kubeconfig()))
        place.apply(graph(place.namespace))
        place.wait_ready()
        assert proxy.open > 5
        began = time.monotonic()
        assert manager.stop() == 0
        assert time.monotonic() - began < ManagerOptions().stop_budget / 2
        wait_for("the connections to end", lambda: proxy.open == 0, timeout=30)
        assert proxy.broken == 0
    for word in ("Warning", "Traceback", "destroyed", "Unclosed"):
        assert word not in manager.output


def test_a_second_sigterm_ends_at_once(
    cluster: Cluster, installation: Installation, place: Place, start_manager: StartManager
) -> None:
    """A stop waits for the last events to be told; this one is held back."""
    with Proxy(cluster) as proxy:
        manager = start_manager(kubeconfig=proxy.kubeconfig(installation.kubeconfig()))
        held = proxy.hold("POST", r"/events")
        account = {"metadata": {"name": "g-k8s-service-discovery"}}
        place.api.create(path(place.namespace, "serviceaccounts"), account)
        place.apply(graph(place.namespace, "g", component("Frontend", "frontend")))
        held.wait(30)
        manager.terminate()
        time.sleep(0.7)
        assert manager.alive
        manager.terminate()
        assert manager.wait(30) == 1, "a stop that was waited for would have ended with 0"
