"""What the manager needs is missing: it says so and how to mend it, goes on, and heals without a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from envtest.api import wait_for
from envtest.graphs import graph
from envtest.installation import Installation, definitions
from envtest.manager import ManagerProcess

if TYPE_CHECKING:
    from tests.cluster.conftest import Place, StartManager

HEALING = 40.0
"""Seconds from the mending to ready: the cache asks a forbidden or absent API again every 30 s at the latest."""


@pytest.fixture
def rules(installation: Installation) -> Iterator[list[dict[str, Any]]]:
    """The rules of the role; afterwards it has them again."""
    rules = installation.rules()
    yield rules
    installation.set_rules(rules)


@pytest.fixture
def restored(installation: Installation) -> Iterator[Installation]:
    """The installation; afterwards it has its definitions again."""
    yield installation
    installation.apply()


def without(rules: list[dict[str, Any]], resource: str) -> list[dict[str, Any]]:
    """The rules without that resource."""
    left = [{**rule, "resources": [each for each in rule["resources"] if each != resource]} for rule in rules]
    return [rule for rule in left if rule["resources"]]


def lines(manager: ManagerProcess, *words: str) -> list[str]:
    """The lines of the log that hold all those words."""
    return [line for line in manager.output.splitlines() if all(word in line for word in words)]


def refuses_to_be_ready(manager: ManagerProcess, reason: str) -> None:
    wait_for("/readyz to say why", lambda: reason in manager.get("/readyz")[1], timeout=30)
    assert manager.get("/readyz")[0] == 500
    assert manager.get("/healthz") == (200, "ok")


@pytest.mark.parametrize("resource", ["secrets", "roles", "dynamocomponentdeployments"])
def test_a_missing_right_is_told_with_the_rule_that_mends_it(
    place: Place, installation: Installation, rules: list[dict[str, Any]], start_manager: StartManager, resource: str
) -> None:
    installation.set_rules(without(rules, resource))
    manager = start_manager("--log-format", "json", ready=False)
    refuses_to_be_ready(manager, f'resources: ["{resource}"]')
    [line] = lines(manager, '"warning"', "source is forbidden", resource)
    told = json.loads(line)["reason"]
    [rule] = yaml.safe_load(told[told.index("- {") :])
    assert {"list", "watch"} <= set(rule["verbs"])
    assert f'cannot list resource \\"{resource}\\"' in line
    installation.set_rules([*without(rules, resource), rule])
    manager.wait_ready(HEALING)
    assert len(lines(manager, "source is forbidden", resource)) == 1
    installation.set_rules(rules)
    place.apply(graph(place.namespace))
    place.wait_ready()


def test_a_right_that_is_taken_away_is_told_and_the_graph_is_finished_when_it_is_back(
    place: Place, installation: Installation, rules: list[dict[str, Any]], start_manager: StartManager
) -> None:
    """A right to write is missed only when there is something to write."""
    manager = start_manager()
    installation.set_rules(without(rules, "deployments"))
    place.apply(graph(place.namespace))
    wait_for("the refusal", lambda: lines(manager, 'cannot create resource "deployments"'), timeout=30)
    assert lines(manager, '- {apiGroups: ["apps"], resources: ["deployments"], verbs: ["create"]}')
    installation.set_rules(rules)
    place.wait_ready()
    assert manager.alive


def test_missing_definitions_are_told_with_the_command_that_installs_them(
    place: Place, restored: Installation, start_manager: StartManager
) -> None:
    restored.remove_definitions()
    manager = start_manager(ready=False)
    for name in definitions():
        refuses_to_be_ready(manager, f"nvidia.com/v1beta1 {name.partition('.')[0]};")
        [line] = lines(manager, "warning", "absent", f"kind={name} ")
        assert "kubectl apply --server-side -f" in line
    assert len(lines(manager, "warning")) == len(definitions()), "what is optional is not missed"
    restored.apply()
    manager.wait_ready(HEALING)
    place.apply(graph(place.namespace))
    place.wait_ready()


def test_definitions_that_go_and_come_back_are_followed_again(
    place: Place, restored: Installation, start_manager: StartManager
) -> None:
    manager = start_manager()
    restored.remove_definitions()
    refuses_to_be_ready(manager, "dynamographdeployments")
    restored.apply()
    manager.wait_ready(HEALING)
    place.apply(graph(place.namespace))
    place.wait_ready()
    assert manager.stop() == 0


@pytest.mark.parametrize("missing", ["right", "definition"])
def test_with_until_ready_something_missing_ends_with_2_and_one_line(
    place: Place,
    restored: Installation,
    rules: list[dict[str, Any]],
    start_manager: StartManager,
    tmp_path: Path,
    missing: str,
) -> None:
    manifest = tmp_path / "graph.yaml"
    manifest.write_text(yaml.safe_dump(graph(place.namespace)))
    author = {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeployments"], "verbs": ["create", "patch"]}
    restored.set_rules([*(without(rules, "secrets") if missing == "right" else rules), author])
    if missing == "definition":
        restored.remove_definitions()
    manager = start_manager("--apply", manifest, "--until-ready", "--timeout", "60s", ready=False)
    assert manager.wait(40) == 2
    [last] = lines(manager, "dynamo-manager: ")
    if missing == "right":
        assert "secrets is forbidden" in last
        assert len(lines(manager, '- {apiGroups: [""], resources: ["secrets"]')) == 1
    else:
        assert last.endswith("; install it: dynamo-manager crds | kubectl apply --server-side -f -")
    assert "Traceback" not in manager.output
