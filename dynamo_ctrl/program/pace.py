"""When a key comes back after an attempt that succeeded. Pure state, one small entry for each key that is in a hurry.

Two things are bounded here: a program that reports progress (`requeue_after` zero) is run again at once `PROGRESS_LIMIT` times
in a row; a write that the server answered without a change, after which no event will come, brings the key back
`UNMOVED_LIMIT` times in a row, ever later.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from dynamo_ctrl.controller.answer import DONE, Answer
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.program.errors import ProgramFault

PROGRESS_LIMIT: Final = 10
UNMOVED_LIMIT: Final = 5
UNMOVED_DELAY: Final = 1.0
"""Seconds until the first run after a write without a change; doubled each time."""


@dataclass(frozen=True, slots=True)
class _Runs:
    progress: int = 0
    unmoved: int = 0


class Pace:
    """Counts runs in a row for each key."""

    def __init__(self) -> None:
        self._runs: dict[Key, _Runs] = {}

    def forget(self, key: Key) -> None:
        """The key is gone, or its attempt failed: the row is broken."""
        self._runs.pop(key, None)

    def after(self, key: Key, requeue_after: timedelta | None, *, unmoved: bool) -> Answer:
        """The answer for an attempt that succeeded, with what it asked for and whether a write changed nothing."""
        before = self._runs.get(key, _Runs())
        progress = requeue_after is not None and requeue_after <= timedelta(0)
        runs = replace(
            before, progress=before.progress + 1 if progress else 0, unmoved=before.unmoved + 1 if unmoved else 0
        )
        self._runs[key] = runs
        if runs.progress > PROGRESS_LIMIT:
            return Answer(
                error=ProgramFault(f"{runs.progress} attempts in a row reported progress and asked for another")
            )
        delay = None if requeue_after is None else max(requeue_after.total_seconds(), 0.0)
        if 0 < runs.unmoved <= UNMOVED_LIMIT:
            again = UNMOVED_DELAY * 2 ** (runs.unmoved - 1)
            delay = again if delay is None else min(delay, again)
        if not progress and not unmoved:
            self.forget(key)
        return DONE if delay is None else Answer(requeue_after=delay)
