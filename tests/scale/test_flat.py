"""What a graph costs does not depend on how many others there are: counted, not timed."""

from __future__ import annotations

import pytest

from dynamo_ctrl.testing import LoopClock
from tests.scale.embedded import converge, pod_events
from tests.scale.site import THREE

FEWEST = 8 + 6 * len(THREE) + 3
"""Writes from apply to Ready, as `tests/programs/dynamo_graph/test_end_to_end.py` counts them."""
MORE = 2
"""The owner that each further graph adds to the account that the graphs of a namespace share, and to its binding."""
STEPS = 6
"""Statuses that are written besides, since Pods and Deployments become ready one after the other."""


@pytest.mark.slow
async def test_two_hundred_graphs_ask_the_server_as_often_as_ten_for_each() -> None:
    few, many = await converge(10, LoopClock()), await converge(200, LoopClock())
    for seen in (few, many):
        print(f"{seen.graphs} graphs: {seen.writes:.2f} writes and {seen.requests:.2f} requests for each")
        assert FEWEST - MORE <= seen.writes <= FEWEST + STEPS
        assert seen.requests <= seen.writes + 1
        assert seen.wrote == 0, "forced passes write nothing"
    assert many.requests <= few.requests + 1


async def test_events_of_pods_that_concern_nobody_make_nobody_run() -> None:
    _, reconciles = await pod_events(200, events=200)
    assert reconciles == 0
