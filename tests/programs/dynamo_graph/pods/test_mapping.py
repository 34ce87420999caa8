"""G 8.8: which Pod events wake whom."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_ctrl.testing import FakeCache
from dynamo_graph.pods.mapping import crash_loop_moved, to_clique_graph, to_deployment
from dynamo_graph.pods.testing import pod

DOWN = "main:2:waiting:1"


def looping(**more: Any) -> Pod:
    return pod(DOWN, **more)


def healthy(**more: Any) -> Pod:
    return pod("main:0:running", ready=True, **more)


def woken(change: Change[Pod]) -> list[str]:
    """Whom a controller of component deployments (DCD) and one of graphs (DGD) would wake."""
    if not crash_loop_moved(change):
        return []
    keys = []
    for side in change.sides:
        keys += [f"DCD {key.name}" for key in to_deployment(side, FakeCache())]
        keys += [f"DGD {key.name}" for key in to_clique_graph(side, FakeCache())]
    return list(dict.fromkeys(keys))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, healthy(), [], id="T-WATCH-01"),
        pytest.param(None, looping(), ["DCD g-decode"], id="T-WATCH-02"),
        pytest.param(healthy(), None, [], id="T-WATCH-03 B31"),
        pytest.param(looping(), None, ["DCD g-decode"], id="T-WATCH-04"),
        pytest.param(looping(selector="dcd-a"), looping(selector="dcd-b"), ["DCD dcd-a", "DCD dcd-b"], id="T-WATCH-05"),
        pytest.param(looping(owner=None, selector="a"), looping(owner=None, selector="b"), [], id="T-WATCH-06"),
        pytest.param(None, looping(owner="PodClique"), ["DGD g"], id="T-WATCH-07 B31"),
        pytest.param(None, looping(), ["DCD g-decode"], id="T-WATCH-08"),
        pytest.param(healthy(), looping(), ["DCD g-decode"], id="it begins"),
        pytest.param(looping(), healthy(), ["DCD g-decode"], id="it ends"),
        pytest.param(looping(), pod("main:3:waiting:1"), ["DCD g-decode"], id="it goes on"),
        pytest.param(looping(), looping(labels={"a": "b"}), [], id="a label that tells nothing"),
        pytest.param(pod("main:0:running"), healthy(), [], id="a Pod becomes ready"),
        pytest.param(healthy(), pod("main:1:waiting:1"), [], id="a first crash"),
        pytest.param(looping(), looping(deletionTimestamp="2026-01-02T03:04:05Z"), ["DCD g-decode"], id="deletion"),
        pytest.param(looping(deletionTimestamp="2026-01-02T03:04:05Z"), None, [], id="the end of a deleted one"),
        pytest.param(healthy(selector="a"), healthy(selector="b"), [], id="a healthy Pod moves"),
        pytest.param(healthy(selector="a"), looping(selector="b"), ["DCD a", "DCD b"], id="it moves and falls"),
        pytest.param(looping(selector="a"), healthy(selector="b"), ["DCD a", "DCD b"], id="it moves and recovers"),
        pytest.param(looping(selector=None), looping(), ["DCD g-decode"], id="it comes to somebody"),
        pytest.param(looping(), looping(selector=None), ["DCD g-decode"], id="it goes to nobody"),
        pytest.param(looping(), looping(owner=None), ["DCD g-decode"], id="its controller lets it go"),
        pytest.param(None, looping(owner="StatefulSet"), [], id="a Pod of a LeaderWorkerSet"),
        pytest.param(None, looping(selector=""), [], id="an empty selector"),
        pytest.param(None, looping(owner="PodClique", component=None), [], id="a clique of no component"),
        pytest.param(None, looping(owner="PodClique", graph=None), [], id="a clique of no graph"),
        pytest.param(
            looping(owner="PodClique"), looping(owner="PodClique", graph="h"), ["DGD g", "DGD h"], id="a clique's moves"
        ),
    ],
)
def test_a_pod_event_wakes(old: Pod | None, new: Pod | None, expected: list[str]) -> None:
    assert woken(Change(old, new)) == expected
