"""What a cluster operator applies: definitions, rights, the manager's Deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_ctrl.manager.options import ManagerOptions
from dynamo_manager.cli import RunOptions, parse
from envtest import Cluster
from envtest.installation import CONFIG, NAMESPACE, Installation, definitions

ROOT = Path(__file__).parents[2]


def test_the_definitions_are_accepted_by_kubectl_and_applying_them_again_changes_nothing(
    cluster: Cluster, installation: Installation
) -> None:
    def versions() -> list[str]:
        found = cluster.api.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
        return [
            f"{each['metadata']['name']} {each['metadata']['generation']}"
            for each in found
            if each["metadata"]["name"] in definitions()
        ]

    before = versions()
    said = cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", str(CONFIG / "crd"))
    assert said.splitlines() == [
        f"customresourcedefinition.apiextensions.k8s.io/{name} serverside-applied" for name in definitions()
    ]
    assert len(before) == 3
    assert versions() == before


def test_everything_is_accepted_in_one_go_and_the_pod_keeps_the_strictest_security_standard(
    cluster: Cluster, installation: Installation
) -> None:
    said = installation.apply()
    assert {line.split()[0].split("/")[0] for line in said.splitlines()} == {
        "namespace",
        "customresourcedefinition.apiextensions.k8s.io",
        "serviceaccount",
        "clusterrole.rbac.authorization.k8s.io",
        "clusterrolebinding.rbac.authorization.k8s.io",
        "role.rbac.authorization.k8s.io",
        "rolebinding.rbac.authorization.k8s.io",
        "deployment.apps",
    }
    cluster.kubectl("-n", NAMESPACE, "wait", "--for=condition=Available", "deploy/dynamo-manager", "--timeout=60s")


@pytest.fixture(scope="module")
def pod() -> dict[str, Any]:
    """The Pod template of the manager's Deployment."""
    deployment = yaml.safe_load((CONFIG / "manager/deployment.yaml").read_text())
    spec: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return spec


def test_the_flags_of_the_deployment_are_those_of_the_binary(pod: dict[str, Any]) -> None:
    [container] = pod["containers"]
    options = parse(container["args"])
    assert isinstance(options, RunOptions)
    ports = {port["name"]: f":{port['containerPort']}" for port in container["ports"]}
    assert (options.engine, options.log_format, options.leader_elect) == ("kubernetes", "json", True)
    assert {"health": options.health_bind_address, "metrics": options.metrics_bind_address} == ports
    probes = {name: container[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")}
    assert probes == {
        "liveness": {"path": "/healthz", "port": "health"},
        "readiness": {"path": "/readyz", "port": "health"},
    }


def test_the_pod_gives_the_manager_more_time_to_stop_than_it_takes(pod: dict[str, Any]) -> None:
    assert pod["terminationGracePeriodSeconds"] > ManagerOptions().stop_budget


def test_the_image_runs_the_binary_as_the_user_of_the_pod(pod: dict[str, Any]) -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    security = pod["securityContext"]
    assert 'ENTRYPOINT ["dynamo-manager"]' in lines
    assert f"USER {security['runAsUser']}:{security['runAsGroup']}" in lines
    assert any(line.startswith("ENV PYTHONSAFEPATH=1") for line in lines)
    assert "--require-hashes" in "\n".join(lines)
