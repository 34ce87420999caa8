"""A report can be foretold: what nobody carries out, and what somebody does, come to the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.patch import Patch as Change
from dynamo_ctrl.program.effect import Create, Delete, Effect, EnsureFinalizer, PatchPrimary, Refuse, Sync, SyncPolicy
from dynamo_ctrl.program.prediction import predicted
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget, widget

POLICY = SyncPolicy(prefix="example.com/")


def config(name: str, value: str = "1") -> ConfigMap:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns"}, "data": {"v": value}})


def primary(cache: FakeCache) -> Widget:
    return cache.request(WIDGET, "ns/w").object


def test_the_report_is_foretold_without_a_write(cache: FakeCache) -> None:
    cache.add(config("old"))
    made, patched = Sync(child=config("a"), policy=POLICY), PatchPrimary(patch=Change.merge({"spec": {"size": 7}}))
    gone = Delete(target=cache.list(CONFIG_MAP)[0], owned=False)
    refused = Refuse(message="no")
    result: Result[Any] = Result(
        steps=(
            Step(name="one", effects=(made, patched, gone)),
            Step(name="two", effects=(refused,), reason="r", prefix="p: "),
            Step(name="three", effects=(Create(object=config("b")),)),
        )
    )
    report = predicted(result, cache, primary=primary(cache))
    assert isinstance(report.primary, Widget)
    assert report.primary.spec.size == 7
    found = report.live(made)
    assert isinstance(found, ConfigMap)
    assert found.data == {"v": "1"}
    assert report.live(gone) is None
    assert (report.done("one"), report.done("two"), report.done("three"), report.wrote) == (True, False, False, 3)
    assert report.failure is not None
    assert (report.failure.step, report.failure.reason, report.failure.message) == ("two", "r", "p: no")
    assert not cache.writes


class Closed:
    """A view of nothing."""

    def get(self, kind: Any, key: Any) -> Any:
        raise SourceUnavailable(kind, "no right")


def test_what_cannot_be_read_is_foretold_as_a_failure(cache: FakeCache) -> None:
    effect = Create(object=config("a"))
    result: Result[Any] = Result(steps=(Step(name="s", effects=(effect,)),))
    assert isinstance(predicted(result, Closed(), primary=primary(cache)).error(effect), SourceUnavailable)


_names = st.sampled_from(["a", "b", "c"])


@st.composite
def _effects(draw: st.DrawFn) -> Effect:
    match draw(st.integers(0, 4)):
        case 0:
            return Sync(child=config(draw(_names), draw(_names)), policy=POLICY)
        case 1:
            return Create(object=config(draw(_names)))
        case 2:
            return PatchPrimary(patch=Change.merge({"metadata": {"annotations": {draw(_names): draw(_names)}}}))
        case 3:
            return EnsureFinalizer(name=f"example.com/{draw(_names)}")
        case _:
            return Refuse(message=draw(_names))


@given(st.lists(st.tuples(_effects(), st.booleans()), max_size=6), st.booleans())
def test_what_is_foretold_is_what_happens_and_a_second_time_nothing_is_written(
    effects: list[tuple[Effect, bool]], foreign: bool
) -> None:
    cache = FakeCache([widget()])
    if foreign:
        cache.add(config("b", "theirs"))
    steps = tuple(
        Step(name=str(number), effects=(effect,), on_error="stop" if stop else "report")
        for number, (effect, stop) in enumerate(effects)
    )
    foretold = predicted(Result(steps=steps), cache, primary=primary(cache))
    report = cache.apply(Result(steps=steps), primary(cache))
    assert (foretold.finished, foretold.wrote) == (report.finished, report.wrote)
    assert [(f.step, str(f.error)) for f in foretold.failures] == [(f.step, str(f.error)) for f in report.failures]
    for effect, _ in effects:
        told, happened = foretold.live(effect), report.live(effect)
        assert (told is None) is (happened is None)
        if told is not None and happened is not None:
            assert told.content().get("data") == happened.content().get("data")
            assert told.metadata.annotations == happened.metadata.annotations


@given(st.lists(_effects(), max_size=4))
def test_a_second_attempt_over_the_same_world_writes_nothing(effects: list[Effect]) -> None:
    cache = FakeCache([widget()])
    seen: dict[str, Effect] = {}
    for effect in effects:
        name = effect.child.metadata.name if isinstance(effect, Sync) else str(id(effect))
        seen.setdefault(name, effect)
    unique = [e for e in seen.values() if not isinstance(e, PatchPrimary)]
    steps = tuple(Step(name=str(n), effects=(e,), on_error="report") for n, e in enumerate(unique))
    cache.apply(Result(steps=steps), primary(cache))
    before = len(cache.writes)
    for _ in range(3):
        cache.apply(Result(steps=steps), primary(cache))
    assert len(cache.writes) == before
