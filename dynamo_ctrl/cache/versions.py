"""Resource versions: which of two is older.

Kubernetes promises that the versions of one resource are decimal numbers without leading zeros that can be compared
(KEP-5504). The comparison needs no arithmetic: the shorter text is the smaller number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Older: TypeAlias = Callable[[str, str], bool]
"""Whether the first version is strictly older than the second."""


def older(first: str, second: str) -> bool:
    """Whether `first` is strictly older than `second`; the empty version is older than any other."""
    return len(first) < len(second) or (len(first) == len(second) and first < second)
