"""The version of the runtime in an image, and what depends on it (P 3.4)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dynamo_graph.render.errors import RenderError

_NUMBER: Final = r"(0|[1-9]\d*)"
_STRICT: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_TAG: Final = re.compile(rf"[vV]?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:[-+].*)?")


class RuntimeVersion(NamedTuple):
    """A release; suffixes such as `-rc1` do not count."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


HEALTH_CHECK: Final = RuntimeVersion(1, 5, 0)
"""From here a worker checks its own health, and three failed liveness probes end it instead of one."""

HASHED: Final = RuntimeVersion(1, 5, 0)
"""From here the version is part of the worker hash. No gate below may change a worker's Pod."""

STRICT_PREFIX: Final = RuntimeVersion(1, 6, 0)
"""From here a frontend takes its namespace prefix literally, and has a start-up probe."""


def from_image(image: str) -> RuntimeVersion | None:
    """The version in the tag of an image, `None` when it does not say one."""
    name = image.partition("@")[0].rpartition("/")[2]
    _, colon, tag = name.rpartition(":")
    found = _TAG.fullmatch(tag) if colon else None
    return RuntimeVersion(*map(int, found.groups())) if found else None


def resolve(image: str, override: str | None = None) -> RuntimeVersion | None:
    """The version of a component: its override, else the tag of its image; `None` when unknown.

    Raises:
        RenderError: an override that is not `MAJOR.MINOR.PATCH`.
    """
    if not override:
        return from_image(image)
    found = _STRICT.fullmatch(override)
    if found is None:
        rule = 'resolve runtime version override: must be a semantic version such as "1.1.0"'
        raise RenderError("runtimeVersionOverride", rule)
    return RuntimeVersion(*map(int, found.groups()))


def at_least(version: RuntimeVersion | None, gate: RuntimeVersion) -> bool:
    """Whether a gate is open. An unknown version opens none."""
    return version is not None and version >= gate
