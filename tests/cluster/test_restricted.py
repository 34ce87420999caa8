"""A manager that keeps to one namespace, under `config/restricted`: a Role there is all that it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envtest import Cluster
from envtest.audit import Trail
from envtest.graphs import GRAPHS, graph
from envtest.installation import CONFIG, NAME
from envtest.manager import ManagerProcess

BEYOND = {"nodes", "deviceclasses"}


@pytest.fixture
def configuration(cluster: Cluster, namespace: str, tmp_path: Path) -> Path:
    """`config/restricted`, applied to the namespace of the test; the manager's configuration file."""
    (tmp_path / "kustomization.yaml").write_text(
        f"namespace: {namespace}\nresources: [{os.path.relpath(CONFIG / 'restricted', tmp_path)}]\n"
    )
    cluster.kubectl("apply", "--server-side", "-k", str(tmp_path))
    (file := tmp_path / "config.yaml").write_text(
        (CONFIG / "restricted/config.yaml").read_text().replace("dynamo-system", namespace)
    )
    return file


def test_a_role_in_its_namespace_is_all_that_it_takes(
    cluster: Cluster,
    place: Any,
    configuration: Path,
    start_manager: Callable[..., ManagerProcess],
) -> None:
    account = f"system:serviceaccount:{place.namespace}:{NAME}"
    flags = ("--config", configuration, "--leader-elect", "--leader-elect-namespace", place.namespace)
    manager = start_manager(*flags, kubeconfig=cluster.service_account(place.namespace, NAME))
    place.apply(graph(place.namespace))
    place.wait_ready()
    names = {each["metadata"]["name"] for each in place.all("serviceaccounts")}
    assert "planner-serviceaccount" not in names  # whoever installs a restricted operator brings it
    asked = Trail(cluster.audit_log, account).requests()
    assert {request.resource for request in asked if request.code == 403} == BEYOND
    assert {request.namespace for request in asked if request.resource and request.resource not in BEYOND} == {
        place.namespace
    }
    place.kubectl("delete", GRAPHS, "g", "--timeout=60s")
    assert manager.stop() == 0, manager.output
