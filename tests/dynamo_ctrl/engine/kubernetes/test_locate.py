"""Which configuration is taken, and what a user is told when there is none that can be used."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dynamo_ctrl.engine.kubernetes.config import ClusterConfig, ConfigError
from dynamo_ctrl.engine.kubernetes.locate import HOST, PORT, Locator


def config(name: str, **more: Any) -> dict[str, Any]:
    return {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.test", **more.get("cluster", {})}}],
        "users": [{"name": name, "user": {"token": f"token-of-{name}", **more.get("user", {})}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"ns-{name}"}}],
    }


class Machine:
    """A home directory, an environment, and a Pod, all of them made up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ: dict[str, str] = {}
        self.home = folder / "home"
        self.service_account = folder / "serviceaccount"

    def write(self, name: str, content: dict[str, Any] | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def pod(self) -> None:
        self.environ |= {HOST: "10.0.0.1", PORT: "443"}
        self.write("serviceaccount/token", "pod-token\n")
        self.write("serviceaccount/ca.crt", "PEM")
        self.write("serviceaccount/namespace", "pod-ns")

    def find(self, kubeconfig: Path | None = None, context: str = "") -> ClusterConfig:
        return Locator(
            kubeconfig=kubeconfig,
            context=context,
            environ=self.environ,
            home=self.home,
            service_account=self.service_account,
        ).find()

    def host(self, kubeconfig: Path | None = None, context: str = "") -> str:
        return self.find(kubeconfig, context).server.host


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_flag_wins_over_the_variable_over_the_pod_over_the_home_directory(machine: Machine) -> None:
    flag = machine.write("flag", config("flag"))
    machine.environ["KUBECONFIG"] = str(machine.write("variable", config("variable")))
    machine.write("home/.kube/config", config("home"))
    machine.pod()
    assert machine.host(flag) == "flag.test"
    assert machine.host() == "variable.test"
    del machine.environ["KUBECONFIG"]
    assert machine.host() == "10.0.0.1"
    del machine.environ[HOST]
    assert machine.host() == "home.test"


def test_a_context_is_looked_for_in_a_kubeconfig_even_inside_a_pod(machine: Machine) -> None:
    machine.write("home/.kube/config", config("home"))
    machine.pod()
    assert machine.host(context="home") == "home.test"


def test_a_pod_without_a_token_is_no_place_to_look(machine: Machine) -> None:
    machine.pod()
    (machine.service_account / "token").unlink()
    machine.write("home/.kube/config", config("home"))
    assert machine.host() == "home.test"


def test_the_pods_configuration_is_read_whole(machine: Machine) -> None:
    machine.pod()
    found = machine.find()
    assert str(found.server) == "https://10.0.0.1:443"
    assert found.tls.authority.path == str(machine.service_account / "ca.crt")
    assert found.namespace == "pod-ns"
    machine.environ[HOST] = "fd00::1"
    assert machine.find().server.authority == "[fd00::1]:443"


def test_a_pod_without_its_authority_is_an_error_that_says_so(machine: Machine) -> None:
    machine.pod()
    (machine.service_account / "ca.crt").unlink()
    with pytest.raises(ConfigError, match="mounted whole"):
        machine.find()


def test_several_files_are_merged_and_the_first_to_name_a_thing_wins(machine: Machine) -> None:
    first, second = config("a"), config("b")
    second["clusters"].append({"name": "a", "cluster": {"server": "https://other.test"}})
    paths = [machine.folder / "absent", machine.write("one", first), machine.write("two", second)]
    machine.environ["KUBECONFIG"] = os.pathsep.join(map(str, paths))
    assert machine.host() == "a.test"
    assert machine.host(context="b") == "b.test"
    assert machine.find(context="b").namespace == "ns-b"


def test_relative_paths_are_relative_to_the_file_that_has_them(machine: Machine) -> None:
    machine.write("deep/ca.crt", "x")
    inner = config("a", cluster={"certificate-authority": "ca.crt"})
    machine.environ["KUBECONFIG"] = os.pathsep.join(
        map(str, (machine.write("b", {"kind": "Config"}), machine.write("deep/c", inner)))
    )
    assert machine.find().tls.authority.path == str(machine.folder / "deep" / "ca.crt")


def test_the_proxy_of_the_kubeconfig_wins_over_the_one_of_the_environment(machine: Machine) -> None:
    machine.environ["HTTPS_PROXY"] = "http://env.test:3128"
    plain = machine.write("plain", config("a"))
    proxied = machine.write("proxied", config("a", cluster={"proxy-url": "http://u:p@file.test"}))
    found = machine.find(proxied).proxy
    assert found is not None
    assert (str(found), found.user, found.password) == ("http://file.test:80", "u", "p")
    assert str(machine.find(plain).proxy) == "http://env.test:3128"
    machine.environ["NO_PROXY"] = ".test"
    assert machine.find(plain).proxy is None


def entry(key: str, **fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content[f"{key}s"][0][key].update(fields)


def without(table: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.pop(table)


BAD = [
    (entry("cluster", server=""), "clusters[a].cluster.server", "is missing"),
    (entry("cluster", server="ftp://x"), "clusters[a].cluster.server", "scheme 'ftp' is not supported"),
    (entry("cluster", server="https://x:port"), "clusters[a].cluster.server", "is not a URL"),
    (entry("cluster", server=["x"]), "clusters[a].cluster.server", "must be a URL, not a list"),
    (entry("cluster", server=7), "clusters[a].cluster.server", "must be a URL, not a number"),
    (entry("cluster", **{"proxy-url": True}), "clusters[a].cluster.proxy-url", "must be a URL, not a truth value"),
    (entry("cluster", **{"insecure-skip-tls-verify": 0}), "insecure-skip-tls-verify", "must be true or false"),
    (entry("user", token=7), "users[a].user.token", "must be a text, not a number"),
    (entry("user", **{"as": "x", "as-groups": "y"}), "users[a].user.as-groups", "must be a list of texts, not a text"),
    (entry("user", **{"as": "x", "as-groups": [7]}), "users[a].user.as-groups[0]", "must be a text, not a number"),
    (lambda content: content["users"][0].update(user=0), "users[a].user", "must be a mapping, not a number"),
    (lambda content: content["users"][0].update(name=7), "users[0].name", "must be a text, not a number"),
    (lambda content: content.update(users={}), "users", "must be a list of entries"),
    (lambda content: content.update({"current-context": 7}), "current-context", "must be a text, not a number"),
    (
        entry("user", token=None, exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin"}),
        "users[a].user.exec.command",
        "there is no program 'no-such-plugin' that can be run; install it",
    ),
    (
        entry(
            "user",
            token=None,
            exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "./x", "installHint": "get\n it"},
        ),
        "users[a].user.exec.command",
        "/x' that can be run; get it",
    ),
    (
        entry("cluster", **{"proxy-url": "socks5://x"}),
        "clusters[a].cluster.proxy-url",
        "scheme 'socks5' is not supported",
    ),
    (
        entry("cluster", **{"certificate-authority": "gone"}),
        "clusters[a].cluster.certificate-authority",
        "there is no file",
    ),
    (entry("cluster", **{"certificate-authority-data": "?"}), "certificate-authority-data", "is not base64"),
    (entry("cluster", **{"insecure-skip-tls-verify": "yes"}), "insecure-skip-tls-verify", "must be true or false"),
    (
        entry("cluster", **{"insecure-skip-tls-verify": True, "certificate-authority-data": "eA=="}),
        "insecure-skip-tls-verify",
        "contradicts certificate-authority",
    ),
    (entry("user", **{"client-certificate-data": "eA=="}), "users[a].user.client-key", "needs both"),
    (entry("user", **{"client-key-data": "eA=="}), "users[a].user.client-certificate", "needs both"),
    (entry("user", tokenFile="gone"), "users[a].user.tokenFile", "there is no file"),
    (entry("user", token=None, exec={}), "users[a].user.exec.apiVersion", "is missing"),
    (entry("user", token=None, exec={"apiVersion": "v1alpha1"}), "users[a].user.exec.apiVersion", "is not supported"),
    (
        entry("user", token=None, exec={"apiVersion": "client.authentication.k8s.io/v1"}),
        "users[a].user.exec.command",
        "is missing",
    ),
    (
        entry(
            "user",
            token=None,
            exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Always"},
        ),
        "users[a].user.exec.interactiveMode",
        "no terminal",
    ),
    (entry("user", token=None, exec={"apiVersion": "v1"}, **{"auth-provider": {}}), "users[a].user", "keep one"),
    (
        entry("user", token=None, **{"auth-provider": {"name": "gcp"}}),
        "users[a].user.auth-provider.name",
        "use its exec plug-in",
    ),
    (
        entry("user", token=None, **{"auth-provider": {"name": "oidc"}}),
        "users[a].user.auth-provider.config.idp-issuer-url",
        "is missing",
    ),
    (entry("user", **{"as-groups": ["x"]}), "users[a].user.as", "is missing"),
    (entry("context", cluster="b"), "", "has no entry 'b' in clusters"),
    (entry("context", user="b"), "", "has no entry 'b' in users"),
    (without("current-context"), "", "sets no current-context; choose one of: a"),
    (without("contexts"), "", "has no context 'a'; choose one of: (it has none)"),
]


@pytest.mark.parametrize(("spoil", "where", "rule"), BAD)
def test_a_kubeconfig_that_cannot_be_used_is_an_error_that_names_file_field_and_rule(
    spoil: Callable[[dict[str, Any]], None], where: str, rule: str, machine: Machine
) -> None:
    content = config("a")
    spoil(content)
    path = machine.write("bad", content)
    with pytest.raises(ConfigError) as raised:
        machine.find(path)
    assert raised.value.where.startswith(str(path))
    assert where in raised.value.where
    assert rule in raised.value.rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "is not a kubeconfig"),
        ("just text", "is not a kubeconfig"),
        ("a: hush\n- b: [", "is not YAML: .* at line 2"),
        ("clusters: 3", "must be a list"),
        ("clusters: [{cluster: {}}]", "each with a name"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_told(text: str, rule: str, machine: Machine) -> None:
    with pytest.raises(ConfigError, match=rule) as raised:
        machine.find(machine.write("bad", text))
    assert "hush" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_file_that_is_not_there_is_told_with_where_it_was_named(machine: Machine) -> None:
    absent = machine.folder / "absent"
    with pytest.raises(ConfigError, match=f"--kubeconfig: there is no file {absent}"):
        machine.find(absent)
    machine.environ["KUBECONFIG"] = f"{absent}:{absent}2"
    with pytest.raises(ConfigError, match="KUBECONFIG: none of these files is there"):
        machine.find()


def test_a_file_that_cannot_be_read_is_told(machine: Machine) -> None:
    folder = machine.folder / "folder"
    folder.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        machine.find(folder)


def test_no_configuration_at_all_lists_every_place(machine: Machine) -> None:
    with pytest.raises(ConfigError) as raised:
        machine.find()
    for place in ("--kubeconfig", "KUBECONFIG", HOST, str(machine.home / ".kube" / "config")):
        assert place in raised.value.rule


def test_an_unknown_context_lists_the_known_ones(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="has no context 'b'; choose one of: a"):
        machine.find(machine.write("a", config("a")), "b")


def test_a_cluster_without_a_user_is_anonymous(machine: Machine) -> None:
    content = config("a")
    del content["contexts"][0]["context"]["user"]
    del content["users"]
    assert machine.find(machine.write("a", content)).server.host == "a.test"


def test_impersonation_becomes_headers(machine: Machine) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"example.com/x": ["1", "2"]}}
    assert machine.find(machine.write("a", config("a", user=user))).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fx", "1"),
        ("Impersonate-Extra-example.com%2Fx", "2"),
    )


def test_secrets_are_in_no_representation(machine: Machine) -> None:
    key = {"client-certificate-data": "aHVzaA==", "client-key-data": "aHVzaA=="}
    found = machine.find(machine.write("a", config("a", user=key, cluster={"proxy-url": "http://u:hush@p"})))
    assert found.tls.key.data == b"hush"
    assert "hush" not in repr(found)
    assert "token-of-a" not in repr(found)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]" for n in range(1, 12))]),
            "its aliases stand",
        ),
        ("a: 2026-13-45", "holds a value that cannot be read"),
        ("[" * 1500, "holds a value that cannot be read"),
    ],
    ids=["aliases-to-aliases", "no-such-day", "without-end"],
)
def test_a_kubeconfig_that_nobody_could_hold_is_refused(text: str, rule: str, machine: Machine) -> None:
    path = machine.folder / "huge"
    path.write_text(text)
    with pytest.raises(ConfigError, match=rule) as raised:
        machine.find(path)
    assert raised.value.where == str(path)
