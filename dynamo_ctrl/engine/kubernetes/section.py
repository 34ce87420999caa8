"""One section of a kubeconfig, read field by field, so that every complaint names file, section and field."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dynamo_ctrl.engine.kubernetes.config import ConfigError, Pem


class Section:
    """A mapping in a kubeconfig. Relative paths in it are relative to its file, as everywhere in Kubernetes."""

    def __init__(self, name: str, content: Mapping[str, Any], file: Path) -> None:
        self.name = name
        self.content = content
        self.file = file

    def error(self, key: str, rule: str) -> ConfigError:
        """A complaint about one field."""
        return ConfigError(f"{self.file}: {self.name}.{key}" if key else f"{self.file}: {self.name}", rule)

    def __contains__(self, key: str) -> bool:
        return self.content.get(key) is not None

    def text(self, key: str, default: str = "") -> str:
        """A string; numbers are taken as they are spelled. Raises `ConfigError`."""
        value = self.content.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(key, f"must be a string, not {type(value).__name__}")
        return str(value)

    def required(self, key: str) -> str:
        """A string that must be there. Raises `ConfigError`."""
        value = self.text(key)
        if not value:
            raise self.error(key, "is missing")
        return value

    def flag(self, key: str) -> bool:
        """A boolean, false when absent. Raises `ConfigError`."""
        value = self.content.get(key) or False
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of strings. Raises `ConfigError`."""
        value = self.content.get(key) or ()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self.error(key, "must be a list of strings")
        return tuple(str(item) for item in value)

    def section(self, key: str) -> Section:
        """A mapping inside; empty when absent. Raises `ConfigError`."""
        value = self.content.get(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.error(key, "must be a mapping")
        return Section(f"{self.name}.{key}", value, self.file)

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of mappings. Raises `ConfigError`."""
        value = self.content.get(key) or ()
        if not isinstance(value, Sequence) or not all(isinstance(item, Mapping) for item in value):
            raise self.error(key, "must be a list of mappings")
        return tuple(Section(f"{self.name}.{key}[{at}]", item, self.file) for at, item in enumerate(value))

    def path(self, key: str) -> Path | None:
        """An existing file, or `None` when the field is absent. Raises `ConfigError`."""
        name = self.text(key)
        if not name:
            return None
        path = self.file.parent / Path(name).expanduser()
        if not path.is_file():
            raise self.error(key, f"there is no file {path}")
        return path

    def data(self, key: str) -> bytes:
        """Base64 text, decoded; empty when absent. Raises `ConfigError`."""
        try:
            return base64.b64decode("".join(self.text(key).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(key, f"is not base64 ({error})") from error

    def pem(self, key: str) -> Pem:
        """`<key>-data`, else the file `<key>`; empty when both are absent. Raises `ConfigError`."""
        data = self.data(f"{key}-data")
        return Pem(data=data) if data else Pem(path=str(self.path(key) or ""))
