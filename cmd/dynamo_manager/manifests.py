"""Manifests: YAML files in, objects with a known address out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.objects.key import Key
from dynamo_manager import documents
from dynamo_manager.errors import UsageError


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a manifest file.

    Attributes:
        source: the file.
        content: the object, frozen.
    """

    source: str
    content: JsonMap

    @property
    def api_version(self) -> str:
        """As the document spells it."""
        return str(self.content["apiVersion"])

    @property
    def kind(self) -> str:
        """As the document spells it."""
        return str(self.content["kind"])

    def key(self, default_namespace: str) -> Key:
        """Namespace and name; `default_namespace` where the document names none."""
        metadata = self.content["metadata"]
        return Key(metadata.get("namespace") or default_namespace, metadata["name"])

    def __str__(self) -> str:
        return f"{self.source}: {self.kind} {self.content['metadata']['name']}"


def load(paths: Iterable[Path]) -> tuple[Manifest, ...]:
    """Every object of the files, in order; `List` objects are taken apart.

    Raises:
        UsageError: a file that cannot be read, is not YAML, is empty, or holds something that is no Kubernetes object.
    """
    return tuple(manifest for path in paths for manifest in _file(path))


def _file(path: Path) -> tuple[Manifest, ...]:
    found = documents.read(path)
    manifests = tuple(
        manifest
        for number, document in enumerate(found, start=1)
        if document is not None
        for manifest in _objects(str(path), f"{path}, document {number}" if len(found) > 1 else str(path), document)
    )
    if not manifests:
        raise UsageError(f"{path}: there is no object in it")
    return manifests


def _objects(source: str, where: str, document: Any) -> Iterator[Manifest]:
    if not isinstance(document, Mapping):
        raise UsageError(f"{where}: must be a Kubernetes object (apiVersion, kind, metadata), not {_name(document)}")
    for field in ("apiVersion", "kind"):
        _text(where, field, document.get(field))
    if document["kind"] == "List":
        items = document.get("items")
        if not isinstance(items, list):
            raise UsageError(f"{where}: items: must be a list")
        for index, item in enumerate(items):
            yield from _objects(source, f"{where}, items[{index}]", item)
        return
    metadata = document.get("metadata")
    if not isinstance(metadata, Mapping):
        raise UsageError(f"{where}: metadata: must be a mapping with a name")
    _text(where, "metadata.name", metadata.get("name"))
    if metadata.get("namespace") is not None:
        _text(where, "metadata.namespace", metadata["namespace"])
    yield Manifest(source, document)


def _text(where: str, field: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: {field}: must be a text, not {_name(value)}")


def _name(value: Any) -> str:
    """What a value is, in the words of YAML."""
    match value:
        case None:
            return "nothing"
        case "":
            return "an empty text"
        case bool() | int() | float():
            return str(value).lower()
        case str():
            return "a text"
        case _:
            return "a list" if isinstance(value, list) else "a mapping"
