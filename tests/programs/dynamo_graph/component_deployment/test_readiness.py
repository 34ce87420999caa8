"""G 3.9.2: when a Deployment serves what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_graph.component_deployment.readiness import deployment_ready

AVAILABLE = [{"type": "Available", "status": "True"}]
SERVING = {
    "observedGeneration": 3,
    "replicas": 2,
    "updatedReplicas": 2,
    "readyReplicas": 2,
    "availableReplicas": 2,
    "conditions": AVAILABLE,
}


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({"replicas": 2}, {}, True, id="all there"),
        pytest.param({"replicas": 2}, {"replicas": 3}, False, id="T-DCD-02"),
        pytest.param({"replicas": 0}, {"observedGeneration": 0, "conditions": []}, True, id="T-DCD-03"),
        pytest.param({"replicas": 2, "paused": True}, {}, False, id="T-DCD-04"),
        pytest.param({"replicas": 0, "paused": True}, {}, False, id="paused without replicas"),
        pytest.param({"replicas": 2}, {"observedGeneration": 2}, False, id="T-DCD-05"),
        pytest.param({"replicas": 2}, {"updatedReplicas": 1}, False, id="old Pods still run"),
        pytest.param({"replicas": 2}, {"availableReplicas": 1}, False, id="one is not available"),
        pytest.param({"replicas": 2}, {"conditions": []}, False, id="no Available condition"),
        pytest.param(
            {"replicas": 2}, {"conditions": [{"type": "Available", "status": "False"}]}, False, id="not Available"
        ),
        pytest.param({}, {"replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}, True, id="one by default"),
        pytest.param({}, {}, False, id="two where one is wanted"),
    ],
)
def test_ready_means_the_newest_template_everywhere_and_nothing_else(
    spec: dict[str, Any], status: dict[str, Any], expected: bool
) -> None:
    metadata = {"name": "d", "namespace": "ns", "generation": 3}
    deployment = DEPLOYMENT.object({"metadata": metadata, "spec": spec, "status": {**SERVING, **status}})
    assert deployment_ready(deployment) is expected
