"""The real cluster does what tests rely on."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from envtest import Cluster, ClusterOptions, StartFailed, find_binaries
from envtest.api import ApiError, wait_for

ROOT = Path(__file__).parents[2]


def processes_that_mention(text: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def test_a_plain_user_has_no_rights_until_rbac_gives_them(cluster: Cluster, namespace: str) -> None:
    name = f"user-{secrets.token_hex(3)}"
    config = cluster.user(name)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        cluster.kubectl("get", "configmaps", "-n", namespace, config=config)
    assert f'User "{name}" cannot list resource "configmaps"' in caught.value.stderr
    cluster.kubectl("create", "rolebinding", "view", "--clusterrole=view", f"--user={name}", "-n", namespace)
    assert "kube-root-ca.crt" in cluster.kubectl("get", "configmaps", "-n", namespace, config=config)


def test_a_service_account_has_a_kubeconfig_of_its_own(cluster: Cluster, namespace: str) -> None:
    answer = json.loads(
        cluster.kubectl("auth", "whoami", "-ojson", config=cluster.service_account(namespace, "default"))
    )
    assert answer["status"]["userInfo"]["username"] == f"system:serviceaccount:{namespace}:default"


def test_kubeconfigs_are_private(cluster: Cluster) -> None:
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
    assert cluster.user("someone").stat().st_mode & 0o777 == 0o600


def test_the_server_says_which_version_it_is(cluster: Cluster) -> None:
    assert cluster.api.get("/version")["gitVersion"].startswith("v1.")


def test_nodes_give_signs_of_life(cluster: Cluster) -> None:
    """Without them every node is taken for dead after 50 s, and its Pods are no longer ready."""

    def renewed() -> str | None:
        try:
            lease = cluster.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-0")
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return str(lease["spec"]["renewTime"])

    first = wait_for("a lease of the node", renewed, timeout=20)
    wait_for("its renewal", lambda: renewed() != first, timeout=20)


def test_a_node_with_gpus_can_be_added(cluster: Cluster) -> None:
    name = f"gpu-{secrets.token_hex(3)}"
    cluster.add_node(
        name, capacity={"nvidia.com/gpu": "8"}, labels={"zone": "a"}, taints=[{"key": "k", "effect": "NoSchedule"}]
    )
    try:
        status = cluster.api.get(f"/api/v1/nodes/{name}")["status"]
        assert status["allocatable"]["nvidia.com/gpu"] == "8"
    finally:
        cluster.api.delete(f"/api/v1/nodes/{name}")


@pytest.mark.slow
def test_a_restarted_apiserver_has_its_address_and_its_objects() -> None:
    with Cluster(find_binaries(), ClusterOptions(controllers=(), scheduler=False, kwok=False)) as cluster:
        cluster.api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "kept"}})
        url = cluster.url
        cluster.stop_apiserver()
        with pytest.raises(ConnectionError):
            cluster.api.get("/readyz")
        cluster.start_apiserver()
        assert cluster.url == url
        assert cluster.api.get("/api/v1/namespaces/default/configmaps/kept")["metadata"]["name"] == "kept"
        with pytest.raises(ApiError) as caught:
            cluster.api.get("/api/v1/namespaces/default/configmaps/other")
        assert caught.value.code == 404
        directory = cluster.directory
    assert not directory.exists()
    assert processes_that_mention(str(directory)) == []


@pytest.mark.slow
def test_what_a_cluster_kept_is_what_another_begins_with(tmp_path: Path) -> None:
    path, alone = "/api/v1/namespaces/default/configmaps", ClusterOptions(controllers=(), scheduler=False, kwok=False)
    with Cluster(find_binaries(), alone) as first:
        first.api.create(path, {"metadata": {"name": "stored"}})
        first.keep(tmp_path / "data")
        first.api.create(path, {"metadata": {"name": "later"}})
    with Cluster(find_binaries(), replace(alone, data=tmp_path / "data")) as second:
        names = {item["metadata"]["name"] for item in second.api.get(path)["items"]}
        assert "stored" in names
        assert "later" not in names
        second.api.create(path, {"metadata": {"name": "more"}})


@pytest.mark.slow
def test_a_component_that_does_not_start_is_named_and_nothing_stays() -> None:
    cluster = Cluster(find_binaries(), ClusterOptions(controllers=("no-such-controller",), scheduler=False, kwok=False))
    with pytest.raises(StartFailed, match=r"^kube-controller-manager ended with \d+: .*no-such-controller"):
        cluster.start()
    assert not cluster.directory.exists()
    assert processes_that_mention(str(cluster.directory)) == []


def send(process: subprocess.Popen[str], *signals: signal.Signals) -> int:
    """Its exit code after these."""
    for number in signals:
        os.kill(process.pid, number)
    return process.wait(30)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "code"),
    [((signal.SIGINT, signal.SIGTERM), 0), ((signal.SIGKILL,), -signal.SIGKILL)],
    ids=["ctrl-c", "sigkill"],
)
def test_the_command_prints_the_kubeconfig_and_leaves_nothing_behind(
    signals: tuple[signal.Signals, ...], code: int
) -> None:
    command = [sys.executable, "-m", "envtest", "--nodes", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        kubeconfig = Path(process.stdout.readline().strip())
        directory = kubeconfig.parent
        assert kubeconfig.is_file()
        running = processes_that_mention(str(directory))
        assert send(process, *signals) == code
        assert len(running) >= 5
    wait_for("the end of every process", lambda: not processes_that_mention(str(directory)), timeout=30)
    wait_for("the end of the directory", lambda: not directory.exists(), timeout=30)


@pytest.mark.slow
def test_a_signal_that_comes_with_the_line_is_heard() -> None:
    command = [sys.executable, "-m", "envtest", "--nodes", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        directory = Path(process.stdout.readline().strip()).parent
        assert send(process, signal.SIGINT) == 0
    assert not directory.exists()
