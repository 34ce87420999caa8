"""What each answer of a reconcile does to its key, to the numbers and to the log."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.controller.echo import Echo, Loop
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.controller.settle import MANY_CONFLICTS, Settler
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.core import POD, SECRET
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.queue.workqueue import WorkQueue

KEY = Key("ns", "a")
GOING = Forbidden("namespace ns is being terminated", details={"causes": [{"reason": "NamespaceTerminating"}]})


class Bench:
    def __init__(self) -> None:
        self.queue: WorkQueue[Key] = WorkQueue()
        self.numbers = ControllerNumbers()
        self.lines = LogCapture()
        log = structlog.wrap_logger(None, processors=[self.lines], wrapper_class=structlog.BoundLogger)
        self.echoes: dict[int, Echo] = {}
        self.settler = Settler(
            "graph", self.queue, self.numbers, log, lambda error: error.kind == POD, echoes=self.echoes
        )
        self.queue.add(KEY, 0)

    def answer(self, answer: Answer, now: float = 0.0) -> None:
        entry = self.queue.get(now)
        assert entry is not None
        self.settler.settle(entry, answer, now)

    def counts(self) -> dict[str, int]:
        names = ("success", "error", "requeue", "requeue_after", "terminal", "panics")
        return {name: count for name in names if (count := getattr(self.numbers, name))}

    def levels(self) -> list[str]:
        return [str(line["log_level"]) for line in self.lines.entries]


@pytest.mark.parametrize(
    ("answer", "counts", "next_run", "levels"),
    [
        pytest.param(DONE, {"success": 1}, None, [], id="done"),
        pytest.param(Answer(), {"success": 1}, None, [], id="an-empty-answer-is-done"),
        pytest.param(Answer(requeue_after=30), {"requeue_after": 1}, 30, [], id="requeue-after"),
        pytest.param(Answer(requeue_after=0.001), {"requeue_after": 1}, 0.001, [], id="the-soonest"),
        pytest.param(Answer(requeue_after=0), {"requeue": 1}, 0, [], id="progress"),
        pytest.param(CONFLICT, {"requeue": 1}, 0.01, [], id="R4-38-conflict-is-quiet"),
        pytest.param(Answer(error=OSError("no")), {"error": 1}, 0.005, ["error"], id="error"),
        pytest.param(
            Answer(error=OSError("no"), requeue_after=30),
            {"error": 1},
            0.005,
            ["error"],
            id="an-error-beats-requeue-after",
        ),
        pytest.param(
            Answer(error=OSError("no"), terminal=True), {"error": 1, "terminal": 1}, None, ["error"], id="terminal"
        ),
        pytest.param(Answer(error=OSError("no"), panic=True), {"error": 1, "panics": 1}, 0.005, ["error"], id="panic"),
        pytest.param(Answer(error=Forbidden("no")), {"error": 1}, 0.005, ["error"], id="a-missing-right-is-an-error"),
        pytest.param(Answer(error=GOING), {"requeue": 1}, 0.005, [], id="a-namespace-that-goes-is-quiet"),
        pytest.param(
            Answer(error=SourceUnavailable(POD, "forbidden")),
            {"requeue": 1},
            None,
            [],
            id="a-source-of-ours-is-waited-for",
        ),
        pytest.param(
            Answer(error=SourceUnavailable(SECRET, "never declared")),
            {"error": 1},
            0.005,
            ["error"],
            id="an-undeclared-kind-is-an-error",
        ),
    ],
)
def test_an_answer(answer: Answer, counts: dict[str, int], next_run: float | None, levels: list[str]) -> None:
    bench = Bench()
    bench.answer(answer)
    assert bench.counts() == counts
    assert bench.levels() == levels
    if next_run is None:
        assert KEY not in bench.queue
    elif next_run == 0:
        assert len(bench.queue) == 1
    else:
        assert bench.queue.next() == next_run


def test_an_error_line_says_which_key_which_run_what_and_when_again() -> None:
    bench = Bench()
    bench.answer(Answer(error=OSError("disk full")))
    (line,) = bench.lines.entries
    assert {
        "key": "ns/a",
        "reconcile_id": "graph-1",
        "error": "disk full",
        "type": "OSError",
        "failures": 1,
    }.items() <= line.items()
    assert line["retry_in"] == 0.005
    assert "exc_info" not in line


def test_a_raised_exception_is_an_error_with_its_stack_and_a_panic() -> None:
    bench = Bench()
    entry = bench.queue.get(0)
    assert entry is not None
    error = KeyError("x")
    bench.settler.settle(entry, Answer(error=error, panic=True), 0)
    assert bench.counts() == {"error": 1, "panics": 1}
    assert bench.lines.entries[0]["exc_info"] is error
    assert bench.queue.next() == 0.005


def test_a_key_that_waits_for_a_source_is_remembered_until_somebody_wakes_it() -> None:
    bench = Bench()
    bench.answer(Answer(error=SourceUnavailable(POD, "forbidden")))
    assert bench.settler.unpark() == {KEY: 0}
    assert bench.settler.unpark() == {}


@pytest.mark.parametrize("after", [-1, 0, 1e-6, 0.00099])
def test_progress_without_end_backs_off_and_is_told(after: float) -> None:
    bench = Bench()
    for _ in range(10):
        bench.answer(Answer(requeue_after=after))
    assert bench.levels() == []
    bench.answer(Answer(requeue_after=after))
    assert bench.levels() == ["warning"]
    assert bench.queue.next() == 0.005


def test_conflicts_without_end_are_told_now_and_then() -> None:
    bench = Bench()
    now = 0.0
    for _ in range(2 * MANY_CONFLICTS):
        bench.answer(CONFLICT, now)
        now = bench.queue.next()
    assert bench.levels() == ["warning", "warning"]


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        pytest.param(Answer(error=OSError("no")), 1, id="error"),
        pytest.param(CONFLICT, 1, id="conflict"),
        pytest.param(Answer(requeue_after=0), 0, id="progress"),
        pytest.param(Answer(requeue_after=30), 30, id="requeue-after"),
    ],
)
@pytest.mark.parametrize("override", [None, -7])
def test_r4_30_the_priority_is_kept_or_overridden_by_the_answer(
    answer: Answer, wait: float, override: int | None
) -> None:
    bench = Bench()
    bench.queue.add(KEY, 0, priority=5)
    bench.answer(replace(answer, priority=override))
    entry = bench.queue.get(wait)
    assert entry is not None
    assert entry.priority == (5 if override is None else -7)


def test_a_key_that_waits_for_a_source_keeps_its_priority() -> None:
    bench = Bench()
    bench.queue.add(KEY, 0, priority=5)
    bench.answer(Answer(error=SourceUnavailable(POD, "forbidden")))
    assert bench.settler.unpark() == {KEY: 5}


@pytest.mark.parametrize(
    ("answer", "outcome", "error"),
    [
        (DONE, "success", ""),
        (Answer(requeue_after=3), "requeue_after", ""),
        (Answer(requeue_after=0), "progress", ""),
        (CONFLICT, "conflict", ""),
        (Answer(error=OSError("no")), "error", "OSError: no"),
        (Answer(error=OSError("no"), terminal=True), "terminal error", "OSError: no"),
        (
            Answer(error=SourceUnavailable(POD, "forbidden")),
            "waits for a source",
            "SourceUnavailable: pods cannot be read: forbidden",
        ),
    ],
)
def test_the_outcome_is_written_down_for_people(answer: Answer, outcome: str, error: str) -> None:
    bench = Bench()
    entry = bench.queue.get(0)
    assert entry is not None
    bench.settler.settle(entry, answer, 0)
    assert (entry.outcome, entry.error) == (outcome, error)


@pytest.mark.parametrize("after", [None, 2.0])
def test_r4_39_a_run_whose_writes_come_back_is_held_back(after: float | None) -> None:
    bench = Bench()
    entry = bench.queue.get(0)
    assert entry is not None
    bench.echoes[entry.run] = Echo(POD.ref(KEY), Loop.REPEATED, 5, ("status.x",), "", 8.0)
    bench.settler.settle(entry, DONE if after is None else Answer(requeue_after=after), 0)
    assert bench.echoes == {}
    assert entry.outcome == "held back"
    bench.queue.add(KEY, 1)
    assert bench.queue.get(7.9) is None
    assert bench.queue.get(8) is not None


def test_a_failure_ends_what_was_found_out_about_its_writes_too() -> None:
    bench = Bench()
    entry = bench.queue.get(0)
    assert entry is not None
    bench.echoes[entry.run] = Echo(POD.ref(KEY), Loop.REPEATED, 5, ("status.x",), "", 8.0)
    bench.settler.settle(entry, Answer(error=OSError("no")), 0)
    assert bench.echoes == {}
    assert bench.queue.next() == 0.005


def test_every_run_is_timed() -> None:
    bench = Bench()
    entry: Any = bench.queue.get(1)
    bench.settler.settle(entry, DONE, 3.5)
    assert (bench.numbers.time.count, bench.numbers.time.sum) == (1, 2.5)


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0.005), (0.005, 0.005), (0.0051, 0.01), (0.01, 0.01), (60.1, math.inf)]
)
def test_a_run_is_counted_in_the_first_bucket_whose_bound_it_does_not_pass(seconds: float, bucket: float) -> None:
    bench = Bench()
    entry: Any = bench.queue.get(0)
    bench.settler.settle(entry, DONE, seconds)
    assert next(bound for bound, count in bench.numbers.time.cumulative() if count) == bucket


def test_a_missing_right_is_told_with_the_rule_that_grants_it() -> None:
    bench = Bench()
    bench.answer(
        Answer(error=Forbidden('cannot create resource "deployments" in API group "apps" in the namespace "ns"'))
    )
    [line] = bench.lines.entries
    assert line["add_to_role"] == '- {apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"]}'
