"""The report: what it says, and that it cannot be changed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.program.effect import Create, Refuse
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, Widget


def config(name: str) -> ConfigMap:
    return CONFIG_MAP.object({"metadata": {"name": name, "namespace": "ns"}, "data": {"v": "1"}})


def primary(cache: FakeCache) -> Widget:
    return cache.request(WIDGET, "ns/w").object


def test_a_report_cannot_be_changed(cache: FakeCache) -> None:
    report = cache.apply(Result(steps=(Step(name="s", effects=(Create(object=config("a")),)),)), primary(cache))
    with pytest.raises(FrozenInstanceError):
        report.wrote = 0  # type: ignore[misc]
    with pytest.raises(TypeError):
        report.lives[Refuse(message="x")] = None  # type: ignore[index]


def test_effects_are_told_apart_although_they_look_alike(cache: FakeCache) -> None:
    one, two = Create(object=config("a")), Create(object=config("a"))
    report = cache.apply(Result(steps=(Step(name="s", effects=(one,)),)), primary(cache))
    assert report.live(one) is not None
    assert report.live(two) is None
