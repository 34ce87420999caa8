"""What a run shows: plain lines, one for each thing that changed. `live` shows the same as a table on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Protocol, Self

from dynamo_ctrl.clock import Clock
from dynamo_manager.tree import Row

WIDTH: Final = 120
"""Columns of a plain line; what is longer is cut, and told whole where it matters (when a run fails)."""


class Display(AbstractContextManager["Display"], Protocol):
    """Where a run shows what it sees."""

    def show(self, rows: Sequence[Row]) -> None:
        """The tree as it is now."""

    def say(self, text: str) -> None:
        """A line that stays."""


class Lines:
    """Plain lines: an object is told when it changes, with the seconds since the start."""

    def __init__(self, clock: Clock, write: Callable[[str], object]) -> None:
        self._clock = clock
        self._write = write
        self._start = clock.monotonic()
        self._told: dict[tuple[str, str], Row] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def show(self, rows: Sequence[Row]) -> None:
        """Tells the rows that differ from what was told of them last, and those that are gone."""
        now = {(row.kind, row.name): row for row in rows}
        for key, row in now.items():
            if self._told.get(key) != row:
                self._tell("ready" if row.ready else "wait", row, row.text)
        for key, row in self._told.items():
            if key not in now:
                self._tell("gone", row, "")
        self._told = now

    def say(self, text: str) -> None:
        """One line."""
        self._write(text)

    def _tell(self, mark: str, row: Row, text: str) -> None:
        seconds = self._clock.monotonic() - self._start
        line = f"{seconds:6.1f}s  {mark:5}  {row.kind}/{row.name}  {text}".rstrip()
        self._write(line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}...")
