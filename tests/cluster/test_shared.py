"""What graphs of a namespace share, and what Pods learn of their nodes, with the real garbage collector and scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from envtest.api import wait_for
from envtest.graphs import component, graph

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

TIMEOUT = 90.0
"""Seconds for one thing to happen. A garbage collector looks for new definitions every 30 s."""

MODEL = "dynamo-model-e3352e1e"
HOST = "kubernetes.io/hostname"


def owners(place: Place) -> list[str] | None:
    """The names of those who own the Service of the model; `None` when it is gone."""
    for service in place.all("services"):
        if service["metadata"]["name"] == MODEL:
            return sorted(each["name"] for each in service["metadata"].get("ownerReferences", []))
    return None


@pytest.mark.usefixtures("manager")
def test_a_model_has_one_service_until_the_last_graph_that_serves_it_goes(place: Place) -> None:
    parts = [component("decode", "decode", modelRef={"name": "llama-3"}), component("Frontend", "frontend")]
    place.apply(graph(place.namespace, "a", *parts), graph(place.namespace, "b", *parts))
    place.wait_ready("a", "b")
    place.comes_to_rest()
    workers = sorted(each["metadata"]["name"] for each in place.all("dynamocomponentdeployments"))
    assert owners(place) == [name for name in workers if "-decode-" in name]
    since = place.mark()
    place.kubectl("delete", "dgd/a", f"--timeout={TIMEOUT:.0f}s")
    wait_for("the first owner to be gone", lambda: len(owners(place) or ()) == 1, timeout=TIMEOUT)
    place.kubectl("delete", "dgd/b", f"--timeout={TIMEOUT:.0f}s")
    wait_for("the Service to be gone", lambda: owners(place) is None, timeout=TIMEOUT)
    assert [write for write in place.writes(since) if "services/" in write] == [], "the garbage collector does it"


@pytest.mark.usefixtures("manager")
def test_workers_bear_the_label_of_their_node_that_the_policy_names(place: Place) -> None:
    policy: dict[str, Any] = {"labelKey": HOST, "domain": "host"}
    placed = graph(place.namespace, "g", component("decode", "decode", replicas=2), component("Frontend", "frontend"))
    placed["spec"]["experimental"] = {"kvTransferPolicy": policy}
    place.apply(placed)
    place.wait_ready()
    selector = "nvidia.com/dynamo-component=decode"

    def labelled() -> bool:
        pods = place.all("pods", selector=selector)
        nodes = [(pod["spec"].get("nodeName"), pod["metadata"]["labels"].get(HOST)) for pod in pods]
        return len(nodes) == 2 and all(node and node == label for node, label in nodes)

    wait_for("the labels", labelled, timeout=TIMEOUT)
    [frontend] = place.all("pods", selector="nvidia.com/dynamo-component=Frontend")
    assert HOST not in frontend["metadata"]["labels"]
