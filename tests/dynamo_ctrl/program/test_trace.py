"""Traces: what is kept of the attempts at a key, and how much of it at most."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.objects.key import Key, Ref
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import (
    Create,
    Delete,
    Effect,
    EnsureFinalizer,
    Patch,
    PatchPrimary,
    Refuse,
    Retry,
    Scale,
    Sync,
    SyncPolicy,
    subject,
)
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.program.trace import MESSAGE, NOTABLE, PATHS, VALUE, Did, Told, Trace, Traces, shown, text
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, WidgetStatus, widget
from tests.dynamo_ctrl.plan.widgets import deploying

AT = datetime(2026, 1, 1, tzinfo=UTC)
K = Key("ns", "w")
CHILD = CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}})


def trace(**status: Any) -> Trace:
    made = Trace(AT)
    made.status_written(WIDGET, [Difference(f"status.{name}", ABSENT, value) for name, value in status.items()])
    return made


def test_the_last_attempt_is_kept_and_the_last_that_did_something() -> None:
    traces = Traces()
    notable = [trace(ready=number) for number in range(NOTABLE + 2)]
    for each in notable:
        traces.keep(K, each, DONE)
    idle = trace()
    traces.keep(K, idle, DONE)
    history = traces.of(K)
    assert history is not None
    assert history.last is idle
    assert list(history.notable) == notable[-NOTABLE:]


def test_the_keys_that_ran_last_are_kept() -> None:
    traces = Traces(keys=6)
    for number in range(100):
        traces.keep(Key("ns", str(number)), trace(), DONE)
        assert len(traces) <= 6
        for recent in range(max(0, number - 2), number + 1):
            assert traces.of(Key("ns", str(recent))) is not None
    assert traces.of(Key("ns", "50")) is None


def test_of_the_keys_that_did_something_the_least_recent_one_gives_way() -> None:
    traces = Traces(keys=2)
    for name in ("a", "b", "a", "c"):
        traces.keep(Key("ns", name), trace(ready=1), DONE)
    for number in range(10):
        traces.keep(Key("ns", str(number)), trace(), DONE)
    assert traces.of(Key("ns", "b")) is None
    history = traces.of(Key("ns", "a"))
    assert history is not None
    assert len(history.notable) == 2
    assert history.last is history.notable[-1]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (DONE, ""),
        (CONFLICT, ""),
        (Answer(requeue_after=3.0), ""),
        (Answer(error=ValueError("x" * 5000), terminal=True), f"ValueError: {'x' * 5000}"[:MESSAGE]),
    ],
)
def test_an_error_is_kept_as_text_only(answer: Answer, error: str) -> None:
    traces, made = Traces(), trace()
    traces.keep(K, made, answer)
    assert made.error == error
    assert made.answer.error is None
    assert made.answer.terminal == answer.terminal
    assert made.answer.requeue_after == answer.requeue_after


def test_differences_are_cut_in_number_and_length() -> None:
    many = [Difference(f"spec.{number}", number, "x" * 1000) for number in range(PATHS + 5)]
    told = shown(WIDGET, many)
    assert len(told) == PATHS
    assert told[0].old == "0"
    assert all(each.new is not None and len(each.new) == VALUE for each in told)
    made = Trace(AT)
    made.wrote("s", Create(object=CHILD), Did.UPDATED, CHILD.ref, many)
    assert made.lines[0].more == 5


@pytest.mark.parametrize(
    ("value", "expected"), [(ABSENT, None), (None, "null"), ("a", '"a"'), ({"a": [1]}, '{"a":[1]}'), (True, "true")]
)
def test_values_are_json(value: Any, expected: str | None) -> None:
    assert text(value) == expected


def test_every_effect_has_its_subject() -> None:
    primary = widget()
    change = Change.merge({"metadata": {"labels": {"a": "b"}}})
    effects: dict[Effect, Ref | None] = {
        Sync(child=CHILD, policy=SyncPolicy(prefix="p/")): CHILD.ref,
        Create(object=CHILD): CHILD.ref,
        Patch(target=CHILD, patch=change): CHILD.ref,
        Delete(target=CHILD): CHILD.ref,
        Scale(kind=DEPLOYMENT, key=K, replicas=1): DEPLOYMENT.ref(K),
        PatchPrimary(patch=change): primary.ref,
        EnsureFinalizer(name="f"): primary.ref,
        Refuse(message="no"): None,
    }
    assert {effect: subject(effect, primary) for effect in effects} == effects


class Program:
    """Does what a test says."""

    name = "widget"

    def __init__(self, watches: Any, reconcile: Any) -> None:
        self.watches = watches
        self.reconcile = reconcile


def lines(cache: FakeCache, program: Program) -> list[tuple[str, Did, str]]:
    return [(line.effect, line.did, str(line.object)) for line in cache.traces(program, K).last.lines]


def test_a_trace_tells_what_came_of_each_effect() -> None:
    def reconcile(request: Any) -> Any:
        size = request.object.spec.size
        child = CONFIG_MAP.object({**CHILD.content(), "data": {"size": str(size)}})
        refuse = Refuse(message="too big", retry=Retry.NEVER)
        return Result(
            steps=(
                Step(name="mark", effects=(PatchPrimary(patch=Change.merge({"metadata": {"labels": {"a": "b"}}})),)),
                Step(name="child", effects=(Sync(child=child, policy=SyncPolicy(prefix="p/")),)),
                Step(name="check", effects=(refuse,) if size > 2 else (), reason="Big", prefix="sorry: "),
            ),
            status=lambda report: WidgetStatus(ready=size),
        )

    cache = FakeCache([widget()])
    program = Program(watching(WIDGET).owning(CONFIG_MAP), reconcile)
    cache.reconcile(program, K)
    assert lines(cache, program) == [
        ("PatchPrimary", Did.UPDATED, "Widget ns/w"),
        ("Sync", Did.CREATED, "ConfigMap ns/c"),
    ]
    assert Told("status.ready", None, "1") in cache.traces(program, K).last.status
    cache.reconcile(program, K)
    assert [did for _, did, _ in lines(cache, program)] == [Did.UNCHANGED, Did.UNCHANGED]
    assert not cache.traces(program, K).last.notable
    cache.edit(WIDGET, K, {"spec": {"size": 3}})
    cache.edit(CONFIG_MAP, "ns/c", {"data": {"size": "other"}})
    cache.reconcile(program, K)
    history = cache.traces(program, K)
    sync, refused = history.last.lines[1:]
    assert Told("data.size", '"other"', '"3"') in sync.differences
    assert (refused.did, refused.object, refused.reason) == (Did.FAILED, None, "Big")
    assert (refused.message, refused.fatal) == ("sorry: too big", True)
    assert history.last.answer.terminal
    assert history.last.error == "Refusal: too big"
    assert len(history.notable) == 2


def test_a_write_that_undoes_what_somebody_did_by_hand_says_so() -> None:
    cache = FakeCache([widget(size=2)])
    cache.converge(deploying())
    cache.edit(DEPLOYMENT, K, {"spec": {"replicas": 7}})
    program = deploying()
    cache.reconcile(program, K)
    (line,) = cache.traces(program, K).last.lines
    assert line.edited
    assert Told("spec.replicas", "7", "2") in line.differences
