"""The status of a graph after an attempt, whoever served it (G 2.3, 2.5-2.7). Pure.

Publish rules: a new status starts as the last one, so what a failed attempt did not reach keeps its last good value;
`components` and `observedGeneration` are replaced by the success of a whole attempt only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from dynamo_ctrl.objects.conditions import Condition, find, is_true, with_condition
from dynamo_ctrl.objects.frozen import FrozenDict
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.outer import FINALIZER
from dynamo_ctrl.program.report import Report
from dynamo_graph.api.graph_status import ComponentReplicaStatus, GraphState, GraphStatus

READY: Final = "Ready"
OWNERSHIP_CONFLICT: Final = "OwnershipConflict"

STORE_PROVIDER: Final = "store-provider"
"""Name of the step that stores the choice of a provider."""


class Reason:
    """Reasons of the condition `Ready` (G 2.5)."""

    MIGRATION: Final = "failed_to_migrate_worker_hash"
    INITIALIZATION: Final = "failed_to_initialize_worker_hash"
    ROLLING_FAILED: Final = "rolling_update_failed"
    NO_ORCHESTRATOR: Final = "no_multinode_orchestrator_available"
    FAILED: Final = "failed_to_reconcile_the_resources"
    FINALIZER: Final = "failed_to_handle_the_finalizer"
    UNSUPPORTED_PROVIDER: Final = "unsupported_workload_provider"
    UNAVAILABLE_PROVIDER: Final = "selected_workload_provider_unavailable"
    ROLLING: Final = "rolling_update_in_progress"
    CRASH_LOOPING: Final = "component_crash_looping"
    WAITING_FOR_CHECKPOINT: Final = "waiting_for_checkpoint"
    NOT_READY: Final = "some_resources_are_not_ready"
    ALL_READY: Final = "all_resources_are_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a successful attempt says about the graph."""

    state: GraphState
    reason: str
    message: str
    components: Mapping[str, ComponentReplicaStatus]


@dataclass(frozen=True, slots=True)
class NotReady:
    """One resource that keeps a graph from Ready, and why; `failed` if it was tried and could not be done."""

    name: str
    why: str
    failed: bool = False


def outcome(waiting: Iterable[NotReady], components: Mapping[str, ComponentReplicaStatus]) -> Outcome:
    """Successful if nothing is waited for; failed with those that failed, if any did; else pending with all of them.

    They are told with their reasons, sorted by name.
    """
    resources = sorted(waiting, key=lambda each: each.name)
    if not resources:
        return Outcome(
            state="successful", reason=Reason.ALL_READY, message="All resources are ready", components=components
        )
    failures = _told(resource for resource in resources if resource.failed)
    if failures:
        return Outcome(
            state="failed", reason=Reason.FAILED, message=f"Resources failed: {failures}", components=components
        )
    message = f"Resources not ready: {_told(resources)}"
    return Outcome(state="pending", reason=Reason.NOT_READY, message=message, components=components)


def _told(resources: Iterable[NotReady]) -> str:
    return "; ".join(f"{resource.name}: {resource.why}" for resource in resources)


def rolling(outcome: Outcome) -> Outcome:
    """The outcome of a graph while a managed rolling update is under way; a failed one is failed all the same (G 2.6, 8.6)."""
    if outcome.state == "failed":
        return outcome
    return replace(outcome, state="pending", reason=Reason.ROLLING, message="Rolling update in progress")


def succeeded(status: GraphStatus, outcome: Outcome, *, generation: int, now: datetime) -> GraphStatus:
    """The status after an attempt at `generation` of which every step succeeded; an ownership conflict is over."""
    ready = Condition(
        type=READY,
        status="True" if outcome.state == "successful" else "False",
        reason=outcome.reason,
        message=outcome.message,
        observed_generation=generation,
    )
    conditions = with_condition(status.conditions, ready, now)
    if is_true(conditions, OWNERSHIP_CONFLICT):
        over = Condition(
            type=OWNERSHIP_CONFLICT,
            status="False",
            reason="OwnershipConflictResolved",
            message="No resource ownership conflicts observed.",
            observed_generation=generation,
        )
        conditions = with_condition(conditions, over, now)
    changes = {"state": outcome.state, "components": FrozenDict(outcome.components), "conditions": conditions}
    return status.model_copy(update={**changes, "observed_generation": generation})


def failed(status: GraphStatus, reason: str, message: str, *, generation: int, now: datetime) -> GraphStatus:
    """The status after an attempt at `generation` that failed."""
    ready = Condition(type=READY, status="False", reason=reason, message=message, observed_generation=generation)
    return status.model_copy(update={"state": "failed", "conditions": with_condition(status.conditions, ready, now)})


def failed_attempt(status: GraphStatus, report: Report, *, generation: int, now: datetime) -> GraphStatus | None:
    """The status after an attempt at `generation` that failed by `report`.

    An ownership conflict among its failures gets a condition of its own. `None` (the status stays) while the choice of the
    provider could not be stored: nothing was done for the graph yet.
    """
    failure = report.failure
    if failure is None or failure.step == STORE_PROVIDER:
        return None
    reason = failure.reason or (Reason.FINALIZER if failure.step == FINALIZER else Reason.FAILED)
    failing = failed(status, reason, failure.message, generation=generation, now=now)
    conflict = next((each for each in report.failures if isinstance(each.error, OwnershipConflict)), None)
    if conflict is None:
        return failing
    condition = Condition(
        type=OWNERSHIP_CONFLICT,
        status="True",
        reason="OwnershipConflict",
        message=conflict.message,
        observed_generation=generation,
    )
    return failing.model_copy(update={"conditions": with_condition(failing.conditions, condition, now)})


def became_true(old: Iterable[Condition], new: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of that type in `new`, if it is True there and was not in `old`."""
    condition = find(new, type_)
    return condition if condition is not None and condition.status == "True" and not is_true(old, type_) else None
