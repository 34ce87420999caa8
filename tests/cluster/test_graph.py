"""A graph's life on the real cluster: real Deployments, ReplicaSets and Pods, played by kwok."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, component, conditions, graph
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

NEW_IMAGE = "registry.example/dynamo/frontend:1.4.1"

pytestmark = pytest.mark.usefixtures("manager")


@pytest.fixture
def ready(place: Place) -> Place:
    """A place with a graph `g` that is Ready."""
    place.apply(graph(place.namespace))
    place.wait_ready()
    return place


def images(place: Place, resource: str, selector: str) -> list[str]:
    """The images of the objects of a kind that want to run."""
    specs = [
        each["spec"].get("template", each)["spec"]
        for each in place.all(resource, selector=selector)
        if each["spec"].get("replicas", 1) and not each["metadata"].get("deletionTimestamp")
    ]
    return [spec["containers"][0]["image"] for spec in specs]


FRONTEND = "nvidia.com/dynamo-component=Frontend"


def test_a_graph_becomes_ready_through_real_pods(ready: Place) -> None:
    components = ready.all(COMPONENTS)
    assert [conditions(each)["Available"] for each in components] == ["True", "True"]
    pods = ready.all("pods")
    assert len(pods) == 3
    assert all(conditions(pod)["Ready"] == "True" for pod in pods)
    accounts = {pod["spec"]["serviceAccountName"] for pod in pods}
    assert accounts == {"g-k8s-service-discovery"}
    sets = ready.all("replicasets")
    assert sorted(each["status"]["readyReplicas"] for each in sets) == [1, 2]


def test_kubectl_shows_the_columns(ready: Place) -> None:
    graphs, _, deployments = ready.kubectl("get", "dgd,dcd").partition("\n\n")
    head, line = (row.split() for row in graphs.splitlines())
    assert head == ["NAME", "READY", "BACKEND", "AGE"]
    assert line[:3] == ["dynamographdeployment.nvidia.com/g", "True", "vllm"]
    head, *lines = (row.split() for row in deployments.splitlines() if row)
    assert head == ["NAME", "AVAILABLE", "BACKEND", "AGE"]
    assert [row[1:3] for row in lines] == [["True", "vllm"], ["True", "vllm"]]


def test_a_new_image_rolls_and_the_graph_ends_ready(ready: Place) -> None:
    since = ready.mark()
    decode = {each["metadata"]["uid"] for each in ready.all("pods") if "decode" in each["metadata"]["name"]}
    new = component("Frontend", "frontend", replicas=2, image=NEW_IMAGE)
    ready.apply(graph(ready.namespace, "g", new, component("decode", "decode")))
    ready.wait_ready()
    assert images(ready, "pods", FRONTEND) == [NEW_IMAGE, NEW_IMAGE]
    assert images(ready, "replicasets", FRONTEND) == [NEW_IMAGE]
    assert len(ready.all("replicasets", selector=FRONTEND)) == 2
    assert decode == {each["metadata"]["uid"] for each in ready.all("pods") if "decode" in each["metadata"]["name"]}
    assert ready.created(since) == []


@pytest.mark.parametrize("replicas", [4, 1, 0])
def test_a_component_is_scaled(ready: Place, replicas: int) -> None:
    sized = component("Frontend", "frontend", replicas=replicas)
    ready.apply(graph(ready.namespace, "g", sized, component("decode", "decode")))
    ready.wait_ready()

    def running() -> bool:
        pods = ready.all("pods", selector=FRONTEND)
        return len([pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]) == replicas

    wait_for(f"{replicas} Pods", running, timeout=30)
    assert ready.get("deployments", "g-frontend")["spec"]["replicas"] == replicas


def test_a_graph_whose_pods_do_not_start_says_so_and_recovers(place: Place) -> None:
    broken = component("Frontend", "frontend")
    broken["podTemplate"]["metadata"] = {"annotations": {"data-plane.dynamo-ctrl.io/image-error": "true"}}
    place.apply(graph(place.namespace, "g", broken))
    place.kubectl("wait", "--for=condition=Ready=False", "dgd/g", "--timeout=60s")
    wait_for("a Pod that waits for its image", lambda: place.all("pods", selector=FRONTEND), timeout=30)
    place.apply(graph(place.namespace, "g", component("Frontend", "frontend")))
    place.wait_ready()


@pytest.mark.parametrize("resource", [COMPONENTS, "deployments", "services"])
def test_what_somebody_deletes_comes_back(ready: Place, resource: str) -> None:
    before = ready.get(resource, "g-frontend")["metadata"]["uid"]
    ready.kubectl("delete", resource, "g-frontend", "--wait=false")

    def again() -> bool:
        found = [each["metadata"] for each in ready.all(resource) if each["metadata"]["name"] == "g-frontend"]
        return bool(found) and found[0]["uid"] != before

    wait_for(f"another {resource}/g-frontend", again, timeout=60)
    ready.wait_ready()


def test_the_metrics_tell_of_the_work(ready: Place, manager: ManagerProcess) -> None:
    status, text = manager.get("/metrics")
    assert status == 200
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['controller_runtime_reconcile_total{controller="dynamo-graph",result="success"}']) > 0
    assert float(lines['controller_runtime_reconcile_panics_total{controller="dynamo-graph"}']) == 0
