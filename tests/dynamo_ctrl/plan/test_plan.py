"""What a plan says: writes with their authors, statuses, failures, what comes later, and what never ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Invalid
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.plan.plan import KNOWN_LATER, Action, Author, Later, Plan, PlannedFailure
from dynamo_ctrl.plan.planning import Bounds, plan
from dynamo_ctrl.program.effect import Create, Delete, Effect, PatchPrimary, Refuse, Retry, Sync
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget
from tests.dynamo_ctrl.plan.widgets import POLICY, WidgetProgram, child, deploying, deployment

UID = "0b5a4b5c-2f0e-4c1d-9d2b-7f6a3c1e8d90"
AUTHOR = Author(controller="widget", primary=WIDGET.ref("ns/w"), step="children", effect="Sync")


def test_a_new_object_is_created_as_a_server_would_have_it() -> None:
    found = plan(deploying(), [widget(size=3)])
    (write,) = found.writes
    assert (write.action, write.object, write.authors) == (Action.CREATE, DEPLOYMENT.ref("ns/w"), (AUTHOR,))
    assert write.content["spec"]["replicas"] == 3
    assert write.content["spec"]["progressDeadlineSeconds"] == 600
    assert write.content["metadata"]["ownerReferences"][0]["uid"] == KNOWN_LATER
    assert not {"uid", "resourceVersion", "creationTimestamp", "generation"} & write.content["metadata"].keys()
    (status,) = found.statuses
    assert status.object == WIDGET.ref("ns/w")
    assert status.status["state"] == "deployed"
    assert Difference("status.state", ABSENT, "deployed") in status.differences
    assert found.settled
    assert found.passes == 2
    assert not found.empty
    assert found.counts == {Action.CREATE: 1, Action.UPDATE: 0, Action.DELETE: 0}


def test_a_converged_cluster_needs_nothing() -> None:
    cache = FakeCache([widget()])
    cache.converge(deploying())
    live: list[Object[Any, Any]] = [*cache.list(WIDGET), *cache.list(DEPLOYMENT)]
    assert plan(deploying(), live) == Plan(passes=1)
    assert plan(deploying(), live).empty


def test_what_somebody_changed_is_planned_path_by_path() -> None:
    cache = FakeCache([widget(size=2)])
    cache.converge(deploying())
    cache.edit(WIDGET, "ns/w", {"spec": {"size": 5}})
    found = plan(deploying(), [*cache.list(WIDGET), *cache.list(DEPLOYMENT)])
    (write,) = found.writes
    assert write.action is Action.UPDATE
    assert Difference("spec.replicas", 2, 5) in write.differences
    assert {difference.path.rpartition("/")[2] for difference in write.differences} == {
        "spec.replicas", "last-applied-hash", "last-applied-generation",
    }  # fmt: skip
    assert found.statuses == ()


def test_objects_of_a_cluster_keep_their_uids() -> None:
    program = WidgetProgram(lambda request: [Create(object=child(CONFIG_MAP, "c"))])
    owner = WIDGET.object({**widget().content(), "metadata": {"name": "w", "namespace": "ns", "uid": UID}})
    (write,) = plan(program, [owner]).writes
    assert write.content["metadata"]["ownerReferences"][0]["uid"] == UID


def test_a_deletion_takes_along_what_the_object_owns() -> None:
    cache = FakeCache([widget()])
    owning = WidgetProgram(lambda request: [Sync(child=deployment(request.object), policy=POLICY)])
    cache.converge(owning)
    (owner,) = cache.list(DEPLOYMENT)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": owner.metadata.uid}
    grandchild = cache.add(
        CONFIG_MAP.object({"metadata": {"name": "g", "namespace": "ns", "ownerReferences": [reference]}})
    )

    def effects(request: Request[Widget]) -> list[Effect]:
        return [Delete(target=obj) for obj in request.view.owned(DEPLOYMENT, request.object)]

    found = plan(WidgetProgram(effects), [*cache.list(WIDGET), owner, grandchild])
    assert [(write.action, str(write.object), len(write.authors)) for write in found.writes] == [
        (Action.DELETE, "Deployment ns/w", 1),
        (Action.DELETE, "ConfigMap ns/g", 0),
    ]


def test_a_finalizer_holds_what_is_deleted() -> None:
    held = CONFIG_MAP.object(
        {"metadata": {"name": "c", "namespace": "ns", "uid": "c", "finalizers": ["example.com/hold"]}}
    )

    def effects(request: Request[Widget]) -> list[Effect]:
        return [Delete(target=obj, owned=False) for obj in request.view.list(CONFIG_MAP)]

    (write,) = plan(WidgetProgram(effects), [widget(), held]).writes
    assert (write.action, write.held) == (Action.DELETE, ("example.com/hold",))


@pytest.mark.parametrize(
    ("effect", "step", "expected"),
    [
        (lambda: Refuse(message="no"), {}, {"message": "no"}),
        (lambda: Refuse(message="no", retry=Retry.NEVER), {"reason": "Bad"}, {"reason": "Bad", "terminal": True}),
        (lambda: Refuse(message="no"), {"prefix": "because: "}, {"message": "because: no"}),
        (lambda: Refuse(message="no"), {"on_error": "report"}, {"fatal": False}),
    ],
)
def test_a_refusal_is_told_with_its_step(
    effect: Callable[[], Effect], step: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = plan(WidgetProgram(lambda request: [effect()], step=step), [widget()])
    wanted = {"message": "no", **expected}
    assert found.failures == (
        PlannedFailure(controller="widget", primary=WIDGET.ref("ns/w"), step="children", **wanted),
    )
    assert found.writes == ()
    assert found.settled
    assert found.passes == 1


def test_what_the_server_refuses_is_a_failure() -> None:
    bad = child(DEPLOYMENT, "d", spec={"replicas": -1})
    (failure,) = plan(WidgetProgram(lambda request: [Create(object=bad)]), [widget()]).failures
    assert "spec.replicas" in failure.message
    assert failure.step == "children"


def test_a_program_that_raises_is_a_failure_without_a_step() -> None:
    def effects(request: Request[Widget]) -> list[Effect]:
        raise RuntimeError("broken")

    (failure,) = plan(WidgetProgram(effects), [widget()]).failures
    assert (failure.step, failure.message) == ("", "RuntimeError: broken")


def test_one_failing_widget_does_not_hide_the_others() -> None:
    def effects(request: Request[Widget]) -> list[Effect]:
        if request.object.metadata.name == "bad":
            return [Refuse(message="no")]
        return [Sync(child=deployment(request.object), policy=POLICY)]

    found = plan(WidgetProgram(effects), [widget("bad"), widget("good")])
    assert [str(write.object) for write in found.writes] == ["Deployment ns/good"]
    assert [str(failure.primary) for failure in found.failures] == ["Widget ns/bad"]


def test_programs_that_never_rest_are_told_with_what_they_still_write() -> None:
    def effects(request: Request[Widget]) -> list[Effect]:
        count = int(request.object.metadata.annotations.get("count", "0"))
        return [PatchPrimary(patch=Change.merge({"metadata": {"annotations": {"count": str(count + 1)}}}))]

    found = plan(WidgetProgram(effects), [widget()], bounds=Bounds(passes=5))
    assert not found.settled
    assert found.passes == 5
    assert found.restless == ("widget for Widget ns/w: updated Widget ns/w: metadata.annotations.count",)


def test_progress_without_end_never_rests() -> None:
    endless = WidgetProgram(lambda request: [], after=lambda request: timedelta(0))
    found = plan(endless, [widget()], bounds=Bounds(passes=3))
    assert found.restless == ("a program asks to be run again at once, for ever",)


def minute_old(request: Request[Widget]) -> bool:
    created = request.object.metadata.creation_timestamp
    assert created is not None
    return request.now - created >= timedelta(seconds=60)


@pytest.mark.parametrize(("horizon", "writes", "passes"), [(0.0, 0, 1), (59.0, 0, 1), (60.0, 1, 3)])
def test_time_passes_only_up_to_the_horizon(horizon: float, writes: int, passes: int) -> None:
    program = WidgetProgram(
        lambda request: [Create(object=child(CONFIG_MAP, "c"))] if minute_old(request) else [],
        after=lambda request: None if minute_old(request) else timedelta(seconds=60),
    )
    found = plan(program, [widget()], bounds=Bounds(horizon=horizon))
    assert len(found.writes) == writes
    assert found.passes == passes
    assert found.settled
    later = Later(controller="widget", primary=WIDGET.ref("ns/w"), seconds=60.0)
    assert found.later == (() if writes else (later,))


def test_a_poll_within_the_horizon_ends_with_it() -> None:
    polling = WidgetProgram(lambda request: [], after=lambda request: timedelta(seconds=10))
    found = plan(polling, [widget()], bounds=Bounds(horizon=35.0))
    assert (found.passes, found.settled) == (4, True)


def test_an_object_that_its_schema_refuses_is_no_plan() -> None:
    bad = DEPLOYMENT.object({"metadata": {"name": "d", "namespace": "ns"}, "spec": {"replicas": -1}})
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        plan(WidgetProgram(lambda request: []), [bad])


@pytest.mark.parametrize(("field", "value"), [("passes", 0), ("horizon", -1.0), ("horizon", float("nan"))])
def test_bounds_that_mean_nothing_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Bounds(**{field: value})  # type: ignore[arg-type]


def test_statuses_are_told_without_their_times() -> None:
    status = WidgetStatus.model_validate(
        {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    )
    found = plan(WidgetProgram(lambda request: [], status=status), [widget()])
    (told,) = found.statuses
    assert told.status["conditions"][0]["lastTransitionTime"] == KNOWN_LATER
