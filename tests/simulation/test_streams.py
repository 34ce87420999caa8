"""A watch breaks at every event of a run, in every way that a watch can break (R 3.1): nothing is lost, nothing is stale."""

from __future__ import annotations

import pytest

from dynamo_ctrl.cache.options import CacheOptions, WatcherOptions
from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_ctrl.testing.sweep import Sweep
from dynamo_ctrl.testing.weather import AtEvent, Break, ToldAgain
from tests.simulation.stage import Outcome, play, same

pytestmark = pytest.mark.slow

STREAMING = ManagerOptions(cache=CacheOptions(watcher=WatcherOptions(initial="stream")))


@pytest.mark.parametrize("before", [True, False], ids=["lost", "told"])
@pytest.mark.parametrize("how", Break, ids=lambda how: how.name.lower())
def test_a_watch_that_breaks_at_any_event(sweep: Sweep, undisturbed: Outcome, how: Break, before: bool) -> None:
    def at(event: int) -> None:
        same(play(weather=lambda name: AtEvent(event, how, before=before)), undisturbed)

    sweep("events", range(1, undisturbed.told + 1), at)


@pytest.mark.parametrize("how", Break, ids=lambda how: how.name.lower())
def test_a_streaming_list_or_its_watch_that_breaks_at_any_event(sweep: Sweep, undisturbed: Outcome, how: Break) -> None:
    def at(event: int) -> None:
        same(play(weather=lambda name: AtEvent(event, how, before=True), options=STREAMING), undisturbed)

    told = same(play(options=STREAMING), undisturbed).told
    sweep("events", range(1, told + 1), at)


def test_everything_is_told_again_at_any_event(sweep: Sweep, undisturbed: Outcome) -> None:
    """Whole histories come twice: each old state after a newer one."""

    def at(event: int) -> None:
        same(play(weather=lambda name: ToldAgain(event)), undisturbed)

    sweep("events", range(1, undisturbed.told + 1), at)
