"""`dynamo-manager plan` against the real cluster: it is what the manager then does, and it writes nothing itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from envtest.graphs import COMPONENTS, Tree, component, graph
from envtest.installation import Installation

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

NEW_IMAGE = "registry.example/dynamo/frontend:1.4.1"
TIMEOUT = 60.0

ASSIGNED: Final = frozenset({"clusterIP", "clusterIPs"})
"""What the server gives to a Service."""


class Planner:
    """Runs `dynamo-manager plan` as the manager's own account."""

    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        self._kubeconfig = kubeconfig
        self._directory = directory

    def __call__(self, *arguments: str, objects: Iterable[Tree] = ()) -> Any:
        """The plan as JSON data."""
        files: list[str | Path] = []
        for number, document in enumerate(objects):
            path = self._directory / f"{number}.yaml"
            path.write_text(json.dumps(document))
            files += ["-f", path]
        command = [sys.executable, "-m", "dynamo_manager", "plan", "--kubeconfig", self._kubeconfig, *files, *arguments]
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [*command, "--output", "json"], capture_output=True, text=True, timeout=TIMEOUT, env=environment
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def plan(installation: Installation, tmp_path: Path) -> Planner:
    return Planner(installation.kubeconfig(), tmp_path)


RESOURCES = {
    "DynamoGraphDeployment": "dynamographdeployments",
    "DynamoComponentDeployment": COMPONENTS,
    "Deployment": "deployments",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}


def targets(plan: Any, *actions: str) -> set[str]:
    """What is written, as the audit log names it."""
    return {
        f"{RESOURCES[write['object']['kind']]}/{write['object']['name']}"
        for write in plan["writes"]
        if write["action"] in actions
    }


def comparable(content: Tree) -> Tree:
    """What both servers must agree on: labels, annotations, and everything that is neither metadata nor status."""
    rest = {name: value for name, value in content.items() if name not in ("metadata", "status")}
    if "spec" in rest:
        rest["spec"] = {name: value for name, value in rest["spec"].items() if name not in ASSIGNED}
    return rest


def test_what_was_planned_for_a_new_graph_is_what_the_manager_makes(
    place: Place, plan: Planner, start_manager: StartManager
) -> None:
    since = place.mark()
    wanted = graph(place.namespace)
    planned = plan(objects=[wanted])
    assert [request for request in place.requests(since) if request.writes] == []
    start_manager()
    place.apply(wanted)
    place.wait_ready()
    place.comes_to_rest()
    assert targets(planned, "create") == set(place.created(since))
    assert len(place.created(since)) == len(targets(planned, "create"))
    for write in planned["writes"]:
        if write["action"] == "create":
            live = place.get(RESOURCES[write["object"]["kind"]], write["object"]["name"])
            assert comparable(write["content"]) == comparable(live)
            assert write["content"]["metadata"].get("labels") == live["metadata"].get("labels")


def test_what_was_planned_for_a_change_is_what_the_manager_writes(
    place: Place, plan: Planner, start_manager: StartManager
) -> None:
    start_manager()
    place.apply(graph(place.namespace))
    place.wait_ready()
    place.comes_to_rest()
    nothing = plan("--namespace", place.namespace)
    assert (nothing["writes"], nothing["statuses"], nothing["failures"]) == ([], [], [])
    new = component("Frontend", "frontend", replicas=2, image=NEW_IMAGE)
    wanted = graph(place.namespace, "g", new, component("decode", "decode"))
    since = place.mark()
    planned = plan(objects=[wanted])
    assert place.writes(since) == []
    (applied,) = planned["applied"]
    assert applied["differences"] == [
        {
            "path": "spec.components[0].podTemplate.spec.containers[0].image",
            "old": "registry.example/dynamo/frontend:1.4.0",
            "new": NEW_IMAGE,
        }
    ]
    place.apply(wanted)
    place.wait_ready()
    place.comes_to_rest()
    written = {write.partition(" ")[2] for write in place.writes(since) if not write.endswith("/status")}
    assert written == targets(planned, "create", "update", "delete")
    assert written == {f"{COMPONENTS}/g-frontend", "deployments/g-frontend"}
