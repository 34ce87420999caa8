"""Scaling adapters on the real cluster: through their scale subresource, by hand and by an autoscaler."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, Tree, component, graph, path

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

pytestmark = pytest.mark.usefixtures("manager")

ADAPTERS = "dynamographdeploymentscalingadapters"
DECODE = "nvidia.com/dynamo-component=decode"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
TIMEOUT = 120.0
"""Seconds for a scaling to reach the Pods. An autoscaler looks every 15 s, and at new kinds every 30 s."""


@pytest.fixture
def scaled(place: Place) -> Place:
    """A place with a Ready graph whose worker can be scaled."""
    place.apply(
        graph(
            place.namespace,
            "g",
            component("Frontend", "frontend"),
            component("decode", "decode", scalingAdapter={}),
        )
    )
    place.wait_ready(timeout=TIMEOUT)
    wait_for("the adapter's status", lambda: scale(place)["status"].get("selector"), timeout=TIMEOUT)
    return place


def scale(place: Place) -> Any:
    return place.api.get(path(place.namespace, ADAPTERS, "g-decode", "scale"))


def decode(place: Place) -> Tree:
    """The worker in the graph."""
    return next(each for each in place.get(GRAPHS, "g")["spec"]["components"] if each["name"] == "decode")


def runs(place: Place, replicas: int) -> None:
    """Return when graph, deployment, Pods and what an autoscaler sees are all of that size, and nothing rolled."""
    wait_for(f"{replicas} replicas in the graph", lambda: decode(place)["replicas"] == replicas, timeout=TIMEOUT)
    place.wait_ready(timeout=TIMEOUT)

    def living() -> int:
        pods = place.all("pods", selector=DECODE)
        return sum(not pod["metadata"].get("deletionTimestamp") for pod in pods)

    wait_for(f"{replicas} Pods", lambda: living() == replicas, timeout=TIMEOUT)
    wait_for(f"a scale of {replicas}", lambda: scale(place)["status"]["replicas"] == replicas, timeout=TIMEOUT)


def test_kubectl_scale_reaches_the_pods_and_starts_no_new_generation(scaled: Place) -> None:
    (before,) = scaled.all(COMPONENTS, selector=DECODE)
    assert scale(scaled)["status"] == {"replicas": 1, "selector": f"{DECODE},nvidia.com/dynamo-graph-deployment-name=g"}
    for replicas in (3, 0, 2):
        scaled.kubectl("scale", "dgdsa/g-decode", f"--replicas={replicas}")
        runs(scaled, replicas)
    (after,) = scaled.all(COMPONENTS, selector=DECODE)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    told = [each["note"] for each in scaled.all("events") if each["reason"] == "Scaled"]
    assert sorted(told) == [
        f"Scaled component decode from {old} to {new} replicas" for old, new in ((0, 2), (1, 3), (3, 0))
    ]


def test_an_autoscaler_of_at_least_three_brings_a_graph_of_one_to_three(scaled: Place) -> None:
    target = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentScalingAdapter", "name": "g-decode"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
    spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 5, "metrics": [metric]}
    scaled.api.create(AUTOSCALERS.format(scaled.namespace), {"metadata": {"name": "decode"}, "spec": spec})
    runs(scaled, 3)
    assert scaled.get(ADAPTERS, "g-decode")["spec"]["replicas"] == 3
    size = [{"op": "replace", "path": "/spec/components/0/replicas", "value": 2}]
    scaled.kubectl("patch", "dgd/g", "--type=json", "-p", json.dumps(size))
    scaled.wait_ready(timeout=TIMEOUT)
    assert scaled.get(ADAPTERS, "g-decode")["spec"]["replicas"] == 3, "the graph writes no size back"
    assert json.loads(scaled.kubectl("get", "hpa/decode", "-o", "json"))["status"]["desiredReplicas"] == 3
