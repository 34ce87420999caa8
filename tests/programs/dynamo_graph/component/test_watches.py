"""G 2.9: what happens to a scaling adapter wakes its graph only when the adapter is gone."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.testing import FakeCache
from dynamo_graph.api.scaling_adapter import DYNAMO_GRAPH_DEPLOYMENT_SCALING_ADAPTER as DGDSA
from dynamo_graph.component.program import ComponentProgram


def adapter(replicas: int) -> Any:
    owner = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "name": "g",
        "uid": "u1",
        "controller": True,
    }
    metadata = {"name": "g-decode", "namespace": "ns", "ownerReferences": [owner]}
    return DGDSA.object({"metadata": metadata, "spec": {"replicas": replicas}})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, adapter(1), [], id="T-WATCH-18 created"),
        pytest.param(adapter(1), adapter(2), [], id="T-WATCH-18 updated"),
        pytest.param(adapter(1), None, ["ns/g"], id="T-WATCH-18 deleted"),
    ],
)
def test_changes_of_an_owned_adapter(old: Any, new: Any, expected: list[str]) -> None:
    (watch,) = (watch for watch in ComponentProgram.watches.others if watch.kind == DGDSA)
    change = Change(old, new)
    assert watch.mapper is not None
    assert (list(map(str, watch.mapper(change.latest, FakeCache()))) if watch.when(change) else []) == expected
