"""Events of a result: about what was only seen, with no write to hang on."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Conflict
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.program.effect import Create, Event, Refuse
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, widget

SEEN = Event(type="Warning", reason="Seen", note="so it is")


class Teller:
    """Answers that result."""

    name = "teller"
    watches = watching(WIDGET)

    def __init__(self, result: Result[Any]) -> None:
        self.result = result

    def reconcile(self, request: Any) -> Result[Any]:
        return self.result


def told(cache: FakeCache) -> list[tuple[str, str]]:
    return [(str(regarding.key), event.reason) for regarding, event in cache.events]


def test_an_attempt_that_writes_nothing_tells_what_it_saw_each_time() -> None:
    cache = FakeCache([widget()])
    program = Teller(Result(events=(SEEN,)))
    for _ in range(2):
        cache.reconcile(program, "ns/w")
    assert told(cache) == [("ns/w", "Seen")] * 2
    assert cache.writes == ()


def test_an_event_may_be_about_another_object() -> None:
    other = widget("v")
    cache = FakeCache([widget(), other])
    event = Event(type="Normal", reason="Seen", note="", regarding=other)
    cache.reconcile(Teller(Result(events=(event,))), "ns/w")
    assert told(cache) == [("ns/v", "Seen")]


@pytest.mark.parametrize("fault", ["failure", "conflict"])
def test_an_attempt_that_failed_tells_nothing_of_it(fault: str) -> None:
    cache = FakeCache([widget()])
    effect: Any = Refuse(message="no")
    if fault == "conflict":
        effect = Create(object=CONFIG_MAP.object({"metadata": {"name": "c", "namespace": "ns"}}))
        cache.faults.fail(Conflict("other"), "create")
    cache.reconcile(Teller(Result(steps=(Step(name="s", effects=(effect,)),), events=(SEEN,))), "ns/w")
    assert told(cache) == []
