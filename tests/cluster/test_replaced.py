"""A component that leaves its graph and comes back as another one while no manager looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, component, graph

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager


def test_its_deployment_and_workload_are_made_anew(place: Place, start_manager: StartManager) -> None:
    decode = component("decode", "decode")
    manager = start_manager()
    place.apply(graph(place.namespace, "g", component("Frontend", "frontend"), decode))
    place.wait_ready()
    assert manager.stop() == 0, manager.output
    before = {kind: place.get(kind, "g-frontend")["metadata"]["uid"] for kind in (COMPONENTS, "deployments")}
    place.apply(graph(place.namespace, "g", decode))
    place.apply(graph(place.namespace, "g", component("Frontend", "planner"), decode))
    mark = place.mark()
    start_manager()
    place.wait_ready()
    after = {kind: place.get(kind, "g-frontend") for kind in (COMPONENTS, "deployments")}
    assert after[COMPONENTS]["spec"]["type"] == "planner"
    labels = after["deployments"]["spec"]["template"]["metadata"]["labels"]
    assert labels["nvidia.com/dynamo-component-type"] == "planner"
    assert {kind for kind, live in after.items() if live["metadata"]["uid"] == before[kind]} == set()
    assert [request for request in place.requests(mark) if request.code == 422] == []
    wait_for("the event", lambda: "DeploymentReplaced" in place.kubectl("get", "events"), timeout=30)
