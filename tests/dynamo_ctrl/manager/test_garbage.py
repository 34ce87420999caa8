"""The garbage collector's settings, which all managers of a process share."""

from __future__ import annotations

import gc
from contextlib import ExitStack

import pytest

from dynamo_ctrl.manager.garbage import freeze, relaxed


@pytest.mark.parametrize("first_out", [0, 1])
def test_whoever_stops_first_the_settings_are_as_before_in_the_end(first_out: int) -> None:
    before = gc.get_threshold()
    managers = [ExitStack(), ExitStack()]
    for manager in managers:
        manager.enter_context(relaxed(12345))
        assert gc.get_threshold() == (12345, *before[1:])
    managers[first_out].close()
    managers[1 - first_out].close()
    assert gc.get_threshold() == before


def test_what_somebody_else_has_set_meanwhile_is_kept() -> None:
    before = gc.get_threshold()
    try:
        with relaxed(12345):
            gc.set_threshold(777)
        assert gc.get_threshold()[0] == 777
    finally:
        gc.set_threshold(*before)


def test_frozen_objects_are_seen_again_in_the_end() -> None:
    with relaxed():
        freeze()
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
