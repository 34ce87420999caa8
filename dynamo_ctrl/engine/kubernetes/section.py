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

    def text(self, key: str, *, what: str = "a text") -> str:
        """A text, empty when absent; `what` it must be is for the complaint. Raises `ConfigError`."""
        value = self.content.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(key, must_be(what, value))
        return value

    def required(self, key: str, what: str = "a text") -> str:
        """A text that must be there. Raises `ConfigError`."""
        value = self.text(key, what=what)
        if not value:
            raise self.error(key, "is missing")
        return value

    def flag(self, key: str) -> bool:
        """A boolean, false when absent. Raises `ConfigError`."""
        value = self.content.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, must_be("true or false", value))
        return bool(value)

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of texts. Raises `ConfigError`."""
        value = self._list(key, "a list of texts")
        for at, item in enumerate(value):
            if not isinstance(item, str):
                raise self.error(f"{key}[{at}]", must_be("a text", item))
        return tuple(value)

    def section(self, key: str) -> Section:
        """A mapping inside; empty when absent. Raises `ConfigError`."""
        value = self.content.get(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self.error(key, must_be("a mapping", value))
        return Section(f"{self.name}.{key}", value, self.file)

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of mappings. Raises `ConfigError`."""
        value = self._list(key, "a list of mappings")
        for at, item in enumerate(value):
            if not isinstance(item, Mapping):
                raise self.error(f"{key}[{at}]", must_be("a mapping", item))
        return tuple(Section(f"{self.name}.{key}[{at}]", item, self.file) for at, item in enumerate(value))

    def _list(self, key: str, what: str) -> Sequence[Any]:
        value = self.content.get(key)
        if value is not None and not isinstance(value, list):
            raise self.error(key, must_be(what, value))
        return value or ()

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


def must_be(what: str, value: object) -> str:
    """The rule that `value` breaks. The value itself is not quoted: it may be a secret."""
    match value:
        case Mapping():
            found = "a mapping"
        case list():
            found = "a list"
        case str():
            found = "a text"
        case bool() | int() | float():
            found = "a truth value" if isinstance(value, bool) else "a number"
        case _:
            found = f"a {type(value).__name__}"
    return f"must be {what}, not {found}"
