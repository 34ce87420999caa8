"""What a run came to: a document for programs, and a table on the terminal. `page.py` makes the page for people.

The document is JSON, `{"date", "machine", "load", "minutes", "rounds", "peers", "rows", "failures"}`; `rows` are those of
`Compared.row`. Everything that is shown is made of it alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

Row = Mapping[str, Any]
Report = Mapping[str, Any]

COLUMNS: Final = ("row", "figure", "peer", "ours", "theirs", "ratio", "goal", "")
MARKS: Final = {True: "met", False: "missed", None: ""}
FOLDER: Final = "bench-results"


def summary(report: Report) -> str:
    """One line."""
    judged = [row["met"] for row in report["rows"] if row["met"] is not None]
    unjudged = sum(1 for row in report["rows"] if row["goal"] is not None and row["met"] is None)
    text = f"{sum(judged)} of {len(judged)} goals met"
    return f"{text}, {unjudged} without a figure" if unjudged else text


def cells(row: Row) -> tuple[str, ...]:
    """One line of the table, as text."""
    figure = f"{row['figure']}, {row['unit']}" + (" *" if row["server_bound"] else "")
    return (
        row["id"], figure, _peer(row), _spread(row["ours"], row["ours_range"]), _spread(row["theirs"], row["theirs_range"]),
        "" if row["ratio"] is None else f"{row['ratio']:.3g}", row["goal"] or "", MARKS[row["met"]],
    )  # fmt: skip


def _peer(row: Row) -> str:
    peer, setting = row["peer"] or "", row["setting"] or ""
    named = peer.endswith("best setting") and ", " in setting
    return f"{peer} ({setting.partition(', ')[2]})" if named else peer


def _spread(median: float | None, span: tuple[float, float] | None) -> str:
    """Median, with minimum and maximum around it."""
    return "-" if median is None or span is None else f"{_short(median)} ({_short(span[0])}..{_short(span[1])})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def show(report: Report) -> None:
    """Print the table: in colours on a terminal, tab-separated elsewhere."""
    if sys.stdout.isatty():
        _show_rich(report)
    else:
        for row in (COLUMNS, *map(cells, report["rows"])):
            print("\t".join(row))
    for failure in report["failures"]:
        print(f"failed: {failure}")
    print(f"{summary(report)}, {report['minutes']:.0f} minutes, load {report['load']:.1f} at the start")


def _show_rich(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*COLUMNS, title=f"{report['date']}, {report['machine']}", caption="* the server's time is in it")
    last = None
    for row in report["rows"]:
        if last is not None and row["id"] != last:
            table.add_section()
        last = row["id"]
        table.add_row(*cells(row), style="bold red" if row["met"] is False else "")
    Console().print(table)


def write(report: Report, folder: Path) -> Path:
    """The document, as `<date>.json` in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report['date']}.json"
    partial = path.with_suffix(".json.tmp")
    partial.write_text(json.dumps(report, indent=1) + "\n")
    partial.replace(path)
    return path


def newest(folder: Path) -> Report | None:
    """The latest document of that folder."""
    paths = sorted(folder.glob("*.json"))
    return json.loads(paths[-1].read_text()) if paths else None
