"""Plain lines, and the live table."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress

import pytest
from rich.console import Console

from dynamo_ctrl.clock import ManualClock
from dynamo_manager.display import WIDTH, Lines
from dynamo_manager.live import LiveTable
from dynamo_manager.tree import Row, blockers

GRAPH = Row(0, "Graph", "g", False, "one of two")
POD = Row(1, "Pod", "g-1", True, "Running, ready")


class TestLines:
    def shown(self) -> tuple[Lines, list[str], ManualClock]:
        told: list[str] = []
        clock = ManualClock()
        return Lines(clock, told.append), told, clock

    def test_a_row_is_told_when_it_changes_and_when_it_is_gone(self) -> None:
        lines, told, clock = self.shown()
        with lines:
            lines.show([GRAPH, POD])
            clock.advance(1.25)
            lines.show([GRAPH, POD])
            lines.show([Row(0, "Graph", "g", True, "all of them")])
        assert told == [
            "   0.0s  wait   Graph/g  one of two",
            "   0.0s  ready  Pod/g-1  Running, ready",
            "   1.2s  ready  Graph/g  all of them",
            "   1.2s  gone   Pod/g-1",
        ]

    def test_readiness_alone_is_a_change(self) -> None:
        lines, told, _ = self.shown()
        lines.show([Row(0, "Pod", "p", False, "x")])
        lines.show([Row(0, "Pod", "p", True, "x")])
        assert [line.split()[1] for line in told] == ["wait", "ready"]

    def test_a_long_line_is_cut(self) -> None:
        lines, told, _ = self.shown()
        lines.show([Row(0, "Graph", "g", False, "because " * 50)])
        lines.show([Row(0, "Graph", "g", False, "x" * (WIDTH - len("   0.0s  wait   Graph/g  ")))])
        assert [len(line) for line in told] == [WIDTH, WIDTH]
        assert told[0].endswith("...")
        assert told[1].endswith("xx")

    def test_what_is_said_is_said_whole(self) -> None:
        lines, told, _ = self.shown()
        lines.say("x" * 500)
        assert told == ["x" * 500]


@pytest.fixture
def terminal() -> Callable[[int], Console]:
    """A terminal of that width that keeps what is written to it."""
    return lambda width: Console(
        file=io.StringIO(), force_terminal=True, width=width, height=30, color_system=None, legacy_windows=False
    )


def text(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class TestLiveTable:
    def test_rows_stand_below_each_other_with_their_depth(self, terminal: Callable[[int], Console]) -> None:
        console = terminal(80)
        with LiveTable(console) as table:
            table.show([GRAPH, POD])
        lines = [line.rstrip() for line in text(console).splitlines()]
        assert any("OBJECT" in line and "READY" in line and "STATE" in line for line in lines)
        assert any(line.split() == ["Graph", "g", "no", "one", "of", "two"] for line in lines)
        assert any(line.startswith("  Pod g-1") and "yes" in line for line in lines)

    def test_said_lines_stay_above_and_what_comes_after_is_below(self, terminal: Callable[[int], Console]) -> None:
        console = terminal(80)
        table = LiveTable(console)
        with table:
            table.show([GRAPH])
            table.say("applying [bold]graph.yaml")
            table.show([POD])
        table.say("summary")
        shown = text(console)
        assert shown.index("applying [bold]graph.yaml") < shown.rindex("Pod g-1") < shown.index("summary")

    @pytest.mark.parametrize("width", [40, 64, 300])
    def test_a_narrow_terminal_cuts_names_and_keeps_the_columns(
        self, terminal: Callable[[int], Console], width: int
    ) -> None:
        console = terminal(width)
        with LiveTable(console) as table:
            table.show([Row(2, "Deployment", "a-very-long-name-of-a-deployment-that-goes-on", True, "state " * 30)])
        row = next(line for line in text(console).splitlines() if "Deployment" in line)
        assert "yes" in row
        assert len(row.rstrip()) <= min(width, WIDTH)

    def test_markup_in_a_name_or_a_text_is_text(self, terminal: Callable[[int], Console]) -> None:
        console = terminal(80)
        with LiveTable(console) as table:
            table.show([Row(0, "Pod", "p", False, "[red]not a colour[/nope]")])
        assert "[red]not a colour[/nope]" in text(console)

    def test_the_cursor_comes_back_after_an_error(self, terminal: Callable[[int], Console]) -> None:
        console = terminal(80)
        with suppress(ZeroDivisionError), LiveTable(console) as table:
            table.show([POD])
            raise ZeroDivisionError
        assert text(console).rindex("\x1b[?25h") > text(console).rindex("\x1b[?25l")


def test_blockers_are_what_has_nothing_unready_below_it() -> None:
    rows = [
        Row(0, "Graph", "g", False, "one of two"),
        Row(1, "Component", "g-a", False, "not ready"),
        Row(2, "Deployment", "g-a", False, "0/1 ready"),
        Row(3, "Pod", "g-a-1", False, "Pending: no room"),
        Row(3, "Pod", "g-a-2", True, "Running, ready"),
        Row(1, "Component", "g-b", False, "its account is missing"),
        Row(2, "Service", "g-b", True, "there"),
        Row(1, "Component", "g-c", True, "ready"),
        Row(0, "Graph", "h", False, "no status yet"),
    ]
    assert [row.name for row in blockers(rows)] == ["g-a-1", "g-b"]
    assert list(blockers([])) == []
