"""G 3.4: the status of a restart, what is stamped on Pods, and when a component is done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_graph.api.component_deployment import DYNAMO_COMPONENT_DEPLOYMENT
from dynamo_graph.api.graph import Restart, RestartStrategy
from dynamo_graph.api.graph_status import RestartStatus
from dynamo_graph.component.restart import (
    carried,
    created_with_restart,
    next_restart,
    restart_events,
    restart_stamps,
    unfinished_because,
)

NAMES = ["Frontend", "decode", "prefill"]


def asked(id_: str = "r1", type_: Any = None, *order: str) -> Restart:
    if type_ is None and not order:
        return Restart(id=id_)
    return Restart(id=id_, strategy=RestartStrategy(type=type_ or "Sequential", order=order))


def at(phase: Any, *running: str, id_: str = "r1") -> RestartStatus:
    return RestartStatus(observed_id=id_, phase=phase, in_progress=running)


R1 = asked()
PARALLEL = asked("r1", "Parallel")
ALL = dict.fromkeys(NAMES, "r1")
NOT_CALLED = None


@pytest.mark.parametrize(
    ("wanted", "last", "unfinished", "expected", "stamped"),
    [
        pytest.param(None, None, NOT_CALLED, None, {}, id="T-RST-01"),
        pytest.param(None, at("Completed"), NOT_CALLED, at("Completed"), ALL, id="T-RST-02"),
        pytest.param(None, at("Restarting", "decode"), NOT_CALLED, None, {}, id="T-RST-03"),
        pytest.param(R1, None, NOT_CALLED, at("Restarting", "Frontend"), {"Frontend": "r1"}, id="T-RST-04"),
        pytest.param(
            R1,
            at("Restarting", "Frontend"),
            ["Frontend"],
            at("Restarting", "Frontend"),
            {"Frontend": "r1"},
            id="T-RST-05",
        ),
        pytest.param(
            R1,
            at("Restarting", "Frontend"),
            [],
            at("Restarting", "decode"),
            {"Frontend": "r1", "decode": "r1"},
            id="T-RST-06",
        ),
        pytest.param(R1, at("Restarting", "prefill"), [], at("Completed"), ALL, id="T-RST-07"),
        pytest.param(
            asked("r1", None, "prefill", "decode", "Frontend"),
            None,
            NOT_CALLED,
            at("Restarting", "prefill"),
            {"prefill": "r1"},
            id="T-RST-08",
        ),
        pytest.param(R1, at("Restarting", "gone"), [], at("Restarting", "Frontend"), {"Frontend": "r1"}, id="T-RST-09"),
        pytest.param(PARALLEL, None, NOT_CALLED, at("Restarting", *NAMES), ALL, id="T-RST-10"),
        pytest.param(PARALLEL, at("Restarting", *NAMES), ["decode"], at("Restarting", "decode"), ALL, id="T-RST-11"),
        pytest.param(PARALLEL, at("Restarting", *NAMES), [], at("Completed"), ALL, id="T-RST-12"),
        pytest.param(
            asked("r2"),
            at("Restarting", "decode"),
            NOT_CALLED,
            at("Restarting", "Frontend", id_="r2"),
            {"Frontend": "r2"},
            id="T-RST-13",
        ),
        pytest.param(R1, at("Completed"), NOT_CALLED, at("Completed"), ALL, id="T-RST-14"),
        pytest.param(R1, at("Superseded"), NOT_CALLED, at("Superseded"), {}, id="T-RST-16"),
        pytest.param(None, at("Superseded"), NOT_CALLED, at("Superseded"), {}, id="superseded, and given up"),
        pytest.param(
            R1, at("Restarting"), NOT_CALLED, at("Restarting", "Frontend"), {"Frontend": "r1"}, id="nobody yet"
        ),
        pytest.param(
            PARALLEL, at("Restarting"), NAMES[:2], at("Restarting", *NAMES[:2]), ALL, id="nobody yet, parallel"
        ),
        pytest.param(
            R1,
            at("Restarting", "decode", "prefill"),
            ["decode"],
            at("Restarting", "decode"),
            {"Frontend": "r1", "decode": "r1"},
            id="from parallel to sequential",
        ),
    ],
)
def test_what_follows(
    wanted: Restart | None,
    last: RestartStatus | None,
    unfinished: list[str] | None,
    expected: RestartStatus | None,
    stamped: dict[str, str],
) -> None:
    def left(names: Iterable[str]) -> list[str]:
        assert unfinished is not None, "it is not asked"
        return [name for name in names if name in unfinished]

    found = next_restart(wanted, last, NAMES, rolling=False, unfinished=left)
    assert found == expected
    assert restart_stamps(wanted, found, NAMES) == stamped


def nobody(names: Iterable[str]) -> list[str]:
    raise AssertionError("it is not asked")


@pytest.mark.parametrize("wanted", [pytest.param(R1, id="T-RST-17"), pytest.param(PARALLEL, id="T-RST-17 parallel")])
def test_nothing_to_restart_is_done(wanted: Restart) -> None:
    assert next_restart(wanted, None, [], rolling=False, unfinished=nobody) == at("Completed")


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(None, id="T-RST-15 a new request"),
        pytest.param(at("Restarting", "decode"), id="one that is under way"),
        pytest.param(at("Completed", id_="r0"), id="another than the last"),
    ],
)
def test_a_rollout_supersedes_a_request(last: RestartStatus | None) -> None:
    found = next_restart(R1, last, NAMES, rolling=True, unfinished=nobody)
    assert found == at("Superseded")
    assert restart_stamps(R1, found, NAMES) == {}
    (event,) = restart_events(last, found)
    assert (event.type, event.reason) == ("Warning", "RestartSuperseded")
    assert "r1" in event.note
    assert restart_events(found, found) == ()


@pytest.mark.parametrize("last", [at("Completed"), at("Superseded")])
def test_a_rollout_does_not_touch_what_is_over(last: RestartStatus) -> None:
    assert next_restart(R1, last, NAMES, rolling=True, unfinished=nobody) == last
    assert restart_events(last, last) == ()


@pytest.mark.parametrize(
    ("wanted", "last", "generation", "observed", "expected"),
    [
        pytest.param(R1, None, 1, 0, True, id="T-RST-22"),
        pytest.param(R1, None, 2, 0, False, id="asked for later"),
        pytest.param(R1, None, 2, 1, False, id="asked for much later"),
        pytest.param(R1, at("Completed"), 1, 0, False, id="known"),
        pytest.param(None, None, 1, 0, False, id="not asked for"),
    ],
)
def test_a_graph_created_with_a_request(
    wanted: Restart | None, last: RestartStatus | None, generation: int, observed: int, expected: bool
) -> None:
    assert created_with_restart(wanted, last, generation=generation, observed=observed) is expected


@pytest.mark.parametrize(
    ("stamp", "present", "completed", "expected"),
    [
        pytest.param("r1", "r0", False, "r1", id="stamped"),
        pytest.param("r1", None, False, "r1", id="stamped at creation"),
        pytest.param(None, "r0", False, "r0", id="T-RST-19 kept"),
        pytest.param(None, "", False, None, id="nothing to keep"),
        pytest.param(None, None, False, None, id="nothing there"),
        pytest.param("r1", "r1", True, "r1", id="over"),
        pytest.param("r1", None, True, "r1", id="over, and a new deployment"),
        pytest.param("r1", "", True, None, id="T-RST-22 over before it began"),
    ],
)
def test_what_pods_carry(stamp: str | None, present: str | None, completed: bool, expected: str | None) -> None:
    assert carried(stamp, present, completed=completed) == expected


def deployment(*conditions: dict[str, str], generation: int = 2, observed: int = 2) -> Any:
    return DYNAMO_COMPONENT_DEPLOYMENT.object(
        {
            "metadata": {"name": "d", "namespace": "ns", "generation": generation},
            "status": {"observedGeneration": observed, "conditions": list(conditions)},
        }
    )


AVAILABLE = {"type": "Available", "status": "True"}
NOT_AVAILABLE = {"type": "Available", "status": "False", "message": "Deployment is not ready"}


def fails() -> Any:
    raise SourceUnavailable(DYNAMO_COMPONENT_DEPLOYMENT, "not synced")


def unreadable() -> Any:
    return DYNAMO_COMPONENT_DEPLOYMENT.object({"metadata": {"name": "d"}, "status": {"observedGeneration": "x"}})


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(
            lambda: deployment(AVAILABLE, generation=3),
            "spec not yet processed: generation=3, observedGeneration=2",
            id="T-RST-20",
        ),
        pytest.param(
            fails, "get error: dynamocomponentdeployments.nvidia.com cannot be read: not synced", id="T-RST-21"
        ),
        pytest.param(lambda: None, "resource not found", id="not there"),
        pytest.param(deployment, "Available condition not found", id="it has said nothing"),
        pytest.param(lambda: deployment(NOT_AVAILABLE), "not available: Deployment is not ready", id="not available"),
        pytest.param(lambda: deployment(AVAILABLE), None, id="done"),
    ],
)
def test_why_a_component_is_not_done(read: Any, expected: str | None) -> None:
    assert unfinished_because(read) == expected


def test_what_cannot_be_understood_is_not_done() -> None:
    assert str(unfinished_because(unreadable)).startswith("get error: ")
