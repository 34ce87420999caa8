"""What is installed: programs, the data plane, and the definitions that they bring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamo_ctrl.objects.frozen import JsonMap
from dynamo_ctrl.program.program import Configurable, Defines
from dynamo_ctrl.program.registry import Loaded, load_programs

DATA_PLANE_GROUP = "dynamo_ctrl.data_planes"
"""Entry points of programs that play what a real cluster runs by itself; only the memory engine needs them."""


def programs(names: Sequence[str], document: JsonMap) -> tuple[Loaded, ...]:
    """The installed programs (or those named) under that configuration document.

    Raises:
        UnknownProgram, NotAProgram, DefinitionError: see `load_programs`.
        InvalidObject: a program does not accept the document.
    """
    return tuple(
        Loaded(
            program=loaded.program.configured(document) if _takes(loaded, document) else loaded.program,
            entry=loaded.entry,
            distribution=loaded.distribution,
        )
        for loaded in load_programs(names or None)
    )


def data_plane() -> tuple[Loaded, ...]:
    """The programs of the simulated data plane. Raises as `load_programs`."""
    return load_programs(group=DATA_PLANE_GROUP)


def definitions(loaded: Iterable[Loaded]) -> tuple[JsonMap, ...]:
    """The CustomResourceDefinitions that the programs bring, each once, ordered by name."""
    found = {
        document["metadata"]["name"]: document
        for one in loaded
        if isinstance(one.program, Defines)
        for document in one.program.definitions()
    }
    return tuple(found[name] for name in sorted(found))


def _takes(loaded: Loaded, document: JsonMap) -> bool:
    return bool(document) and isinstance(loaded.program, Configurable)
