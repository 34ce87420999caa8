"""Rolling updates on the real cluster, looked at on every watch event.

Available are the Pods of a component that are Ready and not on their way out; asked for is what its deployments ask for together.
Never fewer than D - U are available, never more than D + S are asked for, and one deployment is left.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from envtest.api import wait_for
from envtest.graphs import COMPONENTS, GRAPHS, Tree, component, conditions, graph, path

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

pytestmark = pytest.mark.usefixtures("manager")

IMAGES = tuple(f"registry.example/dynamo/vllm:1.4.{number}" for number in range(4))
SELECTOR = "nvidia.com/dynamo-component=decode"
V2 = "nvidia.com/current-worker-hash-v2"
TIMEOUT = 180.0
"""Seconds for a rollout of four replicas, on a machine that has other things to do."""

DESIRED, SURGE, UNAVAILABLE = 4, 1, 1


def wanted(place: Place, image: int = 0, *, replicas: int = DESIRED, **fields: Any) -> Tree:
    """The graph with a worker of that image."""
    return graph(
        place.namespace,
        "g",
        component("Frontend", "frontend"),
        component("decode", "decode", replicas=replicas, image=IMAGES[image], **fields),
    )


class Watch:
    """What happens to the worker's deployments and Pods from now on."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._start = {kind: self._list(kind) for kind in (COMPONENTS, "pods")}

    def _list(self, resource: str) -> Tree:
        found: Tree = self._place.api.get(path(self._place.namespace, resource))
        return found

    def seen(self) -> list[tuple[int, int]]:
        """(asked for, available) after each event so far, told by the server in the order in which things happened."""
        events: list[tuple[int, str, str, Tree]] = []
        objects: dict[tuple[str, str], Tree] = {}
        for resource, start in self._start.items():
            objects |= {(resource, each["metadata"]["name"]): each for each in start["items"] if _is_worker(each)}
            version = start["metadata"]["resourceVersion"]
            where = path(self._place.namespace, resource)
            for event in self._place.api.watch(where, resource_version=version, seconds=2):
                found = event["object"]
                if _is_worker(found):
                    events.append((int(found["metadata"]["resourceVersion"]), event["type"], resource, found))
        numbers = [_numbers(objects)]
        for _, type_, resource, found in sorted(events, key=lambda event: event[0]):
            at = (resource, found["metadata"]["name"])
            if type_ == "DELETED":
                objects.pop(at, None)
            else:
                objects[at] = found
            numbers.append(_numbers(objects))
        return numbers

    def stays_within(self, surge: int = SURGE, unavailable: int = UNAVAILABLE) -> None:
        """Neither bound was left."""
        seen = self.seen()
        assert len(seen) > 10
        assert min(available for _, available in seen) >= DESIRED - unavailable, seen
        assert max(asked for asked, _ in seen) <= DESIRED + surge, seen


def _is_worker(obj: Tree) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return bool(labels.get("nvidia.com/dynamo-component") == "decode")


def _numbers(objects: dict[tuple[str, str], Tree]) -> tuple[int, int]:
    asked = sum(each["spec"]["replicas"] for (kind, _), each in objects.items() if kind == COMPONENTS)
    pods = [each for (kind, _), each in objects.items() if kind == "pods"]
    living = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    return asked, sum(conditions(pod).get("Ready") == "True" for pod in living)


def workers(place: Place) -> list[Tree]:
    """The worker's deployments."""
    return place.all(COMPONENTS, selector=SELECTOR)


def rolled_out(place: Place, image: int) -> str:
    """Return when nothing but one ready generation of that image is left; its name."""

    def done() -> str:
        found = workers(place)
        images = [each["spec"]["podTemplate"]["spec"]["containers"][0]["image"] for each in found]
        return found[0]["metadata"]["name"] if images == [IMAGES[image]] else ""

    place.wait_ready(timeout=TIMEOUT)
    name = wait_for("one generation to be left", done, timeout=TIMEOUT)
    place.wait_ready(timeout=TIMEOUT)
    assert place.get(GRAPHS, "g")["metadata"]["annotations"][V2] == name.rpartition("-")[2]
    return name


def told(place: Place) -> list[str]:
    """The reasons of the events about rollouts, as many times as they were told."""
    found = [each for each in place.all("events") if each.get("reason", "").startswith("RollingUpdate")]
    ordered = sorted(found, key=lambda event: event["eventTime"])
    return [each["reason"] for each in ordered for _ in range((each.get("series") or {}).get("count", 1))]


@pytest.fixture
def ready(place: Place) -> Place:
    """A place with a Ready graph."""
    place.apply(wanted(place))
    place.wait_ready(timeout=TIMEOUT)
    return place


@pytest.mark.parametrize("image", [pytest.param(1, id="T-E2E-02")])
def test_a_new_image_rolls_within_the_bounds_and_leaves_one_deployment(ready: Place, image: int) -> None:
    frontend = [each["metadata"]["uid"] for each in ready.all("pods") if "frontend" in each["metadata"]["name"]]
    old, watch, since = workers(ready)[0]["metadata"]["name"], Watch(ready), ready.mark()
    ready.apply(wanted(ready, image))
    name = rolled_out(ready, image)
    watch.stays_within()
    assert name != old
    assert ready.get(GRAPHS, "g")["status"]["rollingUpdate"]["phase"] == "Completed"
    assert sorted(ready.created(since)) == sorted(f"{kind}/{name}" for kind in (COMPONENTS, "deployments", "services"))
    assert frontend == [each["metadata"]["uid"] for each in ready.all("pods") if "frontend" in each["metadata"]["name"]]
    wait_for("both events", lambda: told(ready) == ["RollingUpdateStarted", "RollingUpdateCompleted"], timeout=30)


def test_a_revert_in_mid_rollout_goes_back_within_the_bounds(ready: Place) -> None:
    old, watch = workers(ready)[0]["metadata"]["name"], Watch(ready)
    ready.apply(wanted(ready, 1))

    def half_way() -> bool:
        found = {each["metadata"]["name"]: each for each in workers(ready)}
        new = [each for name, each in found.items() if name != old]
        have = sum(each.get("status", {}).get("component", {}).get("availableReplicas") or 0 for each in new)
        return have >= 2 and bool(found[old]["spec"]["replicas"])

    wait_for("two new replicas", half_way, timeout=TIMEOUT, interval=0.01)
    ready.apply(wanted(ready))
    assert rolled_out(ready, 0) == old
    watch.stays_within()


@pytest.mark.parametrize("image", [pytest.param(1, id="T-E2E-08")])
def test_annotations_that_a_replace_has_lost_cost_nothing(ready: Place, image: int) -> None:
    old = workers(ready)[0]["metadata"]["name"]
    ready.kubectl("replace", "-f", "-", stdin=json.dumps(wanted(ready)))
    watch = Watch(ready)
    ready.kubectl("replace", "-f", "-", stdin=json.dumps(wanted(ready, image)))
    name = rolled_out(ready, image)
    assert name != old
    watch.stays_within()


def test_three_changes_within_a_second_end_in_the_last_one(ready: Place) -> None:
    watch, began = Watch(ready), time.monotonic()
    for image in (1, 2, 3):
        ready.edit(GRAPHS, "g", {"spec": wanted(ready, image)["spec"]})
    assert time.monotonic() - began < 10, "the changes overlap"
    rolled_out(ready, 3)
    watch.stays_within()
    completed = [each for each in told(ready) if each == "RollingUpdateCompleted"]
    assert len(completed) == 1


def test_there_and_back_within_a_second(ready: Place) -> None:
    old, watch = workers(ready)[0]["metadata"]["name"], Watch(ready)
    for image in (1, 0, 2, 0):
        ready.edit(GRAPHS, "g", {"spec": wanted(ready, image)["spec"]})
        time.sleep(0.15)
    assert rolled_out(ready, 0) == old
    watch.stays_within()


def test_a_restart_replaces_the_pods_of_all_components_in_place(ready: Place) -> None:
    names = [each["metadata"]["name"] for each in ready.all(COMPONENTS)]
    before = {each["metadata"]["uid"] for each in ready.all("pods")}
    ready.edit(GRAPHS, "g", {"spec": {"restart": {"id": "r1"}}})

    def completed() -> bool:
        restart = ready.get(GRAPHS, "g").get("status", {}).get("restart") or {}
        return (restart.get("observedID"), restart.get("phase")) == ("r1", "Completed")

    wait_for("the restart to complete", completed, timeout=TIMEOUT)
    ready.wait_ready(timeout=TIMEOUT)
    assert [each["metadata"]["name"] for each in ready.all(COMPONENTS)] == names
    living = [each for each in ready.all("pods") if not each["metadata"].get("deletionTimestamp")]
    assert len(living) == DESIRED + 1
    assert not before & {each["metadata"]["uid"] for each in living}


def test_recreate_never_runs_two_generations_at_once(place: Place) -> None:
    strategy = {"metadata": {"annotations": {"nvidia.com/deployment-strategy": "Recreate"}}}

    def recreated(image: int) -> Tree:
        found = wanted(place, image)
        found["spec"]["components"][1]["podTemplate"] |= strategy
        return found

    place.apply(recreated(0))
    place.wait_ready(timeout=TIMEOUT)
    old = workers(place)[0]["metadata"]["name"]
    place.apply(recreated(1))
    new = ""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        pods = place.all("pods", selector=SELECTOR)
        owners = {pod["metadata"]["labels"]["nvidia.com/selector"] for pod in pods}
        assert len(owners) <= 1, owners
        names = [each["metadata"]["name"] for each in workers(place)]
        if old not in names:
            (new,) = names
            break
    assert rolled_out(place, 1) == new


def test_a_graph_deleted_in_mid_rollout_makes_nothing_again(ready: Place) -> None:
    scaled = wanted(ready, 1, scalingAdapter={})
    ready.apply(scaled)
    wait_for("a second generation", lambda: len(workers(ready)) == 2, timeout=TIMEOUT)
    wait_for("the adapter", lambda: ready.all("dynamographdeploymentscalingadapters"), timeout=TIMEOUT)
    since = ready.mark()
    ready.kubectl("delete", "dgd/g", "--cascade=foreground", f"--timeout={TIMEOUT:.0f}s")
    assert ready.all(GRAPHS) == []
    assert workers(ready) == []
    wait_for("the Pods to be gone", lambda: not ready.all("pods"), timeout=TIMEOUT)
    created = ready.created()
    assert len(created) == len(set(created)), "made again"
    late = [each for each in ready.created(since) if not each.startswith(("deployments/", "services/"))]
    assert late == [], "a deployment may still get its own while its owner is on its way out; a graph gets nothing"
    assert ready.children() == {}
