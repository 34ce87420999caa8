"""A graph of which one component cannot be rendered fails as a whole, with the field of the graph, before a workload is made."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.graph import DYNAMO_GRAPH_DEPLOYMENT as DGD
from dynamo_graph.testing import GraphWorld, component, graph

FRONTEND = component("Frontend", "frontend")
MOUNTS: dict[str, Any] = {"volumeMounts": [{"name": "No_Label", "mountPath": "/data"}]}


def message(world: GraphWorld) -> str:
    ready = find(world.graph().status.conditions, "Ready")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "failed_to_reconcile_the_resources")
    return ready.message


@pytest.mark.parametrize(
    ("broken", "field", "rule"),
    [
        (
            component("decode", "decode", compilationCache={"pvcName": "kernels"}),
            "compilationCache.mountPath",
            "mountPath is required",
        ),
        (
            component("decode", "decode", compilationCache={"pvcName": "a.b", "mountPath": "/c"}),
            "compilationCache.pvcName",
            "must be a DNS label",
        ),
        (
            component("decode", "decode", main={"volumeMounts": [{"mountPath": "/data"}]}),
            "podTemplate.spec.containers[main].volumeMounts[0].name",
            "name is required",
        ),
        (
            component("decode", "decode", main=MOUNTS),
            "podTemplate.spec.containers[main].volumeMounts[0].name",
            "a claim needs a DNS label",
        ),
    ],
)
def test_nothing_is_made_of_a_graph_with_a_broken_component(broken: dict[str, Any], field: str, rule: str) -> None:
    world = GraphWorld(graph(FRONTEND, broken, backendFramework="sglang"))
    answer = world.pass_over_graph()
    assert answer.terminal
    told = message(world)
    assert f"spec.components[1].{field}: " in told
    assert rule in told
    assert world.graph().status.state == "failed"
    assert world.deployments() == []


def test_a_graph_that_runs_keeps_running_when_an_edit_breaks_it() -> None:
    world = GraphWorld(graph(FRONTEND))
    world.converge()
    world.run_pods()
    before = world.deployment("g-frontend").spec
    broken = component("Frontend", "frontend", image="registry.example/w:2.0.0", main=MOUNTS)
    world.cache.edit(DGD, "ns/g", {"spec": {"components": [broken]}})
    assert world.pass_over_graph().terminal
    assert "spec.components[0].podTemplate.spec.containers[main].volumeMounts[0].name" in message(world)
    assert world.deployment("g-frontend").spec == before


def test_what_only_the_cluster_can_tell_does_not_hold_a_graph_back() -> None:
    claiming = {
        "spec": {
            "containers": [{"name": "main", "image": "registry.example/w:1.4.0"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
        }
    }
    world = GraphWorld(graph(component("decode", "decode", podTemplate=claiming)))
    world.pass_over_graph()
    assert len(world.deployments()) == 1
