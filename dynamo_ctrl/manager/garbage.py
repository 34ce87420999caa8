"""The garbage collector's settings while a manager runs.

Cached objects live long and have no cycles. Without help a full collection walks all of them again and again (1 s for 100,000
plain objects); after `gc.freeze()` it does not see them at all (PY 3.7). The settings belong to the process, so a manager changes
them only if its options say so, and gives them back when it stops.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_THRESHOLD = 50_000
"""Allocations between two collections of the young generation."""


@contextmanager
def relaxed(threshold: int = YOUNG_THRESHOLD) -> Iterator[None]:
    """Collect less often while the context is open, and never what is there already.

    A collection of all that a process has imported takes longer than a loop may stand still.
    """
    gc.freeze()
    before = gc.get_threshold()
    ours = (threshold, *before[1:])
    gc.set_threshold(*ours)
    try:
        yield
    finally:
        gc.unfreeze()
        if gc.get_threshold() == ours:  # else somebody else has changed it since, another manager for instance
            gc.set_threshold(*before)


def freeze() -> None:
    """Collect what came since the last freeze, then take everything that is alive out of the collector's sight."""
    gc.collect()
    gc.freeze()
