"""The live table of a run on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dynamo_manager.display import WIDTH
from dynamo_manager.tree import Row


class LiveTable:
    """Redraws the owner tree in place; what is said, and what is logged to the same terminal, stays above it."""

    def __init__(self, console: Console) -> None:
        self._width = min(console.width, WIDTH)
        self._live = Live(console=console, auto_refresh=False, redirect_stderr=sys.stderr.isatty())

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, rows: Sequence[Row]) -> None:
        """Draw the tree as it is now."""
        table = Table(box=None, pad_edge=False, width=self._width)
        table.add_column("OBJECT", no_wrap=True, overflow="ellipsis", ratio=3)
        table.add_column("READY", no_wrap=True, width=5)
        table.add_column("STATE", no_wrap=True, overflow="ellipsis", ratio=2)
        for row in rows:
            name = Text("  " * row.depth).append(f"{row.kind} ", style="dim").append(row.name)
            table.add_row(name, Text("yes", "green") if row.ready else Text("no", "yellow"), Text(row.text))
        self._live.update(table, refresh=True)

    def say(self, text: str) -> None:
        """A line above the table, or below it once it is closed."""
        self._live.console.print(text, highlight=False, markup=False, soft_wrap=True)
