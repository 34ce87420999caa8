"""The program contract (G 11.1), row by row, on a scripted program over a kind whose status is plain JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Unavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.conditions import Condition, with_condition
from dynamo_ctrl.objects.frozen import JsonMap, thaw
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.patch import Patch
from dynamo_ctrl.program.effect import Effect, Event, PatchPrimary, Refuse, Sync, SyncPolicy
from dynamo_ctrl.program.errors import OwnershipConflict, Refusal
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache


class Graph(Object[Mapping[str, Any], Mapping[str, Any]]):
    pass


GRAPH = Kind(Graph, group="example.com", version="v1", kind="Graph", plural="graphs")
GENERIC = "failed_to_reconcile_the_resources"
Script = Callable[[Request[Graph]], Result[JsonMap]]


class Scripted:
    """Does what it is told, and tells an event for each condition that became true."""

    name = "scripted"
    watches = watching(GRAPH).owning(CONFIG_MAP)

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls = 0

    def reconcile(self, request: Request[Graph]) -> Result[JsonMap]:
        self.calls += 1
        return self.script(request)

    def transitions(self, old: JsonMap | None, new: JsonMap) -> tuple[Event, ...]:
        before = {c["type"] for c in (old or {}).get("conditions", ()) if c["status"] == "True"}
        after = [c for c in new.get("conditions", ()) if c["status"] == "True" and c["type"] not in before]
        events = [Event(type="Warning", reason=c["type"], note=c["message"]) for c in after]
        return (*events, *(Event(type="Normal", reason=text, note=text) for text in new.get("tell", ())))


def graph(status: JsonMap | None = None, *, generation: int = 1) -> FakeCache:
    cache = FakeCache([GRAPH.object({"metadata": {"name": "g", "namespace": "ns"}, "spec": {"n": 1}})])
    for number in range(2, generation + 1):
        cache.edit(GRAPH, "ns/g", {"spec": {"n": number}})
    if status is not None:
        cache.set_status(GRAPH, "ns/g", status)
    return cache


def status_of(cache: FakeCache) -> Any:
    found = cache.get(GRAPH, "ns/g")
    assert found is not None
    return thaw(found.status)


def condition(status: JsonMap, type_: str) -> dict[str, Any]:
    (found,) = [c for c in status.get("conditions", ()) if c["type"] == type_] or [{}]
    return dict(found)


def as_g_says(request: Request[Graph], report: Report, **reached: Any) -> dict[str, Any]:
    """The publish rules of G 2.3 and the conditions of G 2.6 and 2.7; `reached` holds what its step has reached."""
    status = thaw(request.object.status)
    generation = request.object.metadata.generation
    for step, (field, value) in reached.items():
        if report.done(step):
            status[field] = value
    failure = report.failure
    state, reason, message = "successful", "all_resources_are_ready", "All resources are ready"
    if failure is not None:
        state, reason, message = "failed", failure.reason or GENERIC, failure.message
    else:
        status["observedGeneration"] = generation
    status["state"] = state
    conditions = [Condition.model_validate(c) for c in status.get("conditions", ())]
    ready = Condition(
        type="Ready",
        status="True" if failure is None else "False",
        reason=reason,
        message=message,
        observed_generation=generation,
    )
    conditions = list(with_condition(conditions, ready, request.now))
    mine = any(c.type == "OwnershipConflict" and c.status == "True" for c in conditions)
    if failure is not None and isinstance(failure.error, OwnershipConflict):
        new = Condition(type="OwnershipConflict", status="True", reason="OwnershipConflict", message=failure.message)
        conditions = list(with_condition(conditions, new, request.now))
    elif failure is None and mine:
        text = "No resource ownership conflicts observed."
        new = Condition(type="OwnershipConflict", status="False", reason="OwnershipConflictResolved", message=text)
        conditions = list(with_condition(conditions, new, request.now))
    status["conditions"] = [c.model_dump(mode="json", by_alias=True, exclude_none=True) for c in conditions]
    return dict(status)


def steps(*named: tuple[str, Effect], reason: str | None = None, prefix: str = "") -> tuple[Step, ...]:
    return tuple(Step(name=name, effects=(effect,), reason=reason, prefix=prefix) for name, effect in named)


def publishing(*named: tuple[str, Effect], **reached: Any) -> Script:
    return lambda request: Result(steps=steps(*named), status=lambda report: as_g_says(request, report, **reached))


def child(name: str = "c") -> Sync:
    content = {"metadata": {"name": name, "namespace": "ns"}, "data": {"a": "b"}}
    return Sync(child=CONFIG_MAP.object(content), policy=SyncPolicy(prefix="example.com/"))


def status_writes(cache: FakeCache) -> int:
    return len([write for write in cache.writes if write.subresource == "status"])


S = {"state": "successful", "components": {"w": {"ready": 3}}}


@pytest.mark.parametrize(
    "status", [pytest.param(S, id="T-CON-01-value"), pytest.param(lambda report: S, id="T-CON-01-function")]
)
def test_a_successful_attempt_writes_its_status_once(status: Any) -> None:
    cache = graph()
    assert cache.reconcile(Scripted(lambda request: Result(status=status)), "ns/g") == DONE
    assert status_of(cache) == S
    assert len(cache.writes) == 1


@pytest.mark.parametrize(
    ("reason", "prefix", "expected"),
    [
        pytest.param(None, "", GENERIC, id="T-CON-02"),
        pytest.param("rolling_update_failed", "", "rolling_update_failed", id="T-CON-03"),
        pytest.param("rolling_update_failed", "failed to roll: ", "rolling_update_failed", id="T-CON-03-prefix"),
    ],
)
def test_an_error_is_published_with_its_reason_and_returned(reason: str | None, prefix: str, expected: str) -> None:
    cache = graph()

    def script(request: Request[Graph]) -> Result[JsonMap]:
        broken = steps(("broken", Refuse(message="it broke")), reason=reason, prefix=prefix)
        return Result(steps=broken, status=lambda report: as_g_says(request, report))

    answer = cache.reconcile(Scripted(script), "ns/g")
    assert isinstance(answer.error, Refusal)
    assert str(answer.error) == "it broke"
    assert not answer.terminal
    ready = condition(status_of(cache), "Ready")
    assert (status_of(cache)["state"], ready["status"]) == ("failed", "False")
    assert (ready["reason"], ready["message"]) == (expected, f"{prefix}it broke")


@pytest.mark.parametrize("field", [pytest.param(name, id=f"T-CON-04-{name}") for name in ("components", "restart")])
def test_a_failed_workload_step_replaces_neither_components_nor_restart(field: str) -> None:
    before = {"components": {"w": {"ready": 3}}, "restart": {"id": "R0"}, "observedGeneration": 4}
    cache = graph(before, generation=5)
    program = Scripted(publishing(("workloads", Refuse(message="no")), workloads=(field, "partial")))
    cache.reconcile(program, "ns/g")
    status = status_of(cache)
    assert status["components"] == {"w": {"ready": 3}}
    assert status["restart"] == {"id": "R0"}
    assert status["observedGeneration"] == 4
    assert condition(status, "Ready")["observedGeneration"] == 5


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-05")])
def test_what_a_finished_step_observed_is_kept_when_a_later_one_fails(_: None) -> None:
    cache = graph({"components": {"w": {"ready": 3}}, "checkpoints": {}})
    program = Scripted(
        publishing(
            ("checkpoints", child()),
            ("workloads", Refuse(message="no")),
            checkpoints=("checkpoints", {"w": "ready"}),
            workloads=("components", {}),
        )
    )
    cache.reconcile(program, "ns/g")
    status = status_of(cache)
    assert status["checkpoints"] == {"w": "ready"}
    assert status["components"] == {"w": {"ready": 3}}
    assert status["state"] == "failed"


@pytest.mark.parametrize(
    ("error", "events"),
    [pytest.param(Unavailable("down"), [], id="T-CON-06"), pytest.param(None, ["one", "two"], id="T-CON-07")],
)
def test_events_are_told_in_order_and_only_after_the_status_was_written(
    error: Unavailable | None, events: list[str]
) -> None:
    cache = graph()
    if error is not None:
        cache.faults.fail(error, "patch", GRAPH, subresource="status")
    answer = cache.reconcile(Scripted(lambda request: Result(status={"tell": ["one", "two"]})), "ns/g")
    assert answer == Answer(error=error)
    assert [event.reason for _, event in cache.events] == events


def _assign(request: Request[Graph]) -> None:
    request.object.status["state"] = "mine"  # type: ignore[index]


def _nested(request: Request[Graph]) -> None:
    request.object.status["components"]["w"]["ready"] = 0


def _append(request: Request[Graph]) -> None:
    request.object.status["conditions"].append({})


def _replace(request: Request[Graph]) -> None:
    request.object.status = {}  # type: ignore[misc]


def _annotate(request: Request[Graph]) -> None:
    request.object.metadata.annotations["a"] = "b"  # type: ignore[index]


@pytest.mark.parametrize(
    "change", [pytest.param(f, id=f"T-CON-08{f.__name__}") for f in (_assign, _nested, _append, _replace, _annotate)]
)
def test_a_program_cannot_change_its_request(change: Callable[[Request[Graph]], None]) -> None:
    before = {"state": "old", "components": {"w": {"ready": 3}}, "conditions": []}
    cache = graph(before)

    def script(request: Request[Graph]) -> Result[JsonMap]:
        change(request)
        return Result(status={"state": "new"})

    answer = cache.reconcile(Scripted(script), "ns/g")
    assert isinstance(answer.error, TypeError | AttributeError)
    assert status_of(cache) == before
    assert not cache.writes


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-09")])
def test_the_status_write_follows_the_programs_own_patch_without_a_conflict(_: None) -> None:
    cache = graph()
    patch = PatchPrimary(patch=Patch.merge({"metadata": {"annotations": {"hash": "h1"}}}))
    program = Scripted(lambda request: Result(steps=steps(("hash", patch)), status={"state": "pending"}))
    assert cache.reconcile(program, "ns/g") == DONE
    assert [(write.subresource, write.error) for write in cache.writes] == [("", None), ("status", None)]
    assert status_of(cache) == {"state": "pending"}


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-10")])
def test_a_missing_object_is_neither_an_error_nor_a_write(_: None) -> None:
    cache = FakeCache()
    program = Scripted(lambda request: Result(status={"state": "x"}))
    assert cache.reconcile(program, "ns/g") == DONE
    assert (program.calls, cache.writes) == (0, ())


def waiting(request: Request[Graph], *, failed: bool, adapters: Effect) -> Result[JsonMap]:
    """The checkpoint wait of G 3.2.2 over a result that is successful or failed, then the adapters (G 3.1, step 10)."""
    waits = {"w": "c1", "a": ""}
    text = ", ".join(f"{name} ({found})" if found else name for name, found in sorted(waits.items()))
    message = f"Waiting for checkpoints: {text}"
    gate = Step(name="adapters", effects=(adapters,), when=lambda report: False)
    broken = steps(("workloads", Refuse(message="no"))) if failed else ()

    def status(report: Report) -> JsonMap:
        found = as_g_says(request, report)
        if report.failure is None:
            ready = {"type": "Ready", "status": "False", "reason": "waiting_for_checkpoint", "message": message}
            return {**found, "state": "pending", "conditions": [ready]}
        return found

    return Result(steps=(*broken, gate), status=status)


@pytest.mark.parametrize(
    ("failed", "state", "reason", "message"),
    [
        pytest.param(False, "pending", "waiting_for_checkpoint", "Waiting for checkpoints: a, w (c1)", id="T-CON-15"),
        pytest.param(True, "failed", GENERIC, "no", id="T-CON-16"),
        pytest.param(False, "pending", "waiting_for_checkpoint", "Waiting for checkpoints: a, w (c1)", id="T-CON-17"),
    ],
)
def test_a_gate_before_a_step_keeps_it_from_running(failed: bool, state: str, reason: str, message: str) -> None:
    cache = graph()
    cache.reconcile(Scripted(lambda request: waiting(request, failed=failed, adapters=child("adapter"))), "ns/g")
    ready = condition(status_of(cache), "Ready")
    assert (status_of(cache)["state"], ready["reason"], ready["message"]) == (state, reason, message)
    assert cache.get(CONFIG_MAP, "ns/adapter") is None


@pytest.mark.parametrize(
    ("row", "condition_status", "reason", "events"),
    [
        pytest.param(1, "True", "OwnershipConflict", 1, id="T-CON-18"),
        pytest.param(2, "True", "OwnershipConflict", 1, id="T-CON-19"),
        pytest.param(3, "False", "OwnershipConflictResolved", 1, id="T-CON-20"),
    ],
)
def test_an_ownership_conflict_is_published_told_once_and_resolved(
    row: int, condition_status: str, reason: str, events: int
) -> None:
    cache = graph()
    cache.add(CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}}))
    program = Scripted(publishing(("child", child())))
    for number in range(1, row + 1):
        if number == 3:
            cache.delete(CONFIG_MAP, "ns/c")
        answer = cache.reconcile(program, "ns/g")
        assert (answer.error is None) is (number == 3)
        cache.advance(10)
    found = condition(status_of(cache), "OwnershipConflict")
    assert (found["status"], found["reason"]) == (condition_status, reason)
    assert [event.reason for _, event in cache.events].count("OwnershipConflict") == events


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-21")])
def test_another_error_leaves_the_ownership_condition_alone(_: None) -> None:
    old = {
        "type": "OwnershipConflict",
        "status": "True",
        "reason": "OwnershipConflict",
        "message": "m",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    }
    cache = graph({"conditions": [old]})
    cache.reconcile(Scripted(publishing(("other", Refuse(message="no")))), "ns/g")
    assert condition(status_of(cache), "OwnershipConflict") == old


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-22")])
def test_a_refusal_stands_at_its_place_between_the_steps(_: None) -> None:
    cache = graph()
    refusal = Refuse(message="no multinode orchestrator available")

    def script(request: Request[Graph]) -> Result[JsonMap]:
        found = (
            *steps(("shared", child("shared"))),
            *steps(("orchestrator", refusal), reason="no_multinode_orchestrator_available"),
            *steps(("workloads", child("workload"))),
        )
        return Result(steps=found, status=lambda report: as_g_says(request, report))

    cache.reconcile(Scripted(script), "ns/g")
    assert cache.get(CONFIG_MAP, "ns/shared") is not None
    assert cache.get(CONFIG_MAP, "ns/workload") is None
    assert condition(status_of(cache), "Ready")["reason"] == "no_multinode_orchestrator_available"


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-24")])
def test_an_attempt_with_the_same_outcome_writes_and_tells_nothing(_: None) -> None:
    cache = graph()
    program = Scripted(publishing(("broken", Refuse(message="no"))))
    cache.reconcile(program, "ns/g")
    first = status_of(cache)
    cache.advance(3600)
    cache.reconcile(program, "ns/g")
    assert status_of(cache) == first
    assert condition(first, "Ready")["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert status_writes(cache) == 1
    assert not cache.events
