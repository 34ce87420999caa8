"""A result with a value of a wrong type: one error that names the program, the field and what was expected there."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.program.effect import EnsureFinalizer, Patch, Sync, SyncPolicy
from dynamo_ctrl.program.errors import ProgramFault
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Note, Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, widget

POLICY = SyncPolicy(prefix="example.com/")


class Program:
    name = "odd"
    watches = watching(WIDGET).owning(CONFIG_MAP)

    def __init__(self, **result: Any) -> None:
        self.result = Result[Any](**result)

    def reconcile(self, request: Request[Any]) -> Result[Any]:
        return self.result


def effects(*effects: Any) -> dict[str, Any]:
    return {"steps": (Step(name="x", effects=effects),)}


ODD: Any = 7


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"requeue_after": 5}, "odd: requeue_after must be a timedelta, a function or None, got int"),
        ({"steps": (7,)}, "odd: steps[0] must be a Step, got int"),
        ({"steps": Step(name="x")}, "odd: steps must be a tuple, each of it a Step, got Step"),
        (effects(7), "odd: step 'x': effects[0] must be an effect, got int"),
        (effects(EnsureFinalizer(name="a/b"), None), "odd: step 'x': effects[1] must be an effect, got NoneType"),
        (
            {"steps": (Step(name="x", effects=ODD),)},
            "odd: step 'x': effects must be a tuple, each of it an effect, got int",
        ),
        (
            effects(Sync(child=ODD, policy=POLICY)),
            "odd: step 'x': effects[0]: Sync.child must be an object, got int",
        ),
        (
            effects(Patch(target=ODD, patch=ODD)),
            "odd: step 'x': effects[0]: Patch.target must be an object, got int",
        ),
        ({"notes": ("hello",)}, "odd: notes[0] must be a Note, got str"),
        (
            {"notes": (Note(level=ODD, message="x"),)},
            "odd: notes[0].level must be one of debug, info, warning, got int",
        ),
        ({"events": ("hello",)}, "odd: events[0] must be an Event, got str"),
        (
            {"status": 7},
            "status of Widget must be a value of the kind's status type or a JSON object, got int",
        ),
        (
            {"status": object()},
            "status of Widget must be a value of the kind's status type or a JSON object, got object",
        ),
    ],
)
def test_a_wrong_type_in_a_result_is_named(result: dict[str, Any], text: str) -> None:
    answer = FakeCache([widget()]).reconcile(Program(**result), "ns/w")
    assert isinstance(answer.error, ProgramFault)
    assert str(answer.error) == text
    assert answer.panic


def test_an_error_of_the_programs_own_stays_what_it_is() -> None:
    def status(report: object) -> Any:
        raise ZeroDivisionError("mine")

    answer = FakeCache([widget()]).reconcile(Program(status=status), "ns/w")
    assert isinstance(answer.error, ZeroDivisionError)


def child(value: str, namespace: str) -> Sync:
    return Sync(
        child=CONFIG_MAP.object({"metadata": {"name": "c", "namespace": namespace}, "data": {"v": value}}),
        policy=POLICY,
    )


def test_two_effects_of_a_step_on_one_object_are_refused_before_anything_is_written() -> None:
    cache = FakeCache([widget()])
    program = Program(
        **effects(child("1", "ns"), EnsureFinalizer(name="a/b"), EnsureFinalizer(name="a/c"), child("2", ""))
    )
    answer = cache.reconcile(program, "ns/w")
    assert isinstance(answer.error, ProgramFault)
    assert str(answer.error) == "step 'x': two effects, Sync and Sync, are about one object: ConfigMap ns/c"
    assert cache.writes == ()


def test_two_steps_may_write_one_object_and_two_finalizers_stand_in_one_step() -> None:
    steps = (
        Step(name="x", effects=(child("1", "ns"), EnsureFinalizer(name="a.b/c"), EnsureFinalizer(name="a.b/d"))),
        Step(name="y", effects=(child("2", "ns"),)),
    )
    assert FakeCache([widget()]).reconcile(Program(steps=steps), "ns/w").error is None
