"""The outer reconciler: what an attempt comes to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Conflict, Forbidden, ServerError, Unanswered, Unavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Event, Patch, Refuse, Retry
from dynamo_ctrl.program.errors import ProgramFault, Refusal
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import PROGRESS, Note, Result, Step
from dynamo_ctrl.program.unmoved import UNMOVED_LIMIT
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

Script = Callable[[Request[Widget]], Any]
READY = WidgetStatus(state="ready")


class Scripted:
    name = "scripted"
    watches = watching(WIDGET).owning(CONFIG_MAP)

    def __init__(self, script: Script | None = None, *, result: Result[WidgetStatus] | None = None) -> None:
        self.script = script or (lambda _: result)
        self.told: list[tuple[str | None, str]] = []

    def reconcile(self, request: Request[Widget]) -> Any:
        return self.script(request)

    def transitions(self, old: WidgetStatus | None, new: WidgetStatus) -> tuple[Event, ...]:
        self.told.append((None if old is None else old.state, new.state))
        return ()


def step(*effects: Any, name: str = "s", **options: Any) -> Step:
    return Step(name=name, effects=effects, **options)


def config(name: str = "c") -> ConfigMap:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns"}})


def state(cache: FakeCache) -> str:
    return cache.request(WIDGET, "ns/w").object.status.state


def test_the_time_of_an_attempt_moves_with_the_clock(cache: FakeCache) -> None:
    times: list[datetime] = []

    def script(request: Request[Widget]) -> Result[WidgetStatus]:
        times.append(request.now)
        return Result()

    program = Scripted(script)
    for _ in range(3):
        cache.reconcile(program, "ns/w")
        cache.advance(2)
    assert [later - earlier for earlier, later in pairwise(times)] == [timedelta(seconds=2)] * 2


def test_the_transition_is_told_with_the_pair_that_was_written(cache: FakeCache) -> None:
    program = Scripted(result=Result(status=READY))
    cache.reconcile(program, "ns/w")
    program.script = lambda _: Result(status=WidgetStatus(state="gone"))
    cache.reconcile(program, "ns/w")
    cache.reconcile(program, "ns/w")
    assert program.told == [(None, "ready"), ("ready", "gone")]


def test_an_attempt_can_tell_transitions_of_its_own_after_those_of_its_program(cache: FakeCache) -> None:
    def own(old: WidgetStatus | None, new: WidgetStatus) -> tuple[Event, ...]:
        return (Event(type="Normal", reason="Own", note=f"{None if old is None else old.state} {new.state}"),)

    program = Scripted(result=Result(status=READY, transitions=own))
    cache.reconcile(program, "ns/w")
    cache.reconcile(program, "ns/w")
    program.script = lambda _: Result(status=lambda report: None, transitions=own)
    cache.reconcile(program, "ns/w")
    assert program.told == [(None, "ready")]
    assert [event.note for _, event in cache.events] == ["None ready"]


def test_no_transition_is_told_when_the_status_could_not_be_written(cache: FakeCache) -> None:
    def own(old: WidgetStatus | None, new: WidgetStatus) -> tuple[Event, ...]:
        return (Event(type="Normal", reason="Own", note="n"),)

    program = Scripted(result=Result(status=READY, transitions=own))
    cache.faults.fail(ServerError("no"), "patch", WIDGET, subresource="status")
    assert cache.reconcile(program, "ns/w").error is not None
    assert (program.told, cache.events) == ([], [])


def test_a_coroutine_is_awaited(cache: FakeCache) -> None:
    async def script(request: Request[Widget]) -> Result[WidgetStatus]:
        return Result(status=READY)

    assert cache.reconcile(Scripted(script), "ns/w") == DONE
    assert state(cache) == "ready"


def _raise(error: Exception) -> Script:
    def script(request: Request[Widget]) -> Any:
        raise error

    return script


def test_an_exception_is_an_error_with_its_stack_and_no_status(cache: FakeCache) -> None:
    cache.set_status(WIDGET, "ns/w", {"state": "old"})
    answer = cache.reconcile(Scripted(_raise(ZeroDivisionError("bug"))), "ns/w")
    assert isinstance(answer.error, ZeroDivisionError)
    assert answer.error.__traceback__ is not None
    assert answer.panic
    assert not answer.terminal
    assert not cache.writes


def test_an_exception_in_a_status_function_is_an_error_and_no_status(cache: FakeCache) -> None:
    result: Result[Any] = Result(steps=(step(Create(object=config())),), status=lambda _: 1 / 0)
    answer = cache.reconcile(Scripted(result=result), "ns/w")
    assert isinstance(answer.error, ZeroDivisionError)
    assert [write.ref.kind for write in cache.writes] == [CONFIG_MAP]


def test_a_source_that_cannot_be_read_is_an_error_that_is_retried(cache: FakeCache) -> None:
    answer = cache.reconcile(Scripted(_raise(SourceUnavailable(CONFIG_MAP, "no right"))), "ns/w")
    assert isinstance(answer.error, SourceUnavailable)
    assert not answer.terminal
    assert not answer.panic


def test_a_spec_that_breaks_its_schema_is_terminal_and_names_the_field(cache: FakeCache) -> None:
    cache.edit(WIDGET, "ns/w", {"spec": {"size": -1}})
    answer = cache.reconcile(Scripted(lambda request: request.object.spec.size), "ns/w")
    assert isinstance(answer.error, InvalidObject)
    assert answer.terminal
    assert not answer.panic
    assert "Widget ns/w: spec.size" in str(answer.error)


def test_the_broken_spec_of_another_object_is_not_terminal(cache: FakeCache) -> None:
    cache.add(WIDGET.object({"metadata": {"name": "v", "namespace": "ns"}, "spec": {"size": -1}}))

    def script(request: Request[Widget]) -> Any:
        found = request.view.get(WIDGET, "ns/v")
        assert found is not None
        return found.spec

    answer = cache.reconcile(Scripted(script), "ns/w")
    assert isinstance(answer.error, InvalidObject)
    assert not answer.terminal


def test_an_answer_that_is_no_result_is_a_fault_of_the_program(cache: FakeCache) -> None:
    answer = cache.reconcile(Scripted(lambda _: None), "ns/w")
    assert isinstance(answer.error, ProgramFault)
    assert "scripted: reconcile answered NoneType, not Result" in str(answer.error)


def test_two_steps_of_one_name_are_a_fault_of_the_program(cache: FakeCache) -> None:
    answer = cache.reconcile(Scripted(result=Result(steps=(step(), step()))), "ns/w")
    assert isinstance(answer.error, ProgramFault)


def test_all_effects_of_a_step_are_tried_and_the_next_step_is_not(cache: FakeCache) -> None:
    first = step(Refuse(message="no"), Create(object=config("a")), name="first")
    second = step(Create(object=config("b")), name="second")
    answer = cache.reconcile(Scripted(result=Result(steps=(first, second))), "ns/w")
    assert isinstance(answer.error, Refusal)
    assert [str(write.ref.key) for write in cache.writes] == ["ns/a"]


def test_a_step_that_only_reports_lets_the_attempt_go_on_and_succeed(cache: FakeCache) -> None:
    refusal = Refuse(message="no")
    first = step(refusal, name="first", on_error="report", reason="r")
    second = step(Create(object=config("b")), name="second", when=lambda report: not report.done("first"))
    seen = []

    def status(report: Any) -> WidgetStatus:
        seen.append((report.failure, [f.reason for f in report.failures], report.error(refusal), report.done("second")))
        return READY

    assert cache.reconcile(Scripted(result=Result(steps=(first, second), status=status)), "ns/w") == DONE
    ((fatal, reasons, error, done),) = seen
    assert (fatal, reasons, done) == (None, ["r"], True)
    assert isinstance(error, Refusal)


def test_a_barrier_sees_the_report_so_far(cache: FakeCache) -> None:
    first = step(Create(object=config("a")), name="first")
    barrier = step(Create(object=config("b")), name="second", when=lambda report: report.wrote == 0)
    program = Scripted(result=Result(steps=(first, barrier)))
    cache.reconcile(program, "ns/w")
    assert cache.get(CONFIG_MAP, "ns/b") is None
    cache.reconcile(program, "ns/w")
    assert cache.get(CONFIG_MAP, "ns/b") is not None


class TestConflict:
    def test_it_is_quiet_whatever_else_the_attempt_holds(self, cache: FakeCache, logs: list[Any]) -> None:
        cache.faults.fail(Conflict("other"), "create")
        result = Result(
            steps=(step(Refuse(message="no"), name="r", on_error="report"), step(Create(object=config()))),
            status=READY,
            notes=(Note(level="warning", message="a note"),),
        )
        program = Scripted(result=result)
        assert cache.reconcile(program, "ns/w") == CONFLICT
        assert (state(cache), program.told, cache.events) == ("", [], [])
        assert [(line["log_level"], line["event"]) for line in logs] == [("debug", "conflict")]

    def test_the_same_status_is_written_again_if_only_metadata_moved(self, cache: FakeCache) -> None:
        def touch() -> None:
            cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {"n": str(cache.core.version)}}})

        cache.faults.interleave(touch, "patch", WIDGET, subresource="status", times=3)
        program = Scripted(result=Result(status=READY))
        assert cache.reconcile(program, "ns/w") == DONE
        assert state(cache) == "ready"
        assert program.told == [(None, "ready")]

    def test_it_gives_up_quietly_when_metadata_never_rests(self, cache: FakeCache) -> None:
        def touch() -> None:
            cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {"n": str(cache.core.version)}}})

        cache.faults.interleave(touch, "patch", WIDGET, subresource="status", times=9)
        assert cache.reconcile(Scripted(result=Result(status=READY)), "ns/w") == CONFLICT
        assert len(cache.writes) == 4

    @pytest.mark.parametrize(
        "moved",
        [
            pytest.param(lambda cache: cache.edit(WIDGET, "ns/w", {"spec": {"size": 9}}), id="the-spec-moved"),
            pytest.param(lambda cache: cache.set_status(WIDGET, "ns/w", {"restart": "x"}), id="the-status-moved"),
            pytest.param(lambda cache: cache.delete(WIDGET, "ns/w"), id="it-is-gone"),
            pytest.param(lambda cache: (cache.delete(WIDGET, "ns/w"), cache.add(widget())), id="it-is-another-object"),
        ],
    )
    def test_a_status_is_not_written_over_what_was_not_seen(
        self, cache: FakeCache, moved: Callable[[FakeCache], object]
    ) -> None:
        cache.faults.interleave(lambda: moved(cache), "patch", WIDGET, subresource="status")
        program = Scripted(result=Result(status=READY))
        assert cache.reconcile(program, "ns/w") == CONFLICT
        assert cache.get(WIDGET, "ns/w") is None or state(cache) == ""
        assert program.told == []

    def test_a_terminal_error_gives_way_to_a_conflict_of_its_status(self, cache: FakeCache) -> None:
        cache.faults.interleave(
            lambda: cache.edit(WIDGET, "ns/w", {"spec": {"size": 9}}), "patch", WIDGET, subresource="status"
        )
        result: Result[Any] = Result(steps=(step(Refuse(message="no", retry=Retry.NEVER)),), status=lambda _: READY)
        assert cache.reconcile(Scripted(result=result), "ns/w") == CONFLICT


def test_a_status_whose_answer_was_lost_is_an_error_and_then_equal(cache: FakeCache) -> None:
    lost = Unanswered("lost")
    cache.faults.fail(lost, "patch", WIDGET, subresource="status", after=True)
    program = Scripted(result=Result(status=READY))
    assert cache.reconcile(program, "ns/w") == Answer(error=lost)
    assert cache.reconcile(program, "ns/w") == DONE
    assert len(cache.writes) == 1


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(timedelta(seconds=30), 30.0, id="later"),
        pytest.param(PROGRESS, 0.0, id="progress"),
        pytest.param(lambda report: timedelta(seconds=5) if report.done("s") else None, 5.0, id="asked"),
        pytest.param(timedelta(seconds=-3), 0.0, id="past-is-now"),
    ],
)
def test_the_next_run_is_as_asked(cache: FakeCache, wanted: Any, seconds: float | None) -> None:
    answer = cache.reconcile(Scripted(result=Result(steps=(step(),), requeue_after=wanted)), "ns/w")
    assert answer == Answer(requeue_after=seconds)


def test_the_next_run_is_not_asked_of_a_failed_attempt(cache: FakeCache) -> None:
    result: Result[Any] = Result(steps=(step(Refuse(message="no")),), requeue_after=lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
    answer = cache.reconcile(Scripted(result=result), "ns/w")
    assert isinstance(answer.error, Refusal)
    assert answer.requeue_after is None


def test_a_write_without_a_change_brings_the_key_back_ever_later_and_not_for_ever(cache: FakeCache) -> None:
    cache.add(config())

    def script(request: Request[Widget]) -> Result[WidgetStatus]:
        target = request.view.get(CONFIG_MAP, "ns/c")
        assert target is not None
        ignored = Change.merge({"metadata": {"generation": 77}})
        return Result(steps=(step(Patch(target=target, patch=ignored)),))

    program = Scripted(script)
    delays = [cache.reconcile(program, "ns/w").requeue_after for _ in range(UNMOVED_LIMIT + 2)]
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, None, None]


def test_notes_are_logged_with_the_controller_and_the_key(cache: FakeCache, logs: list[Any]) -> None:
    cache.reconcile(Scripted(result=Result(notes=(Note(level="info", message="hello"),))), "ns/w")
    assert logs == [{"event": "hello", "log_level": "info", "controller": "scripted", "key": "ns/w"}]


def test_an_event_on_an_effect_is_told_although_the_status_fails(cache: FakeCache) -> None:
    cache.faults.fail(Forbidden("no right"), "patch", WIDGET, subresource="status")
    made = Create(object=config(), event=Event(type="Normal", reason="Made", note="n"))
    cache.reconcile(Scripted(result=Result(steps=(step(made),), status=READY)), "ns/w")
    assert [(obj.key.name, event.reason) for obj, event in cache.events] == [("w", "Made")]


def test_an_unreadable_old_status_reads_as_none(cache: FakeCache) -> None:
    cache.set_status(WIDGET, "ns/w", {"ready": "many"})
    program = Scripted(result=Result(status=READY))
    assert cache.reconcile(program, "ns/w") == DONE
    assert program.told == [(None, "ready")]
    assert cache.request(WIDGET, "ns/w").object.status == READY


def test_a_terminal_refusal_is_published_and_not_retried(cache: FakeCache) -> None:
    result: Result[Any] = Result(
        steps=(step(Refuse(message="never", retry=Retry.NEVER)),), status=lambda _: WidgetStatus(state="failed")
    )
    answer = cache.reconcile(Scripted(result=result), "ns/w")
    assert answer.terminal
    assert state(cache) == "failed"


def test_a_status_that_cannot_be_written_is_retried_even_if_the_attempts_own_error_is_terminal(
    cache: FakeCache,
) -> None:
    cache.faults.fail(Unavailable("down"), "patch", WIDGET, subresource="status")
    result: Result[Any] = Result(steps=(step(Refuse(message="never", retry=Retry.NEVER)),), status=lambda _: READY)
    answer = cache.reconcile(Scripted(result=result), "ns/w")
    assert isinstance(answer.error, Unavailable)
    assert not answer.terminal


def test_a_plain_status_is_not_published_by_an_attempt_with_a_failure(cache: FakeCache) -> None:
    broken = step(Refuse(message="no"), on_error="report")
    assert cache.reconcile(Scripted(result=Result(steps=(broken,), status=READY)), "ns/w") == DONE
    assert state(cache) == ""


def test_the_time_of_the_request_is_that_of_the_given_clock(cache: FakeCache) -> None:
    cache.advance(60)
    seen = []

    def script(request: Request[Widget]) -> Result[WidgetStatus]:
        seen.append(request.now)
        return Result()

    cache.reconcile(Scripted(script), "ns/w")
    assert seen == [datetime(2026, 1, 1, 0, 1, tzinfo=UTC)]
