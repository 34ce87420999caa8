"""A graph that is deleted goes with all that it made, and nothing of it is made again meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from envtest.api import wait_for
from envtest.graphs import GRAPHS, graph
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

TIMEOUT = 60.0
"""Seconds for a graph and everything under it to be gone. A garbage collector looks for new definitions every 30 s."""


@pytest.mark.usefixtures("manager")
@pytest.mark.parametrize(
    "cascade", [pytest.param("foreground", id="T-E2E-07 foreground"), pytest.param("background", id="background")]
)
def test_a_deleted_graph_is_gone_with_everything_and_nothing_is_made_again(place: Place, cascade: str) -> None:
    place.apply(graph(place.namespace))
    place.wait_ready()
    place.comes_to_rest()
    made = place.children()
    assert len(made) == 9
    since = place.mark()
    place.kubectl("delete", "dgd/g", f"--cascade={cascade}", f"--timeout={TIMEOUT:.0f}s")
    if cascade == "foreground":
        assert place.children() == {}
    assert place.all(GRAPHS) == []
    wait_for("the children to be gone", lambda: not place.children(), timeout=TIMEOUT)
    wait_for("the Pods to be gone", lambda: not place.all("pods"), timeout=TIMEOUT)
    assert place.created(since) == []
    finalizers = [f"patch {name}" for name in ("dynamographdeployments/g", *made) if name.startswith("dynamo")]
    assert sorted(place.writes(since)) == sorted(finalizers)
    assert {name.split("/")[0] for name in made} == {name.split("/")[0] for name in place.created()}


def test_a_namespace_that_is_deleted_takes_everything_along_and_nobody_complains(
    place: Place, manager: ManagerProcess
) -> None:
    """What is deleted before its graph is wanted again, and the server refuses it: no right is missing, nothing is wrong."""
    names = [f"g{number}" for number in range(4)]
    place.apply(*(graph(place.namespace, name) for name in names))
    place.wait_ready(*names)
    place.comes_to_rest()
    before = len(manager.output.splitlines())
    place.cluster.kubectl("delete", "namespace", place.namespace, f"--timeout={TIMEOUT:.0f}s")
    lines = [json.loads(line) for line in manager.output.splitlines()[before:] if line.startswith("{")]
    assert [line for line in lines if line["level"] in ("warning", "error")] == []
