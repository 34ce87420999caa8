"""Manifests: YAML files in, objects with a known address out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dynamo_ctrl.objects.frozen import JsonMap, freeze
from dynamo_ctrl.objects.key import Key
from dynamo_manager.errors import UsageError


@dataclass(frozen=True, slots=True)
class Manifest:
    """One document of a manifest file."""

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
        return f"{self.source}: {self.kind} {self.content['metadata'].get('name')}"


def load(paths: Iterable[Path]) -> tuple[Manifest, ...]:
    """Every document of the files, in order; `List` objects are taken apart.

    Raises:
        UsageError: a file that cannot be read, is not YAML, or holds something that is no Kubernetes object.
    """
    return tuple(manifest for path in paths for manifest in _documents(path))


def _documents(path: Path) -> Iterator[Manifest]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    for number, document in enumerate(documents):
        if document is not None:
            yield from _objects(f"{path}[{number}]" if len(documents) > 1 else str(path), document)


def _objects(source: str, document: Any) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise UsageError(f"{source}: expected an object, found {type(document).__name__}")
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            raise UsageError(f"{source}: {field}: must be a text")
    if document["kind"] == "List":
        for index, item in enumerate(document.get("items") or ()):
            yield from _objects(f"{source}.items[{index}]", item)
        return
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise UsageError(f"{source}: metadata.name: must be a text")
    yield Manifest(source, freeze(document))


class _Loader(yaml.SafeLoader):
    """Safe, and without dates: Kubernetes reads YAML as JSON, which has none."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
