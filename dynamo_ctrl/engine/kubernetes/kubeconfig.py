"""A kubeconfig, of one or more files, and what one context of it says.

Read by us: the loader of kubernetes_asyncio cannot do without a user section, reads `tokenFile` once and runs plug-ins that can
hang (PY 2.2), and its merger, which is left, is ten lines that cost 0.36 s and 65 MB to import.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import yaml

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.kubernetes.config import Address, ClusterConfig, ConfigError, Tls
from dynamo_ctrl.engine.kubernetes.credentials import Credentials, Fixed, TokenFile
from dynamo_ctrl.engine.kubernetes.exec_plugin import ExecCommand, ExecPlugin
from dynamo_ctrl.engine.kubernetes.oidc import OidcProvider, OidcToken
from dynamo_ctrl.engine.kubernetes.section import Section, must_be
from dynamo_ctrl.objects.aliases import BoundedLoader

EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"
TABLES: Final = ("clusters", "users", "contexts")


class Kubeconfig:
    """One or more kubeconfig files, merged: the first file to name an entry wins, as for kubectl."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files. Raises `ConfigError` for one that cannot be read."""
        self._paths = tuple(paths)
        self._where = os.pathsep.join(str(path) for path in paths)
        self._files = {path: _read(path) for path in self._paths}
        self._tables: dict[str, dict[str, tuple[Path, Mapping[str, Any]]]] = {table: {} for table in TABLES}
        for path, content in self._files.items():
            for table, entries in self._tables.items():
                for entry in content.get(table) or []:
                    entries.setdefault(entry["name"], (path, entry))

    def contexts(self) -> tuple[str, ...]:
        """The names of all contexts."""
        return tuple(self._tables["contexts"])

    def current_context(self) -> str:
        """The first `current-context` that any of the files sets; empty when none does."""
        return next((str(c["current-context"]) for c in self._files.values() if c.get("current-context")), "")

    def cluster_config(self, context: str, *, environ: Mapping[str, str], clock: Clock) -> ClusterConfig:
        """What `context`, or else the current one, says. Raises `ConfigError`."""
        name = context or self.current_context()
        if not name:
            raise ConfigError(self._where, f"sets no current-context; choose one of: {self._known()}")
        if name not in self.contexts():
            raise ConfigError(self._where, f"has no context {name!r}; choose one of: {self._known()}")
        chosen = self._entry("contexts", name, "context")
        cluster = self._entry("clusters", chosen.required("cluster"), "cluster")
        user = self._entry("users", chosen.text("user"), "user") if "user" in chosen else _empty(chosen)
        where = f"{cluster.file}: {cluster.name}"
        server = Address.parse(cluster.required("server", "a URL"), f"{where}.server", schemes=("https", "http"))
        proxy = cluster.text("proxy-url", what="a URL")
        return ClusterConfig(
            server=server,
            tls=_tls(cluster, user),
            proxy=Address.parse(proxy, f"{where}.proxy-url", schemes=("http",)) if proxy else None,
            credentials=self._credentials(user, cluster, environ, clock),
            headers=_impersonation(user),
            namespace=chosen.text("namespace"),
            source=f"context {name!r} of {self._where}",
        )

    def _known(self) -> str:
        return ", ".join(sorted(self.contexts())) or "(it has none)"

    def _entry(self, table: str, name: str, key: str) -> Section:
        found = self._tables[table].get(name)
        if found is None:
            raise ConfigError(self._where, f"has no entry {name!r} in {table}")
        path, entry = found
        content, where = entry.get(key), f"{table}[{name}].{key}"
        if content is not None and not isinstance(content, Mapping):
            raise ConfigError(f"{path}: {where}", must_be("a mapping", content))
        return Section(where, content or {}, path)

    def _credentials(self, user: Section, cluster: Section, environ: Mapping[str, str], clock: Clock) -> Credentials:
        """How the user identifies itself. `tokenFile` wins over `token` and both over plug-ins, as in client-go."""
        if (path := user.path("tokenFile")) is not None:
            return TokenFile(path, clock)
        if token := user.text("token"):
            return Fixed.bearer(token)
        if "exec" in user and "auth-provider" in user:
            raise user.error("", "has both exec and auth-provider; keep one")
        if "exec" in user:
            return ExecPlugin(_command(user.section("exec"), cluster, environ), clock)
        if "auth-provider" in user:
            return self._provider(user.section("auth-provider"), clock)
        if "username" in user:
            return Fixed.basic(user.text("username"), user.text("password"))
        return Fixed()

    def _provider(self, section: Section, clock: Clock) -> Credentials:
        name = section.required("name")
        if name != "oidc":
            raise section.error("name", f"auth provider {name!r} is not supported; use its exec plug-in, or oidc")
        config = section.section("config")
        authority = config.pem("idp-certificate-authority")
        provider = OidcProvider(
            issuer=config.required("idp-issuer-url"),
            client_id=config.required("client-id"),
            client_secret=config.text("client-secret"),
            id_token=config.text("id-token"),
            refresh_token=config.text("refresh-token"),
            authority=authority.data or (Path(authority.path).read_bytes() if authority else b""),
        )

        def save(tokens: Mapping[str, str]) -> None:
            entry: Any = config.content
            entry.update(tokens)
            _write(config.file, self._files[config.file])

        return OidcToken(provider, clock, save)


def _read(path: Path) -> Mapping[str, Any]:
    """A file whose tables have a name for each entry. Raises `ConfigError`."""
    try:
        content = yaml.load(path.read_text(), Loader=BoundedLoader)  # noqa: S506  (a SafeLoader)
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), "is not text") from error
    except yaml.YAMLError as error:  # its own text quotes the line, which may hold a secret
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1}" if mark else ""
        raise ConfigError(str(path), f"is not YAML: {getattr(error, 'problem', None) or 'unreadable'}{at}") from None
    except (ValueError, RecursionError):  # a date that is none, a number of too many digits, brackets without end
        raise ConfigError(str(path), "is not YAML: it holds a value that cannot be read") from None
    if not isinstance(content, Mapping):
        raise ConfigError(str(path), "is not a kubeconfig; expected a mapping with clusters, users and contexts")
    for table in TABLES:
        entries = content.get(table)
        if entries is None:
            continue
        if not isinstance(entries, list) or not all(isinstance(e, Mapping) and e.get("name") for e in entries):
            raise ConfigError(f"{path}: {table}", "must be a list of entries, each with a name")
        for number, entry in enumerate(entries):
            Section(f"{table}[{number}]", entry, path).required("name")
    if (current := content.get("current-context")) is not None and not isinstance(current, str):
        raise ConfigError(f"{path}: current-context", must_be("a text", current))
    return content


def _empty(context: Section) -> Section:
    return Section("user", {}, context.file)


def _tls(cluster: Section, user: Section) -> Tls:
    authority = cluster.pem("certificate-authority")
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    insecure = cluster.flag("insecure-skip-tls-verify")
    if insecure and authority:
        raise cluster.error("insecure-skip-tls-verify", "contradicts certificate-authority; remove one of them")
    if bool(certificate) != bool(key):
        missing = "client-key" if certificate else "client-certificate"
        raise user.error(missing, "is missing; a client certificate needs both")
    server_name = cluster.text("tls-server-name")
    return Tls(authority=authority, certificate=certificate, key=key, insecure=insecure, server_name=server_name)


def _impersonation(user: Section) -> tuple[tuple[str, str], ...]:
    """The headers that make us somebody else. They may repeat, hence pairs."""
    named = (("Impersonate-User", user.text("as")), ("Impersonate-Uid", user.text("as-uid")))
    groups = (("Impersonate-Group", group) for group in user.strings("as-groups"))
    extra = user.section("as-user-extra")
    further = (
        (f"Impersonate-Extra-{quote(key, safe='')}", value) for key in extra.content for value in extra.strings(key)
    )
    found = (*(pair for pair in named if pair[1]), *groups, *further)
    if found and "as" not in user:
        raise user.error("as", "is missing; as-uid, as-groups and as-user-extra need it")
    return found


def _command(section: Section, cluster: Section, environ: Mapping[str, str]) -> ExecCommand:
    version = section.required("apiVersion")
    if version not in EXEC_VERSIONS:
        raise section.error("apiVersion", f"{version!r} is not supported; use {EXEC_VERSIONS[0]}")
    if section.text("interactiveMode") == "Always":
        raise section.error(
            "interactiveMode", "is Always, but there is no terminal here; use a plug-in that needs none"
        )
    command = section.required("command")
    if os.sep in command:
        command = str(section.file.parent / Path(command).expanduser())
    variables = {item.required("name"): item.text("value") for item in section.sections("env")}
    environment = {**environ, **variables}
    hint = " ".join(section.text("installHint").split())
    found = shutil.which(command, path=environment.get("PATH"))
    if found is None:
        raise section.error("command", f"there is no program {command!r} that can be run; {hint or 'install it'}")
    return ExecCommand(
        command=found,
        arguments=section.strings("args"),
        environment=environment,
        api_version=version,
        install_hint=hint,
        cluster=_cluster_info(cluster) if section.flag("provideClusterInfo") else None,
    )


def _cluster_info(cluster: Section) -> dict[str, Any]:
    authority = cluster.pem("certificate-authority")
    data = cluster.text("certificate-authority-data")
    if authority.path:
        data = base64.b64encode(Path(authority.path).read_bytes()).decode()
    info: dict[str, Any] = {"server": cluster.required("server")}
    info |= {key: cluster.text(key) for key in ("tls-server-name", "proxy-url") if key in cluster}
    if data:
        info["certificate-authority-data"] = data
    if cluster.flag("insecure-skip-tls-verify"):
        info["insecure-skip-tls-verify"] = True
    for extension in cluster.sections("extensions"):
        if extension.text("name") == EXEC_EXTENSION:
            info["config"] = extension.content.get("extension")
    return info


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Replace the file in one step, readable by its owner only."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            yaml.safe_dump(content, file, default_flow_style=False, sort_keys=False)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
