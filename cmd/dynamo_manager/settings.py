"""The configuration file, and what the process itself takes from it. Flags win over the file, the file over the defaults.

The document is the operator's `OperatorConfiguration` (P 7). Programs check it and read their own sections (`Configurable`); here
only what concerns the process is read: its servers, its log, and the namespace that it is restricted to. What would be less
safe than the document asks for is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dynamo_ctrl.manager.options import ManagerOptions, resolve
from dynamo_ctrl.objects.frozen import EMPTY, JsonMap
from dynamo_manager import documents
from dynamo_manager.cli import MEMORY, RunOptions
from dynamo_manager.errors import UsageError
from dynamo_manager.logs import FORMATS, LEVELS, LogFormat, LogLevel

NAME: Final = "dynamo-manager"
"""Who the process is in events and logs."""

_SERVERS: Final = {"healthProbe": 8081, "metrics": 8080}
"""The ports that a section of `server` means when it names none (P 7.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the process runs with.

    Attributes:
        document: the configuration file, frozen; empty without one.
        manager: the manager's options.
        log_format: how it logs.
        log_level: from which level on.
    """

    document: JsonMap
    manager: ManagerOptions
    log_format: LogFormat
    log_level: LogLevel


def settle(options: RunOptions) -> Settings:
    """Flags, file and defaults as one.

    Raises:
        UsageError: the file cannot be read, or a field of it breaks a rule.
        InvalidOption: a value that the manager refuses.
    """
    document = configuration(options.config) if options.config is not None else EMPTY
    section = _Section(document, "")
    server = section.section("server")
    logging = section.section("logging")
    restricted = section.section("namespace").text("restricted")
    namespaces = options.namespaces or ((restricted,) if restricted else ())
    flags = {
        "name": NAME,
        "health_address": options.health_bind_address,
        "metrics_address": options.metrics_bind_address,
        "debug": options.debug,
        "controller": {"workers": options.workers},
        "cache": {"namespaces": list(namespaces)},
        "leader_election": {
            "enabled": options.leader_elect,
            "name": options.leader_elect_id,
            "namespace": options.leader_elect_namespace,
            "renewal": "loop" if options.engine == MEMORY else None,
        },
    }
    file = {
        "leader_election": _election(section.section("leaderElection"), options),
        "health_address": None if options.health_bind_address else _address(server, "healthProbe"),
        "metrics_address": None if options.metrics_bind_address else _metrics_address(server),
    }
    return Settings(
        document=document,
        manager=resolve(ManagerOptions, flags, file),
        log_format=options.log_format or logging.one_of("format", FORMATS, "json" if document else "text"),
        log_level=options.log_level or logging.one_of("level", LEVELS, "info"),
    )


def _election(section: _Section, options: RunOptions) -> dict[str, Any]:
    """What the document says of the election; the Lease has a name by default, but not where the document enables it."""
    enabled, name = section.one_of("enabled", (True, False), False), section.text("id")
    if enabled and not name and options.leader_elect is None and options.leader_elect_id is None:
        raise section.wrong("id", "must be given when leader election is enabled")
    return {"enabled": enabled, "name": name or NAME, "namespace": section.text("namespace")}


def configuration(path: Path) -> JsonMap:
    """The configuration document in that file. Raises `UsageError`."""
    found = documents.read(path)
    if len(found) != 1 or not isinstance(found[0], Mapping):
        raise UsageError(f"{path}: must be one YAML mapping, an OperatorConfiguration")
    document: JsonMap = found[0]
    return document


class _Section:
    """A part of the document; what it hands out has the right type, or a `UsageError` names the field."""

    def __init__(self, content: Any, path: str) -> None:
        if not isinstance(content, Mapping):
            raise UsageError(f"--config: {path or 'the document'}: must be a mapping")
        self._content = content
        self._path = path

    def __contains__(self, name: str) -> bool:
        return name in self._content

    def section(self, name: str) -> _Section:
        content = self._content.get(name)
        return _Section(EMPTY if content is None else content, f"{self._path}.{name}" if self._path else name)

    def text(self, name: str, default: str = "") -> str:
        value = self._content.get(name, default)
        if not isinstance(value, str):
            raise self.wrong(name, "must be a text")
        return value

    def port(self, default: int) -> int:
        value = self._content.get("port", default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 65535:
            raise self.wrong("port", "must be between 0 and 65535")
        return value

    def one_of(self, name: str, allowed: tuple[Any, ...], default: Any) -> Any:
        value = self._content.get(name, default)
        if not any(value is one or (isinstance(one, str) and value == one) for one in allowed):
            raise self.wrong(name, f"must be one of {', '.join(str(one).lower() for one in allowed)}")
        return value

    def wrong(self, name: str, rule: str) -> UsageError:
        return UsageError(f"--config: {self._path}.{name}: {rule}")


def _address(server: _Section, name: str) -> str | None:
    """Where that server listens; `None` if the document does not speak about it."""
    if name not in server:
        return None
    section = server.section(name)
    port = section.port(_SERVERS[name])
    host = section.text("bindAddress", "0.0.0.0")  # noqa: S104  (the Pod's network is the boundary)
    return f"{f'[{host}]' if ':' in host else host}:{port}" if port else "0"


def _metrics_address(server: _Section) -> str | None:
    address = _address(server, "metrics")
    section = server.section("metrics")
    if address not in (None, "0") and section.one_of("secure", (True, False), True):
        raise section.wrong("secure", "TLS is not supported yet; set it to false, or the port to 0")
    return address
