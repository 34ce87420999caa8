"""Credential plug-ins: real processes, small scripts."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.kubernetes.config import ConfigError
from dynamo_ctrl.engine.kubernetes.credentials import CredentialsMisconfigured, CredentialsUnavailable, KeyPair
from dynamo_ctrl.engine.kubernetes.exec_plugin import MAX_OUTPUT, ExecCommand, ExecPlugin, parse_credential
from dynamo_ctrl.engine.kubernetes.locate import Locator

if TYPE_CHECKING:
    from tests.dynamo_ctrl.engine.kubernetes.conftest import Kit

V1 = "client.authentication.k8s.io/v1"


def python(code: str, **more: Any) -> ExecCommand:
    return ExecCommand(command=sys.executable, arguments=("-c", code), environment=dict(os.environ), **more)


def credential(version: str = V1, **status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


def fetched(kit: Kit, command: ExecCommand, timeout: float = 20.0) -> str:
    async def main() -> str:
        return await ExecPlugin(command, ManualClock(), timeout=timeout).authorization()

    return kit.run(main())


def test_the_token_that_is_printed_is_the_token(kit: Kit) -> None:
    assert fetched(kit, python(f"print('''{credential(token='abc')}''')")) == "Bearer abc"


def test_the_plugin_is_told_that_nobody_is_there_and_finds_no_input(kit: Kit) -> None:
    code = f"""
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
spec = {{"interactive": False, "cluster": {{"server": "https://x"}}}}
assert info == {{"apiVersion": "{V1}", "kind": "ExecCredential", "spec": spec}}, info
assert sys.stdin.read() == ""
print('''{credential(token="told")}''')
"""
    assert fetched(kit, python(code, cluster={"server": "https://x"})) == "Bearer told"


def test_a_plugin_that_fills_stderr_first_does_not_hang(kit: Kit) -> None:
    code = f"import sys; sys.stderr.write('x' * 1_000_000); sys.stderr.flush(); print('''{credential(token='late')}''')"
    assert fetched(kit, python(code)) == "Bearer late"


def test_output_beyond_the_bound_is_dropped_and_does_not_hold_the_plugin_up(kit: Kit) -> None:
    with pytest.raises(CredentialsUnavailable, match="printed no ExecCredential"):
        fetched(kit, python(f"print('[' * {3 * MAX_OUTPUT})"))


def test_a_plugin_that_does_not_end_is_ended_with_its_children(kit: Kit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 60 & echo $$ $! > '{pids}'; wait"  # a shell, for it has begun long before the time is over
    command = ExecCommand(command="/bin/sh", arguments=("-c", script), environment=dict(os.environ))
    with pytest.raises(CredentialsUnavailable, match=r"did not end within 1\.5 s"):
        fetched(kit, command, timeout=1.5)
    for pid in map(int, pids.read_text().split()):
        assert gone(pid)


def gone(pid: int) -> bool:
    """Whether the process is gone, or dead and waiting for its parent, before long."""
    for _ in range(2000):
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_cancelling_ends_the_process(kit: Kit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = python(f"import os, time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(60)")

    async def main() -> None:
        task = asyncio.create_task(ExecPlugin(command, ManualClock()).authorization())
        while not (pids.exists() and pids.read_text()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    kit.run(main())
    assert gone(int(pids.read_text()))


def test_a_plugin_that_fails_is_told_with_its_code_and_its_last_words(kit: Kit) -> None:
    with pytest.raises(CredentialsUnavailable, match="ended with code 3: log in first"):
        fetched(kit, python("import sys; print('log in first', file=sys.stderr); sys.exit(3)"))


def test_a_plugin_that_is_not_installed_is_told_with_its_hint(kit: Kit) -> None:
    with pytest.raises(CredentialsMisconfigured, match=r"cannot run 'no-such-plugin': No such file.*; pip install it"):
        fetched(kit, ExecCommand(command="no-such-plugin", install_hint="pip install it"))


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("", "printed no ExecCredential"),
        ("hush", "printed no ExecCredential"),
        ("[]", "printed no ExecCredential"),
        ('{"kind": "ExecCredential", "apiVersion": "v1", "status": {"token": 3}}', "printed no ExecCredential"),
        (credential("client.authentication.k8s.io/v1beta1", token="hush"), "the kubeconfig asks for"),
        (credential(), "neither a token nor a client certificate"),
        (credential(clientKeyData="hush"), "only one of"),
        (credential(token="hush", expirationTimestamp="soon"), "printed no ExecCredential"),
    ],
)
def test_what_is_no_credential_is_refused_without_being_quoted(output: str, says: str) -> None:
    with pytest.raises(CredentialsUnavailable, match=says) as raised:
        parse_credential(output.encode(), ExecCommand(command="x"))
    assert "hush" not in str(raised.value)


def test_a_certificate_comes_with_or_without_a_token() -> None:
    pem = {"clientCertificateData": "C", "clientKeyData": "K", "expirationTimestamp": "2026-01-01T00:10:00Z"}
    alone = parse_credential(credential(**pem).encode(), ExecCommand(command="x"))
    assert (alone.authorization, alone.pair) == ("", KeyPair(b"C", b"K"))
    assert alone.expires is not None
    both = parse_credential(credential(token="t", **pem).encode(), ExecCommand(command="x"))
    assert (both.authorization, both.pair) == ("Bearer t", KeyPair(b"C", b"K"))


def kubeconfig(tmp_path: Path, **plugin: Any) -> Path:
    path = tmp_path / "config"
    authority = tmp_path / "ca.crt"
    authority.write_text("PEM")
    exec_ = {"apiVersion": V1, "command": sys.executable, **plugin}
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    cluster = {
        "server": "https://x.test", "certificate-authority": str(authority), "tls-server-name": "y", "extensions": [extension],
    }  # fmt: skip
    content = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"exec": exec_}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(json.dumps(content))
    return path


def test_the_kubeconfigs_plugin_gets_its_arguments_environment_and_cluster(kit: Kit, tmp_path: Path) -> None:
    code = f"""
import json, os, sys
cluster = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["spec"]["cluster"]
expected = {{
    "server": "https://x.test", "tls-server-name": "y", "certificate-authority-data": "UEVN", "config": {{"audience": "a"}},
}}
assert cluster == expected, cluster
assert (os.environ["REGION"], os.environ["KEPT"]) == ("eu", "yes")
print('''{credential(token="from-" + "argument")}'''.replace("argument", sys.argv[1]))
"""
    path = kubeconfig(
        tmp_path,
        args=["-c", code, "x"],
        env=[{"name": "REGION", "value": "eu"}],
        provideClusterInfo=True,
        interactiveMode="Never",
    )
    config = Locator(kubeconfig=path, environ={**os.environ, "KEPT": "yes", "REGION": "us"}).find()
    assert kit.run(config.credentials.authorization()) == "Bearer from-x"


def test_a_relative_command_is_relative_to_the_kubeconfig(kit: Kit, tmp_path: Path) -> None:
    script = tmp_path / "bin" / "plugin"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho '{credential(token='near')}'\n")
    script.chmod(0o755)
    config = Locator(kubeconfig=kubeconfig(tmp_path, command="./bin/plugin"), environ=dict(os.environ)).find()
    assert kit.run(config.credentials.authorization()) == "Bearer near"


def test_environment_entries_need_a_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"env\[0\].name: is missing"):
        Locator(kubeconfig=kubeconfig(tmp_path, env=[{"value": "x"}]), environ={}).find()
