"""Programs that `Settles` are not asked again while all that they read is as it was when nothing had to be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, SECRET
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.program.effect import Event, Refuse, Sync, SyncPolicy
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import Note, Result, Step
from dynamo_ctrl.program.settled import READS
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget, widget

BY_TEAM = Index("by-team", CONFIG_MAP, lambda obj: (obj.metadata.labels.get("team", ""),))
KEY = "ns/w"
POD = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "main", "image": "example.com/w:1"}]}}
CHILD = {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": POD}


def config(name: str, **labels: str) -> Any:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns", "labels": labels}, "data": {"a": "1"}})


class Reader:
    """Reads in every way there is, wants one child, and counts how often it is asked."""

    name = "reader"
    settles: Literal[True] = True
    watches = watching(WIDGET).owning(DEPLOYMENT).reading(CONFIG_MAP).reading(SECRET).indexing(BY_TEAM)

    def __init__(self, **more: Any) -> None:
        self.asked = 0
        self._more = more

    def reconcile(self, request: Request[Widget]) -> Result[Any]:
        self.asked += 1
        view = request.view
        view.get(CONFIG_MAP, "ns/one")
        view.get(CONFIG_MAP, "ns/none")
        view.list(SECRET, namespace="ns", selector={"kind": "pull"})
        view.by_index(BY_TEAM, "red")
        view.owned(CONFIG_MAP, request.object)
        view.serves(SECRET)
        child = DEPLOYMENT.object({"metadata": {"name": "w"}, "spec": CHILD})
        steps = (Step(name="children", effects=(Sync(child=child, policy=SyncPolicy(prefix="test/")),)),)
        return Result(**{"steps": steps, **self._more})


def settled(program: Any) -> FakeCache:
    """A world in which that program has found everything as it should be."""
    cache = FakeCache([widget(), config("one"), config("red", team="red")])
    for _ in range(3):
        cache.reconcile(program, KEY)
    return cache


def asked(program: Reader, cache: FakeCache) -> bool:
    """Whether one more attempt asks the program."""
    before = program.asked
    cache.reconcile(program, KEY)
    return program.asked > before


def test_a_settled_primary_is_not_asked_about_again() -> None:
    program = Reader()
    cache = settled(program)
    assert program.asked == 2, "one attempt that wrote, one that found nothing to write"
    cache.advance(3600)
    assert not asked(program, cache)
    assert [line.did.value for line in cache.traces(program, KEY).last.lines] == ["unchanged"], (
        "the last one that looked"
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda cache: cache.edit(WIDGET, KEY, {"metadata": {"labels": {"a": "b"}}}), id="the primary"),
        pytest.param(lambda cache: cache.edit(CONFIG_MAP, "ns/one", {"data": {"a": "2"}}), id="an object that was got"),
        pytest.param(lambda cache: cache.add(config("none")), id="one that was not there"),
        pytest.param(lambda cache: cache.delete(CONFIG_MAP, "ns/one"), id="one that goes"),
        pytest.param(
            lambda cache: cache.add(
                SECRET.object({"metadata": {"name": "s", "namespace": "ns", "labels": {"kind": "pull"}}})
            ),
            id="one more in a list",
        ),
        pytest.param(lambda cache: cache.edit(CONFIG_MAP, "ns/red", {"data": {"a": "2"}}), id="one in an index"),
        pytest.param(lambda cache: cache.add(config("blue", team="red")), id="one more in an index"),
        pytest.param(lambda cache: cache.edit(DEPLOYMENT, KEY, {"spec": {"replicas": 7}}), id="the child"),
        pytest.param(lambda cache: cache.delete(DEPLOYMENT, KEY), id="the child goes"),
        pytest.param(lambda cache: cache.delete(WIDGET, KEY) or cache.add(widget()), id="another primary of that name"),
    ],
)
def test_whatever_was_read_and_is_not_the_same_any_more_asks_again(change: Callable[[FakeCache], object]) -> None:
    program = Reader()
    cache = settled(program)
    change(cache)
    assert asked(program, cache)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda cache: cache.add(config("other", team="blue")), id="another index value"),
        pytest.param(
            lambda cache: cache.add(SECRET.object({"metadata": {"name": "s", "namespace": "ns"}})), id="not selected"
        ),
    ],
)
def test_what_was_not_read_asks_nobody(change: Callable[[FakeCache], object]) -> None:
    program = Reader()
    cache = settled(program)
    change(cache)
    assert not asked(program, cache)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"requeue_after": timedelta(seconds=5)}, id="it wants to run again"),
        pytest.param({"notes": (Note(level="debug", message="seen"),)}, id="it tells something"),
        pytest.param({"events": (Event(type="Normal", reason="Seen", note="seen"),)}, id="it tells an event"),
        pytest.param({"steps": (Step(name="no", effects=(Refuse(message="no"),)),)}, id="it refuses"),
        pytest.param(
            {"steps": (Step(name="no", effects=(Refuse(message="no"),), on_error="report"),)}, id="it reports a refusal"
        ),
    ],
)
def test_an_attempt_that_needed_something_settles_nothing(more: dict[str, Any]) -> None:
    program = Reader(**more)
    cache = settled(program)
    assert asked(program, cache)


def test_a_program_that_promises_nothing_is_asked_each_time() -> None:
    class Forgetful(Reader):
        settles: Any = None

        def __getattribute__(self, name: str) -> Any:
            if name == "settles":
                raise AttributeError(name)
            return super().__getattribute__(name)

    program = Forgetful()
    assert asked(program, settled(program))


def test_an_attempt_that_made_do_without_a_read_settles_nothing() -> None:
    class Shut(FakeCache):
        shut = True

        def list(self, kind: Kind[Any], **how: Any) -> Sequence[Any]:
            if kind is DEPLOYMENT and self.shut:
                raise SourceUnavailable(kind, "the right to list it is missing")
            return super().list(kind, **how)

    class Modest(Reader):
        def reconcile(self, request: Request[Widget]) -> Result[Any]:
            with suppress(SourceUnavailable):
                request.view.list(DEPLOYMENT)
            return super().reconcile(request)

    program, cache = Modest(), Shut([widget()])
    for _ in range(3):
        cache.reconcile(program, KEY)
    cache.shut = False
    assert asked(program, cache)
    assert not asked(program, cache)


def test_who_reads_very_much_is_asked_each_time() -> None:
    class Greedy(Reader):
        def reconcile(self, request: Request[Widget]) -> Result[Any]:
            for _ in range(READS):
                request.view.get(CONFIG_MAP, "ns/one")
            return super().reconcile(request)

    program = Greedy()
    assert asked(program, settled(program))
