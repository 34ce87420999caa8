"""Engines over several nodes on the real cluster: real Pods in groups, LeaderWorkerSet played by the data plane."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from envtest import Cluster
from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, component, conditions, graph
from envtest.groups import Groups

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces"
DECODE = "nvidia.com/dynamo-component=decode"


@pytest.fixture(scope="module")
def groups(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Groups]:
    """LeaderWorkerSets, for this module only."""
    with Groups(cluster, tmp_path_factory.mktemp("groups") / "groups.log") as groups:
        yield groups


pytestmark = pytest.mark.usefixtures("groups", "manager")


def wide(place: Place, *arguments: str, image: str = "registry.example/dynamo/worker:1.4.0", replicas: int = 1) -> Any:
    """A graph with a frontend and a worker over two nodes."""
    worker = component("decode", "decode", image=image, replicas=replicas, multinode={"nodeCount": 2})
    [main] = worker["podTemplate"]["spec"]["containers"]
    main |= {
        "command": ["python3"],
        "args": ["-m", "dynamo.vllm", *arguments],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    wanted = graph(place.namespace, "g", component("Frontend", "frontend"), worker)
    wanted["metadata"]["annotations"] = {"nvidia.com/vllm-distributed-executor-backend": "mp"}
    return wanted


@pytest.fixture(scope="module", autouse=True)
def nodes(cluster: Cluster) -> Iterator[None]:
    """Nodes with GPUs."""
    names = [f"gpu-{number}" for number in range(4)]
    for name in names:
        cluster.add_node(name, capacity={"cpu": "32", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"})
    yield
    for name in names:
        cluster.api.delete(f"/api/v1/nodes/{name}")


def sets(place: Place) -> list[Any]:
    found: list[Any] = place.api.get(f"{LWS}/{place.namespace}/leaderworkersets")["items"]
    return found


def test_a_graph_over_several_nodes_becomes_ready_through_real_pods(place: Place) -> None:
    place.apply(wide(place, "--tensor-parallel-size", "16"))
    place.wait_ready()
    (groups,) = sets(place)
    name = groups["metadata"]["name"]
    assert conditions(groups)["Available"] == "True"
    pods = {pod["metadata"]["name"]: pod for pod in place.all("pods", selector=DECODE)}
    assert set(pods) == {f"{name}-0", f"{name}-0-1"}
    assert {pod["metadata"]["labels"]["role"] for pod in pods.values()} == {"leader", "worker"}
    assert len({pod["spec"]["nodeName"] for pod in pods.values()}) == 2, "one node has not enough GPUs for two"
    worker = pods[f"{name}-0-1"]["spec"]
    (main,), (waiting,) = worker["containers"], worker["initContainers"]
    env = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert env["LWS_LEADER_ADDRESS"] == f"{name}-0.{name}.{place.namespace}"
    assert main["args"][-3:] == ["--node-rank", "$(LWS_WORKER_INDEX)", "--headless"]
    assert waiting["name"] == "wait-for-leader-mp"
    assert waiting["env"][0]["name"] == "LWS_LEADER_ADDRESS"
    script = place.get("configmaps", "g-wait-leader-script")
    assert set(script["data"]) == {"wait-for-leader.py", "wait-for-ray-leader.sh"}
    assert [ref["name"] for ref in script["metadata"]["ownerReferences"]] == ["g"]
    status = place.get(GRAPHS, "g")["status"]["components"]["decode"]
    assert status["componentKind"] == "LeaderWorkerSet"
    assert (status["gpusPerEngine"], status["gpusPerReplica"]) == (16, 16)
    (service,) = [each for each in place.all("services") if each["metadata"]["name"] == name[:-2]]
    assert service["spec"]["selector"]["role"] == "leader"
    place.comes_to_rest()
    since = place.mark()
    place.apply(wide(place, "--tensor-parallel-size", "16"))
    place.comes_to_rest()
    assert place.writes(since) == []


def test_replicas_follow_and_everything_goes_with_the_graph(place: Place) -> None:
    place.apply(wide(place, "--tensor-parallel-size", "16"))
    place.wait_ready()
    place.apply(wide(place, "--tensor-parallel-size", "16", replicas=2))
    place.wait_ready()
    assert len(place.all("pods", selector=DECODE)) == 4
    place.kubectl("delete", "dgd", "g", "--timeout=60s")
    wait_for("the groups to be gone", lambda: not sets(place), timeout=60)
    wait_for("their Pods to be gone", lambda: not place.all("pods", selector=DECODE), timeout=60)
    assert not place.all(COMPONENTS)
    assert not [each for each in place.all("configmaps") if each["metadata"]["name"].startswith("g-")]


def test_a_pod_that_is_lost_takes_its_group_along_and_the_graph_heals(place: Place) -> None:
    place.apply(wide(place, "--tensor-parallel-size", "16"))
    place.wait_ready()
    before = {pod["metadata"]["uid"] for pod in place.all("pods", selector=DECODE)}
    (worker,) = [pod for pod in place.all("pods", selector=DECODE) if pod["metadata"]["labels"]["role"] == "worker"]
    place.api.delete(f"/api/v1/namespaces/{place.namespace}/pods/{worker['metadata']['name']}")

    def healed() -> bool:
        pods = place.all("pods", selector=DECODE)
        return len(pods) == 2 and not before & {pod["metadata"]["uid"] for pod in pods}

    wait_for("a new group", healed, timeout=60)
    place.wait_ready()


def test_nodes_that_are_not_needed_are_told(place: Place) -> None:
    place.apply(wide(place, "--tensor-parallel-size", "8"))
    place.wait_ready()
    events = place.all("events")
    assert "MultinodeNotNeeded" in {event["reason"] for event in events}
