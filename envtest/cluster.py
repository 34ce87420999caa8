"""`Cluster`: etcd, an API server, the controllers, the scheduler and kwok, in one temporary directory on free ports."""

from __future__ import annotations

import http.client
import secrets
import shutil
import ssl
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from envtest import audit, control_plane, etcd, kubeconfig
from envtest.api import Api, ApiError, wait_for
from envtest.binaries import Binaries
from envtest.certificates import Authority, Pair, private_key_pem
from envtest.errors import StartFailed
from envtest.nodes import is_ready, node
from envtest.p256 import PrivateKey
from envtest.ports import Ports
from envtest.process import Process

if TYPE_CHECKING:
    from typing import Self

ADMIN: Final = "envtest-admin"
"""The user of the administrator's kubeconfig, a member of system:masters."""


FURNISH_TIMEOUT: Final = 60.0
"""Seconds for a new namespace to get what every namespace has."""


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """What runs in a cluster, and how long its start may take.

    Attributes:
        controllers: as `--controllers` of the controller manager reads them (`*`, `deployment-controller`, `-name`); empty for no
            controller manager at all.
        scheduler: run the scheduler.
        kwok: play the kubelets; without it nodes never become Ready.
        nodes: how many nodes there are from the start; 0 without kwok.
        timeout: seconds for each component to come up.
        apiserver: further flags of the API server, as `--name=value`.
        data: what etcd begins with: a copy of this folder, which `Cluster.keep` of another cluster wrote.
    """

    controllers: Sequence[str] = ("*",)
    scheduler: bool = True
    kwok: bool = True
    nodes: int = 1
    timeout: float = 60.0
    apiserver: Sequence[str] = ()
    data: Path | None = None


class Cluster:
    """A whole cluster. Use it as a context manager, or call `start` and `stop`.

    Nothing outlives this process: every component ends when we do, even by SIGKILL, and the directory is removed with it.

    Attributes:
        directory: everything of this cluster, logs (`<component>.log`) included; it is there between `start` and `stop`.
    """

    directory: Path

    def __init__(self, binaries: Binaries, options: ClusterOptions | None = None) -> None:
        self._binaries = binaries
        self._options = options or ClusterOptions()
        self._ports = Ports()
        self._processes: dict[str, Process] = {}
        self._token = secrets.token_urlsafe(24)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return self._layout.url

    @property
    def etcd_url(self) -> str:
        """Where etcd listens, for tests that compact its history."""
        return self._layout.etcd_url

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (a bearer token)."""
        return self._layout.kubeconfig

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._token

    @property
    def certificate_authority(self) -> Path:
        """The certificate, in PEM, that clients must trust."""
        return self._layout.certificate("ca")

    @property
    def audit_log(self) -> Path:
        """What service accounts asked of the API server; `envtest.audit` reads it."""
        return self._layout.audit_log

    def start(self) -> None:
        """Bring everything up. Raises `StartFailed`, and leaves nothing behind then."""
        self.directory = Path(tempfile.mkdtemp(prefix="envtest-"))
        try:
            self._write_files()
            self._start_etcd()
            self.start_apiserver()
            self._start_controllers()
            for number in range(self._options.nodes if self._options.kwok else 0):
                self.add_node(f"node-{number}")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything, the API server before its etcd, and remove the directory. Idempotent."""
        clients = [process for name, process in self._processes.items() if name not in ("etcd", "kube-apiserver")]
        servers = [self._processes[name] for name in ("kube-apiserver", "etcd") if name in self._processes]
        for process in clients:
            process.ask_to_stop()
        for process in (*clients, *servers):
            process.stop()
        self._processes.clear()
        self._ports.release()
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory, ignore_errors=True)

    def stop_apiserver(self) -> None:
        """Kill the API server, as a crash would. Everything else goes on."""
        self._processes.pop("kube-apiserver").kill()

    def start_apiserver(self) -> None:
        """Start the API server on its port, over the same etcd; returns when it is ready."""
        flags = control_plane.apiserver(self._layout, service_accounts=bool(self._options.controllers))
        process = self._spawn("kube-apiserver", (*flags, *self._options.apiserver))
        self._await(process, lambda: self.api.get("/readyz") == "ok")

    def keep(self, folder: Path) -> None:
        """Write what is stored now, without its history, into a new folder, for `ClusterOptions.data` of another cluster.

        The API server is away meanwhile.
        """
        self.stop_apiserver()
        etcd.forget_history(self.etcd_url, within=self._options.timeout)
        shutil.copytree(self._layout.data, folder)
        self.start_apiserver()

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """The kubeconfig (a client certificate) of the plain user `name`, who has no right beyond what RBAC gives it."""
        path = self.directory / f"user-{secrets.token_hex(4)}.kubeconfig"
        credentials = kubeconfig.with_certificate(self._authority.user(name, groups))
        return self._write_kubeconfig(path, name, credentials)

    def service_account(self, namespace: str, name: str) -> Path:
        """The kubeconfig (a bound token, good for an hour) of a ServiceAccount that exists."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.api.create(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
        file = self.directory / f"service-account-{secrets.token_hex(4)}.kubeconfig"
        return self._write_kubeconfig(file, name, kubeconfig.with_token(answer["status"]["token"]))

    def wait_furnished(self, namespace: str) -> None:
        """Wait until a new namespace has what the controllers put into every one: a ServiceAccount, and the authority it trusts.

        Raises:
            TimeoutError: it has not, `FURNISH_TIMEOUT` seconds later.
        """
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            probe = partial(self._is_there, f"/api/v1/namespaces/{namespace}/{path}")
            wait_for(f"{path} in {namespace}", probe, timeout=FURNISH_TIMEOUT, interval=0.02)

    def _is_there(self, path: str) -> bool:
        try:
            return bool(self.api.get(path))
        except ApiError as error:
            if error.code != 404:
                raise
            return False

    def kubectl(self, *arguments: str, stdin: str | None = None, config: Path | None = None) -> str:
        """Run kubectl (as the administrator, or with `config`); returns what it printed.

        Raises:
            subprocess.CalledProcessError: with kubectl's own words in `stderr`.
        """
        command = [str(self._binaries["kubectl"]), f"--kubeconfig={config or self.kubeconfig}", *arguments]
        environment = {"HOME": str(self.directory), "PATH": ""}
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, env=environment).stdout

    def add_node(
        self,
        name: str,
        *,
        capacity: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Add a node and wait until it is Ready. Raises `StartFailed`."""
        self.api.create("/api/v1/nodes", node(name, capacity=capacity, labels=labels, taints=taints))
        try:
            wait_for(
                f"node {name} ready",
                lambda: is_ready(self.api.get(f"/api/v1/nodes/{name}")),
                timeout=self._options.timeout,
            )
        except TimeoutError as error:
            raise StartFailed(str(error)) from error

    def _write_files(self) -> None:
        self._layout = layout = control_plane.Layout(self.directory, *(self._ports.reserve() for _ in range(5)))
        self._authority = Authority()
        names = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        self._write_pair("ca", self._authority.pair)
        self._write_pair("apiserver", self._authority.server(names, ("127.0.0.1", control_plane.KUBERNETES_SERVICE)))
        _write_secret(layout.key("service-accounts"), private_key_pem(PrivateKey()))
        _write_secret(layout.tokens, f'{self._token},{ADMIN},{ADMIN},"system:masters"\n'.encode())
        layout.audit_policy.write_text(audit.policy())
        self._write_kubeconfig(layout.kubeconfig, ADMIN, kubeconfig.with_token(self._token))
        self.api = Api(layout.url, self._authority.certificate, self._token)

    def _write_pair(self, name: str, pair: Pair) -> None:
        self._layout.certificate(name).write_bytes(pair.certificate)
        _write_secret(self._layout.key(name), pair.key)

    def _write_kubeconfig(self, path: Path, user: str, credentials: dict[str, Any]) -> Path:
        authority = self._authority.certificate
        return kubeconfig.write(path, url=self.url, authority=authority, user=user, credentials=credentials)

    def _start_etcd(self) -> None:
        if self._options.data is not None:
            shutil.copytree(self._options.data, self._layout.data)
        process = self._spawn("etcd", control_plane.etcd(self._layout), remove=self.directory)
        self._await(process, lambda: b"true" in _read(f"{self._layout.etcd_url}/health"))

    def _start_controllers(self) -> None:
        layout, options = self._layout, self._options
        healthy: dict[str, int] = {}
        if options.controllers:
            self._spawn("kube-controller-manager", control_plane.controller_manager(layout, options.controllers))
            healthy["kube-controller-manager"] = layout.controller_manager_port
        if options.scheduler:
            self._spawn("kube-scheduler", control_plane.scheduler(layout))
            healthy["kube-scheduler"] = layout.scheduler_port
        if options.kwok:
            self._spawn("kwok", control_plane.kwok(layout))
        for name, port in healthy.items():
            self._await(self._processes[name], partial(_is_healthy, port))

    def _spawn(self, name: str, arguments: Sequence[str], *, remove: Path | None = None) -> Process:
        process = Process(name, (self._binaries[name], *arguments), self._layout.log(name), remove=remove)
        self._processes[name] = process
        return process

    def _await(self, process: Process, probe: Callable[[], bool]) -> None:
        def ready() -> bool:
            process.check()
            try:
                return probe()
            except (OSError, ApiError, http.client.HTTPException):
                return False

        try:
            wait_for(f"{process.name} ready", ready, timeout=self._options.timeout)
        except TimeoutError as error:
            raise StartFailed(f"{error}: {process.last_line()}") from error


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def _is_healthy(port: int) -> bool:
    return _read(f"https://127.0.0.1:{port}/healthz") == b"ok"


def _read(url: str) -> bytes:
    unverified = ssl.create_default_context()  # the controllers make their own certificates, in memory
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    with urllib.request.urlopen(url, timeout=5, context=unverified) as answer:
        content: bytes = answer.read()
    return content
