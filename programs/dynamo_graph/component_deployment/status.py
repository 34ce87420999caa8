"""The status of a component deployment after an attempt (G 3.9.1). Pure.

The first status that is written holds both conditions. A failed attempt keeps the last observation of the workload but for its
GPU shape, which might no longer be true, and does not advance `observedGeneration`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dynamo_ctrl.objects.conditions import Condition, ConditionStatus, find, is_true, with_condition
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.report import Report
from dynamo_graph.api.component_deployment import ComponentDeploymentStatus, DynamoComponentDeployment
from dynamo_graph.api.names import LEGACY_HASH, Label
from dynamo_graph.component_deployment.workload import REPLICA_FAILURE, Observation

AVAILABLE: Final = "Available"
COMPONENT_READY: Final = "DynamoComponentReady"
OWNERSHIP_CONFLICT: Final = "OwnershipConflict"

RECONCILING: Final = "Reconciling"
INVALID_CHECKPOINT: Final = "InvalidCheckpointConfiguration"
CRASH_LOOPING: Final = "ContainerCrashLooping"


class StatusAt:
    """Builds statuses of one component deployment at one generation and moment, from its last one."""

    def __init__(self, last: ComponentDeploymentStatus, *, generation: int, now: datetime) -> None:
        self._last = last
        self._generation = generation
        self._now = now

    def observed(self, workload: Observation) -> ComponentDeploymentStatus:
        """After an attempt of which every step succeeded."""
        ready = workload.ready
        truth: ConditionStatus = "True" if ready else "False"
        status = self._with(
            self._last,
            self._condition(AVAILABLE, truth, *_availability(workload)),
            self._condition(
                COMPONENT_READY,
                truth,
                "ComponentReady" if ready else "ComponentNotReady",
                "DynamoComponent is ready" if ready else "DynamoComponent is not ready",
            ),
        )
        if is_true(status.conditions, OWNERSHIP_CONFLICT):
            over = "No resource ownership conflicts observed."
            status = self._with(status, self._condition(OWNERSHIP_CONFLICT, "False", "OwnershipConflictResolved", over))
        return status.model_copy(update={"component": workload.component, "observed_generation": self._generation})

    def failed(self, report: Report) -> ComponentDeploymentStatus:
        """After an attempt that failed."""
        failure = report.failure
        message = failure.message if failure is not None else "the workload was not reached"
        if failure is not None and isinstance(failure.error, OwnershipConflict):
            condition = self._condition(OWNERSHIP_CONFLICT, "True", OWNERSHIP_CONFLICT, message)
            return self._with(self._unavailable(OWNERSHIP_CONFLICT, message), condition)
        return self._unavailable(RECONCILING, f"Failed to reconcile DynamoComponentDeployment: {message}")

    def invalid_checkpoint(self, message: str) -> ComponentDeploymentStatus:
        """While the checkpoint settings contradict each other."""
        return self._unavailable(INVALID_CHECKPOINT, message)

    def _unavailable(self, reason: str, message: str) -> ComponentDeploymentStatus:
        conditions = [self._condition(AVAILABLE, "False", reason, message)]
        if find(self._last.conditions, COMPONENT_READY) is None:
            conditions.append(self._condition(COMPONENT_READY, "Unknown", RECONCILING, ""))
        component = self._last.component
        if component is not None:
            component = component.model_copy(update={"gpus_per_engine": None, "gpus_per_replica": None})
        return self._with(self._last, *conditions).model_copy(update={"component": component})

    def _with(self, status: ComponentDeploymentStatus, *conditions: Condition) -> ComponentDeploymentStatus:
        found = status.conditions
        for condition in conditions:
            found = with_condition(found, condition, self._now)
        return status.model_copy(update={"conditions": found})

    def _condition(self, type_: str, status: ConditionStatus, reason: str, message: str) -> Condition:
        return Condition(
            type=type_, status=status, reason=reason, message=message, observed_generation=self._generation
        )


def _availability(workload: Observation) -> tuple[str, str]:
    """Reason and message of `Available`. A Pod that crashes does no harm to a workload that is ready without it."""
    kind = workload.kind
    if workload.ready:
        return f"{kind}Ready", f"{kind} is ready"
    if workload.crash_loop is not None:
        return CRASH_LOOPING, str(workload.crash_loop)
    if workload.trouble:
        return REPLICA_FAILURE, f"{kind} is not ready: {workload.trouble}"
    return f"{kind}NotReady", f"{kind} is not ready"


def runtime_namespace(deployment: DynamoComponentDeployment) -> str:
    """The Dynamo namespace that the runtimes of a component deployment register in, by its labels."""
    labels = deployment.metadata.labels
    base = labels.get(Label.NAMESPACE, "")
    suffix = labels.get(Label.WORKER_HASH, "") if deployment.spec.is_worker else ""
    return f"{base}-{suffix}" if base and suffix not in ("", LEGACY_HASH) else base
