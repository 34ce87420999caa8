"""Fixtures of the program tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynamo_ctrl.program.effect import Effect
from dynamo_ctrl.program.report import Report
from dynamo_ctrl.program.result import Result, Step
from dynamo_ctrl.testing import FakeCache
from dynamo_ctrl.testing.widget import WIDGET, widget

Apply = Callable[..., Report]


@pytest.fixture
def cache() -> FakeCache:
    """A cluster with the widget ns/w."""
    return FakeCache([widget()])


@pytest.fixture
def apply(cache: FakeCache) -> Apply:
    """Carries out effects, each in a step of its own, for ns/w as the cluster has it."""

    def apply(*effects: Effect) -> Report:
        steps = tuple(Step(name=str(number), effects=(effect,)) for number, effect in enumerate(effects))
        return cache.apply(Result(steps=steps), cache.request(WIDGET, "ns/w").object)

    return apply
