"""Where the configuration comes from: the flag, else `KUBECONFIG`, else the Pod we run in, else `~/.kube/config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.kubernetes.config import Address, ClusterConfig, ConfigError, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import TokenFile
from dynamo_ctrl.engine.kubernetes.proxy import from_environment

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
HOST, PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """The places to look at. Everything comes from the process by default; a test hands in its own.

    Attributes:
        kubeconfig: the flag; `None` when it was not given.
        context: the context to use in place of the current one; empty when it was not given.
        environ: environment variables.
        home: the user's home directory.
        service_account: where a Pod finds its token.
        clock: time for credentials that end.
    """

    kubeconfig: Path | None = None
    context: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: Path = field(default_factory=lambda: Path(os.path.expanduser("~")))
    service_account: Path = SERVICE_ACCOUNT
    clock: Clock = field(default_factory=SystemClock)

    def find(self) -> ClusterConfig:
        """The configuration of the first place that has one.

        Raises:
            ConfigError: none has, or the first one that has cannot be used. A later place is never a way out then.
        """
        config = self._find()
        if config.proxy is None:
            config = replace(config, proxy=from_environment(config.server, self.environ))
        return config

    def _find(self) -> ClusterConfig:
        if self.kubeconfig is not None:
            path = self.kubeconfig.expanduser().absolute()
            if not path.exists():
                raise ConfigError("--kubeconfig", f"there is no file {path}")
            return self._kubeconfig([path])
        if listed := self.environ.get("KUBECONFIG", ""):
            every = (Path(part).expanduser().absolute() for part in listed.split(os.pathsep) if part)
            paths = [path for path in every if path.exists()]
            if not paths:
                raise ConfigError("KUBECONFIG", f"none of these files is there: {listed}")
            return self._kubeconfig(paths)
        if not self.context and self._in_cluster_possible():
            return self._in_cluster()
        standard = self.home / ".kube" / "config"
        if standard.exists():
            return self._kubeconfig([standard])
        raise ConfigError(
            "kubeconfig",
            f"no cluster is configured: no --kubeconfig, no KUBECONFIG, not in a Pod with a service account "
            f"({HOST} and {self.service_account / 'token'}), and no {standard}; give one of them",
        )

    def _kubeconfig(self, paths: list[Path]) -> ClusterConfig:
        from dynamo_ctrl.engine.kubernetes.kubeconfig import Kubeconfig

        return Kubeconfig(paths).cluster_config(self.context, environ=self.environ, clock=self.clock)

    def _in_cluster_possible(self) -> bool:
        named = self.environ.get(HOST) and self.environ.get(PORT)
        return bool(named) and (self.service_account / "token").is_file()

    def _in_cluster(self) -> ClusterConfig:
        host, authority = self.environ[HOST], self.service_account / "ca.crt"
        if not authority.is_file():
            raise ConfigError(str(authority), "is missing; is the service account's token mounted whole?")
        namespace = self.service_account / "namespace"
        return ClusterConfig(
            server=Address.parse(
                f"https://{f'[{host}]' if ':' in host else host}:{self.environ[PORT]}", f"{HOST}, {PORT}"
            ),
            tls=Tls(authority=Pem(path=str(authority))),
            credentials=TokenFile(self.service_account / "token", self.clock),
            namespace=namespace.read_text().strip() if namespace.is_file() else "",
            source=f"the Pod's service account in {self.service_account}",
        )
