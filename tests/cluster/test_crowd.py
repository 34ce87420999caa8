"""Graphs among many Pods of others: nothing is done when nothing happens, and nothing for Pods that concern nobody.

`python -m tests.scale crowd` measures the same with 200 graphs and 10,000 Pods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.scale.crowd import crowded, lines

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

IDLE = 0.25
"""CPU seconds in each second that an idle manager may take, on a machine that has other things to do."""


@pytest.mark.parametrize(("graphs", "pods"), [pytest.param(10, 200, id="T-E2E-10 small")])
def test_idle_graphs_cost_nothing_and_events_of_foreign_pods_make_nobody_run(
    place: Place,
    start_manager: StartManager,
    record_property: Callable[[str, object], None],
    graphs: int,
    pods: int,
) -> None:
    manager = start_manager()
    seen = crowded(place, manager, graphs=graphs, pods=pods, events=2 * pods, idle=3.0)
    for line in lines(seen):
        print(line)
    record_property("crowd", " | ".join(lines(seen)))
    assert seen.requests == 0
    assert sum(seen.reconciles.values()) < seen.events / 10, "a Deployment may still have had something to tell"
    assert seen.idle_cpu / seen.idle_seconds < IDLE
    assert manager.stop() == 0
