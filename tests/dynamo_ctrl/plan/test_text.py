"""Plans as lines: marks, values, and what changes inside of long ones."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.difference import ABSENT, Difference
from dynamo_ctrl.plan.plan import Action, Author, Later, Plan, PlannedFailure, PlannedStatus, PlannedWrite
from dynamo_ctrl.plan.text import Tone, changed, lines, summary, told
from dynamo_ctrl.testing.widget import WIDGET

W = WIDGET.ref("ns/w")
AUTHOR = Author(controller="widget", primary=W, step="children", effect="Sync")
CREATED = PlannedWrite(
    action=Action.CREATE,
    object=CONFIG_MAP.ref("ns/c"),
    content={"kind": "ConfigMap", "data": {"a": "1", "text": "one\ntwo\n"}, "list": [{"x": 1}]},
    authors=(AUTHOR,),
)
UPDATED = PlannedWrite(
    action=Action.UPDATE,
    object=DEPLOYMENT.ref("ns/w"),
    differences=(Difference("spec.replicas", 2, 5),),
    authors=(AUTHOR,),
)
DELETED = PlannedWrite(action=Action.DELETE, object=CONFIG_MAP.ref("ns/old"), held=("example.com/hold",))
GENERATED = PlannedWrite(action=Action.CREATE, object=SECRET.ref("ns/s"), authors=(AUTHOR,))
STATUS = PlannedStatus(object=W, status={"state": "ok"}, differences=(Difference("status.state", "", "ok"),))
FAILURE = PlannedFailure(controller="widget", primary=W, step="children", reason="Bad", message="no", terminal=True)


def test_a_whole_plan() -> None:
    plan = Plan(
        writes=(CREATED, UPDATED, DELETED, GENERATED),
        statuses=(STATUS,),
        failures=(FAILURE,),
        later=(Later(controller="widget", primary=W, seconds=30.0),),
        passes=3,
    )
    assert (
        told(lines(plan))
        == """\
+ ConfigMap ns/c will be created
    by widget for Widget ns/w, step children
    + kind: ConfigMap
    + data:
    +   a: '1'
    +   text: |
    +     one
    +     two
    + list:
    +   - x: 1

~ Deployment ns/w will be changed
    by widget for Widget ns/w, step children
    ~ spec.replicas: 2 -> 5

- ConfigMap ns/old will be deleted, and held by example.com/hold
    because its owner goes

+ Secret ns/s will be created with generated content
    by widget for Widget ns/w, step children

Statuses:
~ Widget ns/w
    ~ status.state: '' -> ok

Refused or failed:
! widget for Widget ns/w, step children [Bad]: no; trying again would not help

widget would look at Widget ns/w again after 30 s.
Plan: 2 to create, 1 to update, 1 to delete, 1 status to write, 1 refused or failed; settled after 3 passes.
"""
    )


def test_a_brief_plan_names_objects_only() -> None:
    assert (
        told(lines(Plan(writes=(CREATED, UPDATED), statuses=(STATUS,), passes=2), brief=True))
        == """\
+ ConfigMap ns/c will be created
~ Deployment ns/w will be changed

Statuses:
~ Widget ns/w

Plan: 1 to create, 1 to update, 0 to delete, 1 status to write; settled after 2 passes.
"""
    )


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        (Difference("a", 1, 2), ["~ a: 1 -> 2"]),
        (Difference("a", "1", 1), ["~ a: '1' -> 1"]),
        (Difference("a", True, None), ["~ a: true -> null"]),
        (Difference("a", ABSENT, "x: y"), ["+ a: 'x: y'"]),
        (Difference("a", ["b"], ABSENT), ["- a:", "-   - b"]),
        (Difference("a", {}, ABSENT), ["- a: {}"]),
        (Difference("a", ABSENT, "x\ny"), ["+ a:", "+   |-", "+     x", "+     y"]),
        (Difference("a", ["b", "c"], ["b", "d", "e"]), ["~ a:", "      - b", "    - - c", "    + - d", "    + - e"]),
        (Difference("a", "b", ["b"]), ["~ a:", "    - b", "    + - b"]),
    ],
)
def test_a_difference(difference: Difference, expected: list[str]) -> None:
    assert [line.text.removeprefix("    ") for line in changed(difference)] == expected


def test_only_the_surroundings_of_a_change_are_shown() -> None:
    old = [f"item {number}" for number in range(30)]
    new = [*old[:5], "other", *old[6:25], *old[26:]]
    shown = [line.text.strip() for line in changed(Difference("a", old, new))]
    assert shown == [
        "~ a:", "- item 3", "- item 4", "- - item 5", "+ - other", "- item 6", "- item 7", "...",
        "- item 23", "- item 24", "- - item 25", "- item 26", "- item 27",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Plan(passes=1), "Nothing to do: nothing would be written."),
        (
            Plan(passes=1, failures=(FAILURE,)),
            "Plan: 0 to create, 0 to update, 0 to delete, 0 statuses to write, 1 refused or failed; settled after 1 pass.",
        ),
        (
            Plan(passes=5, restless=("x",)),
            "Plan: 0 to create, 0 to update, 0 to delete, 0 statuses to write; not settled.",
        ),
    ],
)
def test_the_summary(plan: Plan, expected: str) -> None:
    assert summary(plan) == expected
    assert [*lines(plan)][-1] == (Tone.HEADING, expected)


def test_what_never_rests_is_told_as_wrong() -> None:
    wrong = [line.text for line in lines(Plan(passes=5, restless=("x",))) if line.tone is Tone.WRONG]
    assert wrong == ["No end after 5 passes; the last one still wrote:", "  x"]


@pytest.mark.parametrize(("write", "tone"), [(CREATED, Tone.ADDED), (UPDATED, Tone.CHANGED), (DELETED, Tone.REMOVED)])
def test_each_action_has_its_tone(write: PlannedWrite, tone: Tone) -> None:
    assert next(lines(Plan(writes=(write,)))).tone is tone


def test_failures_that_do_not_end_an_attempt_say_so() -> None:
    failure = PlannedFailure(controller="widget", primary=W, message="no", fatal=False)
    texts = [line.text for line in lines(Plan(failures=(failure,), passes=1))]
    assert "! widget for Widget ns/w: no; the attempt goes on" in texts


def test_values_are_never_aliases_or_broken_lines() -> None:
    shared: dict[str, Any] = {"a": "x " * 100}
    write = PlannedWrite(action=Action.CREATE, object=W, content={"one": shared, "two": shared}, authors=(AUTHOR,))
    text = told(lines(Plan(writes=(write,), passes=1)))
    assert "&id" not in text
    assert text.count("x " * 99) == 2
