"""Writes that the server answered without a change: no event will follow, so the key has to come back by itself, within a bound.

Pure state: one small number for each key that is in such a row.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dynamo_ctrl.objects.key import Key

UNMOVED_LIMIT: Final = 5
"""How many runs in a row such a write brings the key back."""

UNMOVED_DELAY: Final = timedelta(seconds=1)
"""Until the first of them; doubled each time."""


class Unmoved:
    """Counts, for each key, the runs in a row that ended with a write without a change.

    Attributes:
        runs: the counts of the keys that are in such a row. To look at.
    """

    def __init__(self) -> None:
        self.runs: dict[Key, int] = {}

    def forget(self, key: Key) -> None:
        """The key is gone, or its attempt failed: the row is broken."""
        self.runs.pop(key, None)

    def after(self, key: Key, *, unmoved: bool) -> timedelta | None:
        """When to look at the key again after an attempt that succeeded; `None` if events (or nobody) will bring it back."""
        if not unmoved:
            self.forget(key)
            return None
        runs = self.runs[key] = self.runs.get(key, 0) + 1
        return UNMOVED_DELAY * 2 ** (runs - 1) if runs <= UNMOVED_LIMIT else None
