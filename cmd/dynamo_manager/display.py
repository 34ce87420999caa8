"""What a run shows: plain lines, one for each thing that changed. `live` shows the same as a table on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from dynamo_manager.tree import Row


class Display(AbstractContextManager["Display"], Protocol):
    """Where a run shows what it sees."""

    def show(self, rows: Sequence[Row]) -> None:
        """The tree as it is now."""

    def say(self, text: str) -> None:
        """A line that stays."""


class Lines:
    """Plain lines: an object is told when its line changes."""

    def __init__(self, write: Callable[[str], None] = print) -> None:
        self._write = write
        self._told: dict[tuple[str, str], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def show(self, rows: Sequence[Row]) -> None:
        """Tells the rows that differ from what was told of them last, and those that are gone."""
        now = {(row.kind, row.name): line(row) for row in rows}
        for key, text in now.items():
            if self._told.get(key) != text:
                self._write(text)
        for kind, name in self._told.keys() - now.keys():
            self._write(f"  - {kind} {name} is gone")
        self._told = now

    def say(self, text: str) -> None:
        """One line."""
        self._write(text)


def line(row: Row) -> str:
    """A row as text."""
    mark = "ready" if row.ready else "....."
    return f"{'  ' * row.depth}{mark} {row.kind} {row.name}: {row.text}"
