"""The configuration file, and what the process itself takes from it. Flags win over the file, the file over the defaults.

Programs read their own sections of the same document (`Configurable`); what nobody reads is refused by the program that owns the
document's kind, not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dynamo_ctrl.manager.options import ManagerOptions, resolve
from dynamo_ctrl.objects.frozen import EMPTY, JsonMap, freeze
from dynamo_manager.cli import RunOptions
from dynamo_manager.errors import UsageError
from dynamo_manager.logs import LEVELS, LogFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the process runs with.

    Attributes:
        document: the configuration file, frozen; empty without one.
        manager: the manager's options.
        log_format, log_level: how it logs.
    """

    document: JsonMap
    manager: ManagerOptions
    log_format: LogFormat
    log_level: str


def settle(options: RunOptions) -> Settings:
    """Flags, file and defaults as one.

    Raises:
        UsageError: the file cannot be read, or a field of it breaks a rule.
        InvalidOption: a value that the manager refuses.
    """
    document = read(options.config) if options.config is not None else EMPTY
    restricted = _section(document, "namespace").get("restricted")
    namespaces = options.namespaces or ((restricted,) if restricted else ())
    logging = _section(document, "logging")
    flags = {
        "health_address": options.health_bind_address,
        "metrics_address": options.metrics_bind_address,
        "controller": {"workers": options.workers},
        "cache": {"namespaces": list(namespaces)},
    }
    server = _section(document, "server")
    file = {
        "health_address": _address(server, "healthProbe"),
        "metrics_address": _address(server, "metrics"),
    }
    log_format = options.log_format or _one_of(logging, "logging.format", ("text", "json"), "text")
    return Settings(
        document=document,
        manager=resolve(ManagerOptions, flags, file),
        log_format="json" if log_format == "json" else "text",
        log_level=options.log_level or _one_of(logging, "logging.level", LEVELS, "info"),
    )


def read(path: Path) -> JsonMap:
    """The document in a YAML file. Raises `UsageError`."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise UsageError(f"{path}: must be a YAML mapping")
    frozen: JsonMap = freeze(document)
    return frozen


def _section(document: JsonMap, name: str) -> JsonMap:
    section = document.get(name, EMPTY)
    if not isinstance(section, dict):
        raise UsageError(f"{name}: must be a mapping")
    return section


def _address(server: JsonMap, name: str) -> str | None:
    if name not in server:
        return None
    section = _section(server, name)
    port: Any = section.get("port", 0)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
        raise UsageError(f"server.{name}.port: must be between 0 and 65535")
    return f"{section.get('bindAddress', '')}:{port}" if port else "0"


def _one_of(section: JsonMap, path: str, allowed: tuple[str, ...], default: str) -> str:
    value = section.get(path.rpartition(".")[2], default)
    if value not in allowed:
        raise UsageError(f"{path}: must be one of {', '.join(allowed)}")
    return str(value)
