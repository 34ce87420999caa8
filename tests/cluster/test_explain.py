"""`dynamo-manager explain` asks the manager that runs on the real cluster."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from envtest.api import wait_for
from envtest.graphs import component, graph
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place

TIMEOUT = 30.0


def explain(manager: ManagerProcess, kind: str, key: str) -> str:
    """What it prints."""
    command = [sys.executable, "-m", "dynamo_manager", "explain", kind, key, "--address", manager.address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stuck(name: str, type_: str) -> dict[str, object]:
    """A component whose Pods find no node."""
    made = component(name, type_)
    made["podTemplate"]["spec"]["nodeSelector"] = {"nowhere": "true"}
    return made


@pytest.mark.usefixtures("manager")
def test_it_says_which_child_keeps_a_graph_from_ready(place: Place, manager: ManagerProcess) -> None:
    place.apply(graph(place.namespace, "g", component("Frontend", "frontend"), stuck("decode", "decode")))
    key = f"{place.namespace}/g"

    def only_decode_is_missing() -> bool:
        text = explain(manager, "dgd", key)
        below = text.partition("What it owns and is not ready:")[2]
        return "decode" in below and "frontend" not in below

    wait_for("explain to blame decode alone", only_decode_is_missing, timeout=TIMEOUT)
    text = explain(manager, "dgd", key)
    assert "  generation 1, not ready: " in text
    assert "because of dynamocomponentdeployments.nvidia.com" in text
    owned = text.partition("What it owns and is not ready:\n")[2].splitlines()
    assert owned[0].startswith(f"  DynamoComponentDeployment {place.namespace}/g-decode")
    assert owned[1].startswith(f"    Deployment {place.namespace}/g-decode")
    assert "0/1 ready" in owned[1]
