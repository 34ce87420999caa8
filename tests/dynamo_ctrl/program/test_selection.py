"""Selection, finalizers and deletion (G 2.4, 9.1, 11.13), on a scripted selecting program with two providers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.controller.answer import CONFLICT, DONE, Answer
from dynamo_ctrl.controller.builder import watching
from dynamo_ctrl.engine.errors import Forbidden
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.owners import owner_reference
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Delete, PatchPrimary, Refuse, Retry
from dynamo_ctrl.program.errors import ProgramFault, Refusal
from dynamo_ctrl.program.outer import FINALIZER
from dynamo_ctrl.program.program import Selected
from dynamo_ctrl.program.request import Request
from dynamo_ctrl.program.result import PROGRESS, Note, Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget, WidgetStatus, widget

PROVIDER = "example.com/provider"
OURS, FOREGROUND = "example.com/finalizer", "foregroundDeletion"


class Selecting:
    """Stores the choice in an annotation, as G 6 does, and keeps the finalizer."""

    name = "widget"
    watches = watching(WIDGET)
    finalizer = OURS

    def __init__(self, last: Result[Any] | Exception | None = None) -> None:
        self.last = last if last is not None else Result()

    def select(self, request: Request[Widget], installed: frozenset[str]) -> Selected | Result[WidgetStatus]:
        wanted = request.object.metadata.annotations.get(PROVIDER)
        if wanted is None:
            store = PatchPrimary(patch=Change.merge({"metadata": {"annotations": {PROVIDER: "one"}}}))
            return Selected(provider="one", steps=(Step(name="provider", effects=(store,)),))
        if wanted == "unknown":
            refuse = Refuse(message="unsupported provider", retry=Retry.NEVER)
            return Result(
                steps=(Step(name="select", effects=(refuse,), reason="unsupported_workload_provider"),),
                status=lambda report: WidgetStatus(state=report.failures[0].reason or ""),
            )
        if request.object.metadata.annotations.get("checkpoint") == "invalid":
            return Result(status=WidgetStatus(state="failed"))
        return Selected(provider=wanted)

    def finalize(self, request: Request[Widget]) -> Result[Any]:
        if isinstance(self.last, Exception):
            raise self.last
        return self.last


class Providing:
    watches = watching(WIDGET).owning(CONFIG_MAP)

    def __init__(self, provider: str) -> None:
        self.name = f"widget-{provider}"
        self.provider = provider

    def reconcile(self, request: Request[Widget]) -> Result[WidgetStatus]:
        child = CONFIG_MAP.object({"metadata": {"name": self.provider, "namespace": "ns"}})
        step = Step(name="child", effects=(Create(object=child),))

        def status(report: Any) -> WidgetStatus:
            failed = report.failure
            if failed is None:
                return WidgetStatus(state=self.provider)
            return WidgetStatus(state="failed_to_handle_the_finalizer" if failed.step == FINALIZER else "failed")

        return Result(steps=(step,), status=status)


def programs(last: Result[Any] | Exception | None = None) -> list[object]:
    return [Selecting(last), Providing("one"), Providing("two")]


def deleting(*finalizers: str, provider: str | None = None) -> FakeCache:
    annotations = {PROVIDER: provider} if provider else None
    cache = FakeCache([widget(finalizers=finalizers, annotations=annotations)])
    cache.delete(WIDGET, "ns/w")
    return cache


def live(cache: FakeCache) -> Widget:
    return cache.request(WIDGET, "ns/w").object


@pytest.mark.parametrize("_", [pytest.param(None, id="T-FIN-01")])
def test_the_choice_is_stored_then_the_finalizer_then_the_rest(cache: FakeCache, _: None) -> None:
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert [(write.verb, write.ref.kind.kind, write.paths) for write in cache.writes] == [
        ("patch", "Widget", ("metadata.annotations",)),
        ("patch", "Widget", ("metadata.finalizers",)),
        ("create", "ConfigMap", ()),
        ("patch", "Widget", ("status",)),
    ]
    assert live(cache).metadata.finalizers == (OURS,)
    assert live(cache).status.state == "one"


def test_a_stored_choice_is_honoured_without_a_write(cache: FakeCache) -> None:
    cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {PROVIDER: "two"}}})
    cache.reconcile(programs(), "ns/w")
    assert cache.get(CONFIG_MAP, "ns/two") is not None
    assert live(cache).metadata.annotations == {PROVIDER: "two"}
    before = len(cache.writes)
    cache.reconcile(programs(), "ns/w")
    assert len(cache.writes) == before


def test_a_refused_selection_is_published_terminal_and_leaves_no_finalizer(cache: FakeCache) -> None:
    cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {PROVIDER: "unknown"}}})
    answer = cache.reconcile(programs(), "ns/w")
    assert answer.terminal
    assert str(answer.error) == "unsupported provider"
    assert live(cache).status.state == "unsupported_workload_provider"
    assert live(cache).metadata.finalizers == ()


@pytest.mark.parametrize("_", [pytest.param(None, id="T-CON-23")])
def test_a_preflight_that_fails_is_published_without_finalizer_program_or_error(cache: FakeCache, _: None) -> None:
    cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {PROVIDER: "one", "checkpoint": "invalid"}}})
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert live(cache).status.state == "failed"
    assert live(cache).metadata.finalizers == ()
    assert cache.get(CONFIG_MAP, "ns/one") is None


def test_a_choice_that_nobody_serves_is_a_fault_of_the_selecting_program(cache: FakeCache) -> None:
    cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {PROVIDER: "three"}}})
    answer = cache.reconcile(programs(), "ns/w")
    assert isinstance(answer.error, ProgramFault)
    assert "'three'; installed: one, two" in str(answer.error)
    assert not cache.writes


def test_a_conflict_while_the_choice_is_stored_is_quiet_and_stops_everything(cache: FakeCache) -> None:
    cache.faults.interleave(lambda: cache.edit(WIDGET, "ns/w", {"spec": {"size": 4}}), "patch", WIDGET)
    assert cache.reconcile(programs(), "ns/w") == CONFLICT
    assert live(cache).metadata.annotations == {}
    assert cache.get(CONFIG_MAP, "ns/one") is None


@pytest.mark.parametrize("_", [pytest.param(None, id="T-FIN-02")])
def test_a_deleting_object_is_finalised_and_let_go(_: None) -> None:
    cache = deleting(OURS, "theirs/f")
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert live(cache).metadata.finalizers == ("theirs/f",)
    assert [(write.ref.kind.kind, write.subresource) for write in cache.writes] == [("Widget", "")]
    assert cache.list(CONFIG_MAP) == []


def test_the_last_finalizer_lets_the_object_go() -> None:
    cache = deleting(OURS)
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert cache.get(WIDGET, "ns/w") is None
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert len(cache.writes) == 1


@pytest.mark.parametrize("_", [pytest.param(None, id="T-FIN-03")])
def test_a_deleting_object_without_our_finalizer_is_left_alone(cache: FakeCache, _: None) -> None:
    owner = msgspec.to_builtins(owner_reference(live(cache)))
    metadata = {"name": "held", "namespace": "ns", "ownerReferences": [owner], "finalizers": ["theirs/f"]}
    cache.add(CONFIG_MAP.object({"metadata": metadata}))
    cache.delete(WIDGET, "ns/w", propagation="Foreground")
    assert live(cache).metadata.finalizers == (FOREGROUND,)
    assert cache.reconcile(programs(RuntimeError("must not be asked")), "ns/w") == DONE
    assert cache.writes == ()


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(RuntimeError("broken"), id="T-FIN-04"),
        pytest.param(Result(steps=(Step(name="s", effects=(Refuse(message="broken"),)),)), id="T-FIN-04-refusal"),
    ],
)
def test_a_finaliser_that_fails_keeps_the_finalizer(last: Result[Any] | Exception) -> None:
    cache = deleting(OURS)
    answer = cache.reconcile(programs(last), "ns/w")
    assert isinstance(answer.error, RuntimeError | Refusal)
    assert live(cache).metadata.finalizers == (OURS,)


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        pytest.param(PROGRESS, 0.0, id="T-FIN-05"),
        pytest.param(timedelta(seconds=5), 5.0, id="T-FIN-05-later"),
        pytest.param(lambda report: timedelta(seconds=7), 7.0, id="T-FIN-05-asked"),
    ],
)
def test_a_finaliser_that_is_not_finished_keeps_the_finalizer_without_an_error(wanted: Any, seconds: float) -> None:
    cache = deleting(OURS)
    assert cache.reconcile(programs(Result(requeue_after=wanted)), "ns/w") == Answer(requeue_after=seconds)
    assert live(cache).metadata.finalizers == (OURS,)


def test_what_a_finaliser_asks_for_is_done_before_the_finalizer_goes(logs: list[Any]) -> None:
    cache = deleting(OURS, "theirs/f")
    target = cache.add(CONFIG_MAP.object({"metadata": {"name": "left", "namespace": "ns"}}))
    last = Step(name="s", effects=(Delete(target=target, owned=False),))
    cache.reconcile(programs(Result(steps=(last,), notes=(Note(level="info", message="bye"),))), "ns/w")
    assert [write.verb for write in cache.writes] == ["delete", "patch"]
    assert [line["event"] for line in logs] == ["bye"]


@pytest.mark.parametrize("_", [pytest.param(None, id="T-FIN-07")])
def test_a_deleting_object_with_an_unsupported_choice_is_finalised_normally(_: None) -> None:
    cache = deleting(OURS, provider="unknown")
    assert cache.reconcile(programs(), "ns/w") == DONE
    assert cache.get(WIDGET, "ns/w") is None


@pytest.mark.parametrize("_", [pytest.param(None, id="T-FIN-08")])
def test_a_finalizer_that_cannot_be_added_is_published_and_an_error(cache: FakeCache, _: None) -> None:
    cache.edit(WIDGET, "ns/w", {"metadata": {"annotations": {PROVIDER: "one"}}})
    cache.faults.fail(Forbidden("no right"), "patch", WIDGET, subresource="")
    answer = cache.reconcile(programs(), "ns/w")
    assert isinstance(answer.error, Forbidden)
    assert live(cache).status.state == "failed_to_handle_the_finalizer"
    assert cache.get(CONFIG_MAP, "ns/one") is None


class Guarding(Providing):
    """A provider with a finalizer of its own."""

    finalizer = "example.com/guard"

    def finalize(self, request: Request[Widget]) -> Result[Any]:
        return Result()


def test_every_finalizer_of_ours_is_kept_and_removed_in_order(cache: FakeCache) -> None:
    parts = [Selecting(), Guarding("one"), Providing("two")]
    cache.reconcile(parts, "ns/w")
    assert live(cache).metadata.finalizers == (OURS, "example.com/guard")
    cache.delete(WIDGET, "ns/w")
    assert cache.reconcile(parts, "ns/w") == DONE
    assert cache.get(WIDGET, "ns/w") is None


def test_a_providers_finalizer_is_kept_only_where_it_serves(cache: FakeCache) -> None:
    cache.reconcile([Selecting(), Providing("one"), Guarding("two")], "ns/w")
    assert live(cache).metadata.finalizers == (OURS,)
