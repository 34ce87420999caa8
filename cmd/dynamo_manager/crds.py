"""`dynamo-manager crds`: the definitions of the installed programs, on standard output or as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from dynamo_ctrl.cache.state import install_definition
from dynamo_ctrl.objects.frozen import thaw
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.schema.crd import filename, to_yaml
from dynamo_ctrl.program.registry import Loaded
from dynamo_manager import install
from dynamo_manager.errors import UsageError

INSTALL: Final = "dynamo-manager crds | kubectl apply --server-side -f -"
"""The command that makes a cluster serve the programs' kinds."""


def write(programs: tuple[Loaded, ...], output: Path | None) -> None:
    """Write the definitions as YAML, one file for each into the folder `output`.

    Raises:
        UsageError: the folder cannot be written.
    """
    documents = [thaw(document) for document in install.definitions(programs)]
    if output is None:
        sys.stdout.write(to_yaml(documents))
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        for document in documents:
            (output / filename(document)).write_text(to_yaml([document]), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output: cannot write {error.filename or output}: {error.strerror}") from error


class Remedy:
    """Says what to do about a kind that a cluster does not serve, with the command where the programs bring the kind."""

    def __init__(self, programs: tuple[Loaded, ...]) -> None:
        self._names = {document["metadata"]["name"] for document in install.definitions(programs)}

    def __call__(self, kind: Kind[Any]) -> str:
        """The remedy for `kind`."""
        if f"{kind.plural}.{kind.group}" in self._names:
            return f"install it: {INSTALL}"
        return install_definition(kind)
