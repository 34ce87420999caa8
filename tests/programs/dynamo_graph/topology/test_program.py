"""P 5.8: Pods of a graph bear the label of their node that the KV transfer policy names."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import NODE, POD, Node, Pod
from dynamo_ctrl.objects.selector import LabelSelector
from dynamo_ctrl.testing import FakeCache
from dynamo_graph.topology.placement import labelled_node, placed_pod
from dynamo_graph.topology.program import TopologyLabelProgram

PROGRAM = TopologyLabelProgram()
ZONE = "topology.kubernetes.io/zone"
KEY = "nvidia.com/topology-label-key"
GRAPH = {"nvidia.com/dynamo-graph-deployment-name": "g", "nvidia.com/dynamo-component": "decode"}


def pod(*, asks: str | None = ZONE, node: str = "n1", version: str = "1", **labels: str) -> Pod:
    metadata: dict[str, Any] = {"name": "p", "namespace": "ns", "resourceVersion": version, "labels": GRAPH | labels}
    if asks is not None:
        metadata["annotations"] = {KEY: asks, "other": "x"}
    spec = {"containers": [{"name": "main", "image": "i"}], **({"nodeName": node} if node else {})}
    return POD.object({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})


def node(name: str = "n1", **labels: str) -> Node:
    return NODE.object({"metadata": {"name": name, "labels": labels}})


def world(*objects: Any) -> FakeCache:
    cache = FakeCache(objects)
    assert cache.reconcile([PROGRAM], "ns/p").error is None
    return cache


def labels(cache: FakeCache) -> dict[str, str]:
    found = cache.get(POD, "ns/p")
    assert found is not None
    return dict(found.metadata.labels)


def test_a_pod_gets_the_label_of_its_node() -> None:
    cache = world(pod(), node(**{ZONE: "a", "other": "x"}))
    assert labels(cache) == {**GRAPH, ZONE: "a"}
    (write,) = cache.writes
    assert str(write) == f"patch Pod ns/p metadata.labels.{ZONE}"
    assert cache.events == []


@pytest.mark.parametrize("labels_of_node", [pytest.param({}, id="T-POD-129")])
def test_a_node_without_the_label_is_told_and_the_pod_stays(labels_of_node: dict[str, str]) -> None:
    cache = world(pod(), node(**labels_of_node))
    assert not cache.writes
    assert labels(cache) == GRAPH
    ((about, event),) = cache.events
    assert (about.key.name, event.type, event.reason) == ("p", "Warning", "TopologyLabelMissing")
    assert event.note == f'node n1 has no label "{ZONE}", which the KV transfer policy of the graph names'


def test_an_operator_that_may_not_read_nodes_tells_it_at_the_pod() -> None:
    cache = FakeCache([pod()], absent=[NODE])  # to its namespace there are none
    assert cache.reconcile([PROGRAM], "ns/p").error is None
    assert not cache.writes
    ((about, event),) = cache.events
    assert (about.key.name, event.type, event.reason) == ("p", "Warning", "TopologyLabelMissing")
    assert event.note == (
        f'the operator may not read nodes, and so not the label "{ZONE}" of node n1, '
        "which the KV transfer policy of the graph names"
    )


@pytest.mark.parametrize("value", [pytest.param("b", id="T-POD-130")])
def test_a_label_that_is_there_stays(value: str) -> None:
    cache = world(pod(**{ZONE: value}), node(**{ZONE: "a"}))
    assert not cache.writes
    assert labels(cache)[ZONE] == value
    assert cache.events == []


@pytest.mark.parametrize("without", [pod(node=""), pod(asks=None), pod(asks="")], ids=["node", "policy", "key"])
def test_a_pod_without_a_node_or_a_policy_is_left_alone(without: Pod) -> None:
    cache = world(without, node(**{ZONE: "a"}))
    assert not cache.writes
    assert not cache.events


def test_a_node_that_is_not_known_yet_wakes_its_pods_when_it_appears() -> None:
    late = node(**{ZONE: "a"})
    cache = world(pod())
    assert not cache.writes
    assert not cache.events
    (watch,) = (watch for watch in PROGRAM.watches.others if watch.kind == NODE)
    assert watch.mapper is not None
    assert list(watch.mapper(late, cache)) == [pod().key]
    assert list(watch.mapper(node("n2"), cache)) == []
    assert watch.when(Change(None, late))
    assert not watch.when(Change(late, late))
    cache.add(late)
    cache.reconcile([PROGRAM], "ns/p")
    assert labels(cache)[ZONE] == "a"
    assert list(watch.mapper(late, cache)) == []


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        pytest.param(Change(None, pod()), True, id="created"),
        pytest.param(Change(None, pod(node="")), False, id="created without a node"),
        pytest.param(Change(pod(node=""), pod()), True, id="the node appears"),
        pytest.param(Change(pod(asks="other"), pod()), True, id="the annotation changes"),
        pytest.param(Change(pod(**{ZONE: "a"}), pod()), True, id="the label vanishes"),
        pytest.param(Change(pod(), pod(version="2")), False, id="anything else"),
        pytest.param(Change(pod(), pod(**{ZONE: "a"})), False, id="it gets the label"),
        pytest.param(Change(pod(), None), False, id="deleted"),
    ],
)
def test_what_wakes_a_pod(change: Change[Pod], wakes: bool) -> None:
    assert PROGRAM.watches.primary.when(change) is wakes


def test_only_pods_of_graphs_are_watched() -> None:
    selector = LabelSelector.of(PROGRAM.watches.primary.label_selector)
    assert selector.matches(GRAPH)
    assert not selector.matches({"app": "x"})


def test_the_cache_keeps_what_is_asked_for_and_no_more() -> None:
    kept = POD.object(placed_pod(pod(**{ZONE: "a"}).content()))
    assert kept.content() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "resourceVersion": "1",
            "labels": {**GRAPH, ZONE: "a"},
            "annotations": {KEY: ZONE},
        },
        "spec": {"nodeName": "n1"},
    }
    assert placed_pod(kept.content()) == kept.content()
    full = NODE.object({"metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {"x": 1}})
    assert labelled_node(full.content()) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"a": "b"}},
    }
