"""The operator's configuration file (P 7, 10.10)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_graph.api.config import OperatorConfig
from dynamo_graph.api.config_file import load, parse

HEADER = {"apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1", "kind": "OperatorConfiguration"}
ROLES = {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "d", "eppClusterRoleName": "e"}
MINIMAL = {**HEADER, "mpi": {"sshSecretName": "s", "sshSecretNamespace": "n"}, "rbac": ROLES}


def text(**sections: Any) -> str:
    return yaml.safe_dump({**MINIMAL, **sections})


@pytest.mark.parametrize("content", [pytest.param(text(), id="T-POD-148")])
def test_a_minimal_file_has_the_defaults_of_an_installation(content: str) -> None:
    config = parse(content)
    assert (config.server.metrics.port, config.server.health_probe.port, config.server.webhook.port) == (
        8080,
        8081,
        9443,
    )
    assert config.discovery.backend == "kubernetes"
    assert config.orchestrators.grove.termination_delay == timedelta(minutes=15)
    assert config.cluster_wide


TLS = {"tcpTLSCertPath": "/c", "tcpTLSKeyPath": "/k", "tcpTLSCAPath": "/a"}


@pytest.mark.parametrize(
    ("sections", "field", "rule"),
    [
        pytest.param({"leaderElection": {"enabled": True}}, "leaderElection.id", "is required", id="T-POD-149"),
        pytest.param(
            {"infrastructure": {"tcpTLSCertPath": "/c"}},
            "infrastructure.tcpTLSKeyPath",
            "must be set together",
            id="T-POD-150",
        ),
        pytest.param(
            {"infrastructure": {"tcpTLSCertPath": "/c", "tcpTLSKeyPath": "/k"}},
            "infrastructure.tcpTLSCAPath",
            "tcpTLSCAPath is required when tcpTLSCertPath and tcpTLSKeyPath are set",
            id="T-POD-151",
        ),
        pytest.param(
            {"infrastructure": {"natsTLSCAPath": "/a", "natsAddress": "nats://n"}},
            "infrastructure.natsAddress",
            "tls://",
            id="T-POD-152",
        ),
        pytest.param(
            {"serviceMesh": {"provider": "istio", "istio": {"tlsMode": "MUTUAL", "clientCertificate": "/c"}}},
            "serviceMesh.istio.privateKey",
            "is required when tlsMode is MUTUAL",
            id="T-POD-153",
        ),
        pytest.param(
            {"infrastructure": {"tcpTLSCAPath": "/a"}},
            "infrastructure.tcpTLSCAPath",
            "requires tcpTLSCertPath",
            id="client CA alone",
        ),
        pytest.param(
            {"infrastructure": {**TLS, "tcpTLSClientCertPath": "/c"}},
            "infrastructure.tcpTLSClientKeyPath",
            "together",
            id="client pair",
        ),
        pytest.param(
            {"infrastructure": {"modelExpressURL": "http://[x"}},
            "infrastructure.modelExpressURL",
            "must be a URL",
            id="URL",
        ),
        pytest.param({"server": {"metrics": {"port": 65536}}}, "server.metrics.port", "65535", id="port"),
        pytest.param({"discovery": {"backend": "consul"}}, "discovery.backend", "kubernetes", id="discovery"),
        pytest.param(
            {"orchestrators": {"grove": {"terminationDelay": "-1s"}}},
            "orchestrators.grove.terminationDelay",
            "negative",
            id="delay",
        ),
        pytest.param(
            {"orchestrators": {"grove": {"terminationDelay": "soon"}}},
            "orchestrators.grove.terminationDelay",
            "not a duration",
            id="no delay",
        ),
        pytest.param({"mpi": {"sshSecretName": "s"}}, "mpi.sshSecretNamespace", "is required", id="mpi"),
        pytest.param({"rbac": {}}, "rbac.plannerClusterRoleName", "cluster-wide", id="roles"),
        pytest.param(
            {"namespace": {"restricted": "n", "scope": {"leaseRenewInterval": "30s"}}},
            "namespace.scope.leaseRenewInterval",
            "must be below leaseDuration",
            id="lease",
        ),
        pytest.param({"typo": {}}, "typo", "not permitted", id="unknown section"),
        pytest.param({"kind": "Other"}, "kind", "must be OperatorConfiguration", id="kind"),
    ],
)
def test_a_problem_names_field_and_rule(sections: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(InvalidObject) as raised:
        parse(text(**sections), what="f.yaml")
    assert (raised.value.what, raised.value.path) == ("f.yaml", field)
    assert rule in raised.value.rule


@pytest.mark.parametrize(
    "sections",
    [
        {"infrastructure": TLS},
        {"infrastructure": {"natsTLSCAPath": "/a", "natsAddress": "tls://n"}},
        {"namespace": {"restricted": "n"}, "rbac": {}},
        {"orchestrators": {"lws": {"enabled": False}}},
    ],
)
def test_a_consistent_file_passes(sections: dict[str, Any]) -> None:
    parse(text(**sections))


@pytest.mark.parametrize(("content", "rule"), [("- a", "mapping"), ("a: [", "not YAML"), (b"\xff", "cannot be read")])
def test_an_unreadable_file_is_told_in_one_line(tmp_path: Path, content: str | bytes, rule: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidObject, match=rule) as raised:
        load(path)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="cannot be read"):
        load(tmp_path / "none.yaml")


def test_an_operator_without_a_file_has_a_configuration() -> None:
    assert OperatorConfig().discovery.backend == "kubernetes"
