"""What is installed: programs, the data plane, and the definitions that they bring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from dynamo_ctrl.objects.errors import InvalidObject
from dynamo_ctrl.objects.frozen import EMPTY, JsonMap
from dynamo_ctrl.program.program import Configurable
from dynamo_ctrl.program.registry import DATA_PLANES, Loaded, guarded, load_programs
from dynamo_manager.errors import UsageError


def programs(names: Sequence[str] = (), document: JsonMap = EMPTY) -> tuple[Loaded, ...]:
    """The installed programs (or those named) under that configuration document.

    Raises:
        UsageError: a program does not accept the document, or none reads it.
        UnknownProgram, NotAProgram, DefinitionError: see `load_programs`.
    """
    loaded = load_programs(names or None)
    if not document:
        return loaded
    if not any(isinstance(one.program, Configurable) for one in loaded):
        raise UsageError(f"--config: none of these programs reads it: {', '.join(one.name for one in loaded)}")
    try:
        return tuple(_configured(one, document) for one in loaded)
    except InvalidObject as error:
        raise UsageError(f"--config: {error}") from error


def data_plane() -> tuple[Loaded, ...]:
    """The programs of the simulated data plane. Raises as `load_programs`."""
    return load_programs(group=DATA_PLANES)


def definitions(loaded: Iterable[Loaded]) -> tuple[JsonMap, ...]:
    """The CustomResourceDefinitions that the programs bring, each once, ordered by name. Raises `NotAProgram`."""
    found = {document["metadata"]["name"]: document for one in loaded for document in one.definitions()}
    return tuple(found[name] for name in sorted(found))


def _configured(loaded: Loaded, document: JsonMap) -> Loaded:
    program = loaded.program
    if not isinstance(program, Configurable):
        return loaded
    configured = partial(program.configured, document)
    return replace(
        loaded,
        program=guarded(str(loaded), "`configured()` that returns a program", configured, passing=(InvalidObject,)),
    )
