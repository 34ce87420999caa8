"""The release that created a graph, and what depends on it: an upgrade leaves the Pods of existing graphs alone (P 9, 30)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dynamo_graph.api.names import Annotation

Release = tuple[int, int, int]

_SEMVER: Final = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")

EXECUTOR_MP: Final[Release] = (1, 0, 0)
"""From here vLLM spans nodes with its own processes instead of Ray."""

RAY_WAIT: Final[Release] = (1, 6, 0)
"""From here Ray workers wait for their leader."""


def origin_at_least(annotations: Mapping[str, str], release: Release, *, unknown: bool) -> bool:
    """Whether the graph comes from that release or a later one; a pre-release comes before its release.

    Args:
        annotations: of the Pod template, after inheritance.
        release: the first one that counts.
        unknown: the answer where nobody says where the graph comes from, or nothing that can be read.
    """
    found = _SEMVER.fullmatch(annotations.get(Annotation.ORIGIN_VERSION, ""))
    if found is None:
        return unknown
    numbers = tuple(int(part or 0) for part in found.group(1, 2, 3))
    return numbers > release or (numbers == release and not found[4])
