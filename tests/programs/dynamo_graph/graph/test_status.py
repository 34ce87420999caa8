"""G 2.3, 2.5-2.7: the arithmetic of a graph's status."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_ctrl.objects.conditions import Condition, find
from dynamo_ctrl.program.effect import Retry
from dynamo_ctrl.program.errors import OwnershipConflict
from dynamo_ctrl.program.outer import FINALIZER
from dynamo_ctrl.program.report import Failure, Report
from dynamo_graph.api.graph_status import ComponentReplicaStatus, GraphStatus
from dynamo_graph.component.checkpoints import held_back
from dynamo_graph.graph.status import NotReady, Outcome, failed, failed_attempt, outcome, succeeded
from dynamo_graph.testing import graph

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
COMPONENT = ComponentReplicaStatus(component_kind="Deployment", component_names=("g-w",), replicas=1)


def ready(status: GraphStatus) -> Condition:
    condition = find(status.conditions, "Ready")
    assert condition is not None
    return condition


def failing(error: Exception, *, reason: str | None = None, step: str = "components") -> Report:
    failure = Failure(step=step, reason=reason, message=f"prefix: {error}", error=error, retry=Retry.BACKOFF)
    return Report(primary=graph(), failures=(failure,))


@pytest.mark.parametrize(
    ("waiting", "state", "reason", "message"),
    [
        pytest.param(
            (NotReady("b", "x"), NotReady("a", "y")),
            "pending",
            "some_resources_are_not_ready",
            "Resources not ready: a: y; b: x",
            id="T-CON-13",
        ),
        pytest.param((), "successful", "all_resources_are_ready", "All resources are ready", id="T-CON-14"),
    ],
)
def test_what_is_waited_for_is_told_by_name(
    waiting: tuple[NotReady, ...], state: str, reason: str, message: str
) -> None:
    found = outcome(waiting, {})
    assert (found.state, found.reason, found.message) == (state, reason, message)


SUCCESS = outcome((), {"w": COMPONENT})
FAILED = Outcome(state="failed", reason="component_crash_looping", message="m", components={"w": COMPONENT})


@pytest.mark.parametrize(
    ("given_outcome", "state", "message"),
    [
        pytest.param(SUCCESS, "pending", "Waiting for checkpoints: a, w (c1)", id="T-CON-15"),
        pytest.param(FAILED, "failed", "m", id="T-CON-16"),
    ],
)
def test_a_wait_for_checkpoints_hides_everything_but_a_failure(
    given_outcome: Outcome, state: str, message: str
) -> None:
    found = held_back(given_outcome, {"w": "c1", "a": ""})
    assert (found.state, found.message) == (state, message)
    assert found.components == given_outcome.components


def test_nothing_that_waits_changes_nothing() -> None:
    assert held_back(SUCCESS, {}) == SUCCESS


def test_success_replaces_components_and_advances_the_generation() -> None:
    last = GraphStatus(observed_generation=4, state="failed", components={"gone": COMPONENT})
    status = succeeded(last, SUCCESS, generation=5, now=NOW)
    assert (status.state, status.observed_generation) == ("successful", 5)
    assert dict(status.components) == {"w": COMPONENT}
    assert (ready(status).status, ready(status).observed_generation) == ("True", 5)
    with pytest.raises(TypeError):
        status.components["x"] = COMPONENT  # type: ignore[index]


def test_failure_keeps_components_and_the_generation() -> None:
    last = GraphStatus(observed_generation=4, state="successful", components={"w": COMPONENT})
    status = failed_attempt(last, failing(RuntimeError("no")), generation=5, now=NOW)
    assert status is not None
    assert (status.state, status.observed_generation) == ("failed", 4)
    assert dict(status.components) == {"w": COMPONENT}
    condition = ready(status)
    assert (condition.status, condition.reason, condition.message, condition.observed_generation) == (
        "False",
        "failed_to_reconcile_the_resources",
        "prefix: no",
        5,
    )


@pytest.mark.parametrize(
    ("step", "reason", "expected"),
    [
        ("components", None, "failed_to_reconcile_the_resources"),
        ("components", "own_reason", "own_reason"),
        (FINALIZER, None, "failed_to_handle_the_finalizer"),
    ],
)
def test_the_step_that_failed_gives_the_reason(step: str, reason: str | None, expected: str) -> None:
    status = failed_attempt(GraphStatus(), failing(RuntimeError("no"), reason=reason, step=step), generation=1, now=NOW)
    assert status is not None
    assert ready(status).reason == expected


def test_an_ownership_conflict_has_a_condition_that_success_turns_off() -> None:
    conflict = OwnershipConflict("Service ns/g is foreign", live=graph())
    status = failed_attempt(GraphStatus(), failing(conflict), generation=1, now=NOW)
    assert status is not None
    condition = find(status.conditions, "OwnershipConflict")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == (
        "True",
        "OwnershipConflict",
        "prefix: Service ns/g is foreign",
    )
    after_another = failed_attempt(status, failing(RuntimeError("no")), generation=1, now=LATER)
    assert after_another is not None
    assert find(after_another.conditions, "OwnershipConflict") == condition
    over = find(succeeded(after_another, SUCCESS, generation=1, now=LATER).conditions, "OwnershipConflict")
    assert over is not None
    assert (over.status, over.reason, over.message) == (
        "False",
        "OwnershipConflictResolved",
        "No resource ownership conflicts observed.",
    )


def test_success_without_a_conflict_makes_no_condition_of_it() -> None:
    assert find(succeeded(GraphStatus(), SUCCESS, generation=1, now=NOW).conditions, "OwnershipConflict") is None


def test_the_same_outcome_later_is_the_same_status() -> None:
    first = succeeded(GraphStatus(), SUCCESS, generation=1, now=NOW)
    assert succeeded(first, SUCCESS, generation=1, now=LATER) == first
    broken = failed(first, "r", "m", generation=1, now=LATER)
    assert ready(broken).last_transition_time == LATER
    assert failed(broken, "r", "m", generation=1, now=LATER + timedelta(hours=1)) == broken


@settings(deadline=None)
@given(st.lists(st.builds(NotReady, st.text(max_size=5), st.text(max_size=5)), max_size=5), st.randoms())
def test_the_order_of_what_is_waited_for_never_counts_among_different_names(
    waiting: list[NotReady], random: object
) -> None:
    unique = list({resource.name: resource for resource in waiting}.values())
    assert outcome(unique, {}) == outcome(reversed(unique), {})
