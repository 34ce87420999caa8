"""A graph with an image that crashes at start, on the real cluster: told in time, mended in time, and no flap in between."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, component, conditions, graph, path

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

PREFIX = "data-plane.dynamo-ctrl.io/"
DECODE = "nvidia.com/dynamo-component=decode"
SEEN = 15.0
"""Seconds from the second restart until the graph is failed, at most."""
FIXED = 5.0
"""Seconds from the fix until the graph is successful, at most, on a machine that is there for it."""
FIXES = 3
"""How many fixes may be looked at: a machine may have other things to do during one of them."""
TIMEOUT = 60.0
"""Seconds for what need not be quick."""
CRASHES = {"crash": "true", "ready-after": "50ms", "restart-after": "1s"}
STAYS_DOWN = {**CRASHES, "restarts": "2"}


def applied(place: Place, tag: str, **annotations: str) -> None:
    """A graph whose worker behaves like that."""
    worker = component("decode", "decode", image=f"registry.example/dynamo/worker:{tag}")
    if annotations:
        worker["podTemplate"]["metadata"] = {"annotations": {PREFIX + key: text for key, text in annotations.items()}}
    place.apply(graph(place.namespace, "g", component("Frontend", "frontend"), worker))


def restarted_twice(place: Place) -> Any:
    """The worker's Pod whose container is down after its second restart."""
    for pod in place.all("pods", selector=DECODE):
        for status in pod["status"].get("containerStatuses", ()):
            if status["restartCount"] >= 2 and "waiting" in status["state"]:
                return pod
    return None


def state(place: Place) -> str:
    return str(place.get(GRAPHS, "g").get("status", {}).get("state", ""))


def ready(obj: Any, type_: str = "Ready") -> Any:
    return next(each for each in obj["status"]["conditions"] if each["type"] == type_)


def comes(place: Place, wanted: str, within: float) -> float:
    """Seconds until the graph is in that state."""
    begun = time.monotonic()
    wait_for(f"the state {wanted}", lambda: state(place) == wanted, timeout=within)
    return time.monotonic() - begun


@pytest.mark.parametrize(
    "behaviour",
    [pytest.param(CRASHES, id="T-E2E-03 B1"), pytest.param(STAYS_DOWN, id="T-E2E-03 stays down")],
)
def test_a_crash_at_start_fails_the_graph_and_the_fix_mends_it(
    place: Place, start_manager: StartManager, behaviour: dict[str, str]
) -> None:
    manager = start_manager()
    applied(place, "1.4.0", **behaviour)
    pod = wait_for("a second restart", lambda: restarted_twice(place), timeout=TIMEOUT)
    seen = comes(place, "failed", SEEN)
    if "restarts" in behaviour:
        told = f"pod {pod['metadata']['name']}: container main restarted 2 times, last exit code 1 (Error)"
        headline = ready(place.get(GRAPHS, "g"))
        assert (headline["status"], headline["reason"]) == ("False", "component_crash_looping")
        assert headline["message"] == f"Components are crash-looping: decode: {told}"
        (deployment,) = place.all(COMPONENTS, selector=DECODE)
        available = ready(deployment, "Available")
        assert (available["reason"], available["message"]) == ("ContainerCrashLooping", told)
        assert conditions(deployment)["DynamoComponentReady"] == "False"
    applied(place, "1.4.1")
    fixed = comes(place, "successful", TIMEOUT)
    for number in range(1, FIXES):
        if fixed > FIXED:
            applied(place, f"1.5.{number}", **behaviour)
            comes(place, "failed", TIMEOUT)
            applied(place, f"1.6.{number}")
            fixed = comes(place, "successful", TIMEOUT)
    assert fixed <= FIXED
    print(f"failed {seen:.2f} s after the second restart, successful {fixed:.2f} s after the fix")
    assert len(place.all(COMPONENTS, selector=DECODE)) == 1
    assert "Traceback" not in manager.output


@pytest.mark.parametrize("ends", [pytest.param("stop", id="T-E2E-04"), pytest.param("kill", id="T-E2E-04 killed")])
def test_a_failed_graph_stays_failed_while_its_manager_starts_again(
    place: Place, start_manager: StartManager, ends: str
) -> None:
    first = start_manager()
    applied(place, "1.4.0", **STAYS_DOWN)
    wait_for("a second restart", lambda: restarted_twice(place), timeout=TIMEOUT)
    comes(place, "failed", SEEN)
    place.comes_to_rest()
    since = place.get(GRAPHS, "g")["metadata"]["resourceVersion"]
    mark = place.mark()
    getattr(first, ends)()
    second = start_manager()
    place.comes_to_rest(quiet=3)
    events = place.api.watch(path(place.namespace, GRAPHS), resource_version=since, seconds=1)
    assert {event["object"]["status"]["state"] for event in events} <= {"failed"}
    assert state(place) == "failed"
    assert re.search(r"container main restarted 2 times", ready(place.get(GRAPHS, "g"))["message"])
    assert place.writes(mark) == [], "nothing had happened"
    applied(place, "1.4.1")
    comes(place, "successful", TIMEOUT)
    assert "Traceback" not in second.output
