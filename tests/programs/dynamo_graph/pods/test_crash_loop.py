"""G 8.2-8.4: which Pods are in a crash loop, which of several is told, and how."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import POD, Pod
from dynamo_graph.pods.crash_loop import CrashLoop, crash_loop, crash_loop_changed, find_crash_loop
from dynamo_graph.pods.testing import pod

LOOPING = "main:2:waiting:1"


def told(found: CrashLoop | None) -> tuple[str, int, int] | None:
    return None if found is None else (found.container, found.restarts, found.exit_code)


def case(id_: str, *containers: str, expect: tuple[str, int, int] | None, **more: Any) -> Any:
    return pytest.param(pod(*containers, **more), expect, id=id_)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        case("T-CRASH-01", LOOPING, expect=("main", 2, 1)),
        case("T-CRASH-02", "main:1:waiting:1", expect=None),
        case("T-CRASH-03 waiting", "main:2:waiting:0", expect=None),
        case("T-CRASH-03 terminated", "main:2:terminated:0", expect=None),
        case("T-CRASH-04", "main:2:terminated:137:OOMKilled", expect=("main", 2, 137)),
        case("T-CRASH-05", "main:5:running", expect=None),
        case("T-CRASH-05 it failed before", "main:5:running:1", expect=None),
        case("T-CRASH-06", "main:9:waiting:1", expect=None, ready=True),
        case("T-CRASH-07", LOOPING, expect=None, deletionTimestamp="2026-01-02T03:04:05Z"),
        case("T-CRASH-08 Failed", LOOPING, expect=None, phase="Failed"),
        case("T-CRASH-08 Succeeded", LOOPING, expect=None, phase="Succeeded"),
        case("T-CRASH-09", "main:0:waiting", expect=("setup", 3, 2), phase="Pending", init=["setup:3:waiting:2"]),
        case("T-CRASH-10", LOOPING, expect=("main", 2, 1), ready=None),
        case("T-CRASH-11", "main:0:running", "proxy:4:waiting:1", expect=("proxy", 4, 1)),
        case("T-CRASH-11 native sidecar", "main:0:running", expect=("proxy", 4, 1), init=["proxy:4:waiting:1"]),
        case("T-CRASH-12", "main:2:waiting", expect=None),
        case("T-CRASH-13", "main:2:unknown", expect=None),
        case("T-CRASH-13 it failed before", "main:2:unknown:1", expect=None),
        case("init containers come first", LOOPING, expect=("setup", 2, 3), init=["setup:2:waiting:3"]),
        case("an init container that ended well", LOOPING, expect=("main", 2, 1), init=["setup:2:terminated:0"]),
        case("the first of two", "a:2:waiting:1", "b:9:waiting:2", expect=("a", 2, 1)),
        case("killed by a signal", "main:2:terminated:-1", expect=("main", 2, -1)),
    ],
)
def test_a_pod_is_in_a_crash_loop(observed: Pod, expected: tuple[str, int, int] | None) -> None:
    assert told(crash_loop(observed)) == expected


def test_an_ephemeral_container_is_not_looked_at() -> None:
    content = pod("main:0:running").content()
    looping = pod(LOOPING).content()["status"]["containerStatuses"]
    content["status"]["ephemeralContainerStatuses"] = looping
    assert crash_loop(POD.object(content)) is None


B, A, HEALTHY = pod(LOOPING, name="b"), pod(LOOPING, name="a"), pod("main:0:running", name="0")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([B, HEALTHY, A], "a", id="T-CRASH-14"),
        pytest.param([], None, id="T-CRASH-15"),
        pytest.param([HEALTHY], None, id="none of them"),
    ],
)
def test_of_several_pods_the_one_with_the_smallest_name_is_told(pods: list[Pod], expected: str | None) -> None:
    given = list(pods)
    found = find_crash_loop(pods)
    assert (found.pod if found is not None else None) == expected
    assert list(map(id, pods)) == list(map(id, given)), "the list was modified"


def test_pods_are_looked_at_once() -> None:
    found = find_crash_loop(iter([B, A]))
    assert found is not None
    assert found.pod == "a"


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (pod("main:2:terminated:137:OOMKilled"), "pod p: container main restarted 2 times, last exit code 137 (OOMKilled)"),
        (pod(LOOPING, name="x"), "pod x: container main restarted 2 times, last exit code 1 (Error)"),
    ],
)  # fmt: skip
def test_a_crash_loop_is_told(observed: Pod, message: str) -> None:
    assert str(crash_loop(observed)) == message


def test_a_crash_without_a_reason_is_told() -> None:
    found = CrashLoop(pod="p", container="main", restarts=2, exit_code=1)
    assert str(found) == "pod p: container main restarted 2 times, last exit code 1"


NONE = pod("main:2:running:1")


def heartbeat(observed: Pod) -> Pod:
    """The same Pod, as a kubelet says again that it is there."""
    content = observed.content()
    for condition in content["status"]["conditions"]:
        condition["lastProbeTime"] = "2026-01-02T04:00:00Z"
    content["metadata"]["resourceVersion"] = "99"
    return POD.object(content)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(NONE, pod("main:1:waiting:1"), False, id="T-CRASH-25"),
        pytest.param(NONE, pod(LOOPING), True, id="T-CRASH-26 it begins"),
        pytest.param(pod(LOOPING), NONE, True, id="T-CRASH-26 it ends"),
        pytest.param(pod(LOOPING), pod("main:3:waiting:1"), True, id="T-CRASH-26 it goes on"),
        pytest.param(pod(LOOPING), pod(LOOPING, labels={"a": "b"}), False, id="T-CRASH-27 label"),
        pytest.param(pod(LOOPING), heartbeat(pod(LOOPING)), False, id="T-CRASH-27 heartbeat"),
        pytest.param(NONE, heartbeat(NONE), False, id="T-CRASH-27 heartbeat of a healthy Pod"),
        pytest.param(pod(LOOPING), pod("main:2:waiting:2"), True, id="another exit code"),
        pytest.param(pod(LOOPING), pod("main:2:waiting:1:OOMKilled"), True, id="another reason"),
        pytest.param(pod(LOOPING), pod("other:2:waiting:1"), True, id="another container"),
        pytest.param(pod(LOOPING), pod("main:2:terminated:1"), False, id="down in another way"),
    ],
)
def test_a_crash_loop_changes(old: Pod, new: Pod, expected: bool) -> None:
    assert crash_loop_changed(old, new) is expected
