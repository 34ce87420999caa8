"""G 3.6.7: when nothing is left of an old generation, and which Pod events can change that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.objects.builtin.core import Pod
from dynamo_graph.component.drain import drain_changed, drained

if TYPE_CHECKING:
    from tests.programs.dynamo_graph.component.conftest import MakePod, MakeWorker

ZERO: dict[str, Any] = {"replicas": 0}


@pytest.mark.parametrize(
    ("olds", "expected"),
    [
        pytest.param([], True, id="T-ROLL-41 nothing there"),
        pytest.param([{"replicas": 1}], False, id="T-ROLL-42 it asks for one"),
        pytest.param([{"replicas": None, "total": 0}], False, id="T-ROLL-43 an absent number is not zero"),
        pytest.param([{**ZERO, "generation": 2, "observed": 1}], False, id="T-ROLL-44 not seen yet"),
        pytest.param([{**ZERO, "status": False}], False, id="T-ROLL-45 it has said nothing"),
        pytest.param([{**ZERO, "total": 1}], False, id="T-ROLL-46 one is left"),
        pytest.param([ZERO], True, id="T-ROLL-47 zero, and seen"),
        pytest.param([ZERO, {"replicas": 1}], False, id="one of two"),
    ],
)
def test_deployments_are_drained(worker: MakeWorker, olds: list[dict[str, Any]], expected: bool) -> None:
    assert drained([worker(f"old-{number}", **old) for number, old in enumerate(olds)], []) is expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([], True, id="T-ROLL-48 no Pods"),
        pytest.param([{"phase": "Running"}], False, id="T-ROLL-49 running"),
        pytest.param([{"phase": "Pending"}], False, id="T-ROLL-49 pending"),
        pytest.param([{"phase": "Unknown"}], False, id="T-ROLL-49 unknown"),
        pytest.param([{"phase": "Running", "deleting": True}], False, id="T-ROLL-50 being deleted, and running"),
        pytest.param([{"phase": "Failed"}, {"phase": "Succeeded"}], True, id="T-ROLL-51 ended"),
        pytest.param([{"phase": "Running", "selector": "new"}], True, id="T-ROLL-52 of the new generation"),
        pytest.param([{"phase": "Running", "selector": None}], True, id="T-ROLL-53 of nobody"),
        pytest.param([{"phase": "Failed"}, {"phase": "Running"}], False, id="one of two"),
    ],
)
def test_their_pods_are_drained(worker: MakeWorker, pod: MakePod, pods: list[dict[str, Any]], expected: bool) -> None:
    assert drained([worker("old", **ZERO)], [pod(**each) for each in pods]) is expected


def update(old: Pod, new: Pod) -> Change[Pod]:
    return Change(old=old, new=new)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, {}, True, id="T-WATCH-15 create"),
        pytest.param({}, None, True, id="T-WATCH-15 delete"),
        pytest.param({}, {"phase": "Failed"}, True, id="T-WATCH-15 running to failed"),
        pytest.param({}, {"deleting": True}, False, id="T-WATCH-15 running to deleting"),
        pytest.param({"phase": "Failed"}, {"phase": "Succeeded"}, False, id="T-WATCH-15 failed to succeeded"),
        pytest.param({}, {"selector": "another"}, True, id="T-WATCH-15 selector moved"),
        pytest.param({"selector": None}, {}, True, id="T-WATCH-15 unmanaged to managed"),
        pytest.param({}, {}, False, id="T-WATCH-15 nothing happened to it"),
        pytest.param(None, {"type_": "frontend"}, False, id="T-WATCH-15 frontend"),
        pytest.param({}, {"selector": None}, True, id="managed to unmanaged"),
        pytest.param({}, {"phase": "Pending"}, False, id="one phase of the living to another"),
        pytest.param(None, {"selector": ""}, False, id="created without a selector"),
        pytest.param({"type_": "frontend"}, {"type_": "frontend", "phase": "Failed"}, False, id="a frontend that ends"),
        pytest.param({}, {"nvidia.com/dynamo-component": "prefill"}, True, id="component moved"),
        pytest.param({}, {"nvidia.com/dynamo-graph-deployment-name": "h"}, True, id="graph moved"),
        pytest.param({}, {"unrelated": "x"}, False, id="another label"),
    ],
)
def test_what_can_move_the_barrier(
    pod: MakePod, old: dict[str, Any] | None, new: dict[str, Any] | None, expected: bool
) -> None:
    before = pod(**old) if old is not None else None
    after = pod(**new) if new is not None else None
    assert drain_changed(Change(old=before, new=after)) is expected
