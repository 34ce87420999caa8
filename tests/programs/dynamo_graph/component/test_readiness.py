"""G 1.6: what the deployment of a component tells its graph; a failed attempt comes in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Invalid
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.conditions import find
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT as DCD
from dynamo_graph.component.readiness import not_ready, observe
from dynamo_graph.graph.status import NotReady
from dynamo_graph.testing import GraphWorld, component, graph

PLAIN = "Component deployment not ready - Available condition not true"


def deployment(generation: int, observed: int, *available: Any) -> Any:
    """`available`: status, reason, message and generation of the condition."""
    conditions = []
    if available:
        status, reason, message, at = available
        conditions = [
            {
                "type": "Available",
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": at,
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }
        ]
    return DCD.object(
        {
            "metadata": {"name": "g-a", "namespace": "ns", "generation": generation},
            "spec": {"name": "a"},
            "status": {"observedGeneration": observed, "conditions": conditions},
        }
    )


@pytest.mark.parametrize(
    ("observed", "available", "why", "failed"),
    [
        (2, ("True", "DeploymentReady", "Deployment is ready", 2), None, False),
        (2, ("False", "DeploymentNotReady", "Deployment is not ready", 2), PLAIN, False),
        (2, ("False", "LeaderWorkerSetNotReady", "LeaderWorkerSet is not ready", 2), PLAIN, False),
        (2, ("False", "ContainerCrashLooping", "pod p: container c restarted", 2), "pod p: container c restarted", False),
        (2, (), PLAIN, False),
        (1, ("True", "DeploymentReady", "x", 1), "spec not yet processed: generation=2, observedGeneration=1", False),
        (0, (), "spec not yet processed: generation=2, observedGeneration=0", False),
        (1, ("False", "Reconciling", "x", 1), "spec not yet processed: generation=2, observedGeneration=1", False),
        (1, ("False", "Reconciling", "spec.a: must be b", 2), "spec.a: must be b", True),
        (2, ("False", "Reconciling", "no right to write", 2), "no right to write", True),
        (1, ("False", "OwnershipConflict", "Service is foreign", 2), "Service is foreign", True),
        (1, ("False", "InvalidCheckpointConfiguration", "spec.b: no", 2), "spec.b: no", True),
    ],
)  # fmt: skip
def test_a_deployment_tells_why_it_is_not_ready(observed: int, available: Any, why: str | None, failed: bool) -> None:
    found = not_ready(deployment(2, observed, *available))
    assert found == (None if why is None else NotReady("g-a", why, failed))


def test_one_failed_component_fails_the_graph_and_the_others_are_not_told() -> None:
    broken = deployment(1, 0, "False", "Reconciling", "spec.a: must be b", 1)
    waiting = deployment(1, 1, "False", "DeploymentNotReady", "Deployment is not ready", 1)
    found = observe((("a", broken), ("b", waiting)))
    assert (found.state, found.reason) == ("failed", "failed_to_reconcile_the_resources")
    assert found.message == "Resources failed: g-a: spec.a: must be b"


def test_what_the_server_refuses_fails_the_graph_with_its_reason_and_passes_once_it_takes_it() -> None:
    world = GraphWorld(graph(component("Frontend", "frontend")))
    refusal = 'Deployment.apps "g-frontend" is invalid: spec.template.spec.restartPolicy: Unsupported value: "Never"'
    world.cache.faults.fail(Invalid(refusal), "create", DEPLOYMENT)
    world.pass_over_graph()
    world.pass_over_deployment("g-frontend")
    world.pass_over_graph()
    status = world.graph().status
    ready = find(status.conditions, "Ready")
    assert (status.state, status.observed_generation) == ("failed", 1)
    assert ready is not None
    assert ready.reason == "failed_to_reconcile_the_resources"
    assert ready.message.startswith("Resources failed: g-frontend: Failed to reconcile DynamoComponentDeployment: ")
    assert ready.message.endswith(refusal)
    world.converge()
    world.run_pods()
    assert world.graph().status.state == "successful"
