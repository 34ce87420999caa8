"""Bad input ends the process with exit code 2 and one line that says what to do; no traceback, nothing told twice."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from dynamo_manager.contact import contact

Command = Callable[..., Any]
Write = Callable[..., Path]

MEMORY = ("run", "--engine", "memory")
READY = ("--until-ready", "--timeout", "2s")


def refused(done: Any, *words: str) -> None:
    """Exit code 2, and one line with these words."""
    assert done.code == 2, done
    (line,) = done.err.splitlines()
    assert line.startswith("dynamo-manager: "), done.err
    for word in words:
        assert word in line
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("COMMAND", "--help")),
        (("run", "--bogus"), ("--bogus",)),
        (("run", "--config", "a", "--config", "b"), ("--config", "given twice")),
        (("run", "--engine", "nope"), ("unknown engine 'nope'", "kubernetes, memory")),
        ((*MEMORY, "--programs", "nope"), ("unknown program 'nope'", "dynamo-component-deployment, dynamo-graph")),
        ((*MEMORY, "--apply", "/gone.yaml"), ("cannot read /gone.yaml: No such file",)),
        ((*MEMORY, "--apply", "/"), ("cannot read /: Is a directory",)),
        ((*MEMORY, "--config", "/gone.yaml"), ("cannot read /gone.yaml: No such file",)),
        ((*MEMORY, "--leader-elect"), ("--leader-elect-namespace: must be given outside a cluster",)),
        (("run", "--kubeconfig", "/gone"), ("--kubeconfig: there is no file /gone",)),
    ],
    ids=lambda value: " ".join(value),
)
def test_flags_and_names(command: Command, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    refused(command(*arguments), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", ("is not YAML: line",)),
        ("words", ("must be a Kubernetes object",)),
        ("{apiVersion: v1, kind: Pod}", ("metadata: must be a mapping with a name",)),
        ("{apiVersion: v1, kind: Frob, metadata: {name: a}}", ("Frob a: the server knows no Frob in v1",)),
        (
            "{apiVersion: nvidia.com/v1alpha9, kind: DynamoGraphDeployment, metadata: {name: a}}",
            ("knows no DynamoGraphDeployment in nvidia.com/v1alpha9", "apiVersion: must be nvidia.com/v1beta1"),
        ),
        (
            "{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: a}, spec: {components: "
            "[{name: F, type: frontend, replicas: -1}]}}",
            ('"a" is invalid', "spec.components[0].replicas", "greater than or equal to 0"),
        ),
        (
            "{apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: a}, spec: {components: "
            "[{name: F, type: baker}]}}",
            ('"a" is invalid', "spec.components[0].type", "baker"),
        ),
    ],
    ids=["not-yaml", "not-an-object", "no-name", "unknown-kind", "unknown-version", "schema-rule", "schema-choice"],
)
def test_manifests(command: Command, write: Write, text: str, words: tuple[str, ...]) -> None:
    path = write("manifest.yaml", text)
    refused(command(*MEMORY, "--log-level", "warning", "--apply", path, *READY), str(path), *words)


def test_a_rule_that_only_the_program_knows_is_told_as_the_reason(command: Command, write: Write) -> None:
    text = """
    {apiVersion: nvidia.com/v1beta1, kind: DynamoGraphDeployment, metadata: {name: a}, spec: {components: [
      {name: F, type: frontend, podTemplate: {spec: {containers: [{name: other, image: i}]}}}]}}
    """
    done = command(*MEMORY, "--log-level", "error", "--apply", write("graph.yaml", text), *READY)
    assert done.code == 1
    first, *reasons = done.err.splitlines()
    assert first == "dynamo-manager: not ready within 2 s"
    assert reasons == [
        "  DynamoGraphDeployment default/a: DynamoGraphDeployment: spec.components[0].podTemplate.spec.containers: "
        "must hold a container named main"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", ("is not YAML: line",)),
        ("- 1", ("must be one YAML mapping",)),
        ("{kind: Other}", ("OperatorConfiguration: apiVersion: must be operator.config.dynamo.nvidia.com/v1alpha1",)),
        ("{logging: {level: loud}}", ("logging.level: must be one of",)),
        (
            "{apiVersion: operator.config.dynamo.nvidia.com/v1alpha1, kind: OperatorConfiguration}",
            ("mpi.sshSecretName: is required",),
        ),
        (
            "{apiVersion: operator.config.dynamo.nvidia.com/v1alpha1, kind: OperatorConfiguration, "
            "mpi: {sshSecretName: a, sshSecretNamespace: b, colour: red}}",
            ("mpi.colour: ",),
        ),
    ],
)
def test_configuration_files(command: Command, write: Write, text: str, words: tuple[str, ...]) -> None:
    refused(command(*MEMORY, "--config", write("config.yaml", text)), *words)


def test_a_port_in_use(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for flag in ("--health-bind-address", "--metrics-bind-address"):
            done = command(*MEMORY, "--log-level", "warning", flag, address)
            refused(done, f"{flag}: cannot listen on {address}: ", "choose another address, or 0")


def kubeconfig(server: str = "https://127.0.0.1:1", cluster: Any = None, user: Any = None, **changes: Any) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    return yaml.safe_dump({**content, **changes})


@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [
        ("a: [", (), ("kubeconfig", "YAML")),
        ("- 1", (), ("kubeconfig",)),
        ("", (), ("kubeconfig",)),
        (kubeconfig(), ("--context", "other"), ("other", "context")),
        (kubeconfig(contexts=[]), (), ("c",)),
        (kubeconfig(clusters=[]), (), ("k", "clusters")),
        (kubeconfig(server="ftp://x"), (), ("server", "ftp")),
        (kubeconfig(cluster={"certificate-authority-data": "bm90IGEgY2VydA=="}), (), ("certificate-authority",)),
        (kubeconfig(cluster={"certificate-authority": "/gone.pem"}), (), ("certificate-authority", "/gone.pem")),
        (kubeconfig(user={"tokenFile": "/gone"}), (), ("tokenFile",)),
    ],
    ids=[
        "not-yaml", "a-list", "empty", "unknown-context", "no-context", "no-cluster", "bad-server", "bad-authority",
        "no-authority", "no-token",
    ],
)  # fmt: skip
def test_kubeconfigs(command: Command, write: Write, text: str, flags: tuple[str, ...], words: tuple[str, ...]) -> None:
    path = write("kubeconfig", text)
    done = command("run", "--kubeconfig", path, *flags)
    refused(done, *words)


def test_a_server_that_cannot_be_reached(command: Command, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamo_manager.run.contact", partial(contact, limit=0.5, pause=0.1))
    done = command("run", "--log-level", "warning", "--kubeconfig", write("kubeconfig", kubeconfig()))
    refused(done, "the server cannot be reached, tried for 0.5 s", "check that it runs", "address in the kubeconfig")


class TestOnARealCluster:
    """Credentials and certificates that a real API server does not take."""

    def edited(self, cluster: Any, write: Write, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
        content = yaml.safe_load(Path(cluster.kubeconfig).read_text())
        change(content["clusters"][0]["cluster"], content["users"][0]["user"])
        return write("kubeconfig", yaml.safe_dump(content))

    def test_an_unknown_token(self, command: Command, write: Write, cluster: Any) -> None:
        def change(server: dict[str, Any], user: dict[str, Any]) -> None:
            user.clear()
            user["token"] = "nobody-knows-me"

        done = command("run", "--kubeconfig", self.edited(cluster, write, change))
        refused(done, "the server does not accept the credentials", "Unauthorized", "has not expired")
        assert "nobody-knows-me" not in done.err

    def test_an_authority_that_did_not_sign_the_server(self, command: Command, write: Write, cluster: Any) -> None:
        foreign = ssl.DER_cert_to_PEM_cert(ssl.create_default_context().get_ca_certs(binary_form=True)[0])
        other = write("other.pem", foreign)

        def change(server: dict[str, Any], user: dict[str, Any]) -> None:
            server.pop("certificate-authority-data", None)
            server["certificate-authority"] = str(other)

        done = command("run", "--kubeconfig", self.edited(cluster, write, change))
        refused(done, "certificate is not trusted", "check certificate-authority")
