"""The three faces of a run: a table on the terminal, a page for people, a file for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.results import Compared, Spread

COLUMNS: Final = ("row", "figure", "peer", "ours", "theirs", "ratio", "goal", "")
MARKS: Final = {True: "met", False: "MISSED", None: ""}


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that is told about a run.

    Attributes:
        date: of the run, as `2026-11-30`.
        machine: in one line.
        load: of the machine when the run began.
        minutes: that it took.
        peers: their versions, or why one is missing.
        compared: the lines of the table.
        failures: what went wrong.
    """

    date: str
    machine: str
    load: float
    minutes: float
    peers: Mapping[str, str]
    compared: Sequence[Compared]
    failures: Sequence[str]

    @property
    def missed(self) -> list[Compared]:
        """The lines whose goal is not met."""
        return [each for each in self.compared if each.met is False]

    def json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "date": self.date,
            "machine": self.machine,
            "load": round(self.load, 2),
            "minutes": round(self.minutes, 1),
            "peers": dict(self.peers),
            "rows": [each.row() for each in self.compared],
            "failures": list(self.failures),
        }

    def summary(self) -> str:
        """One line."""
        judged = [each for each in self.compared if each.met is not None]
        open_ = sum(1 for each in self.compared if each.goal is not None and each.met is None)
        text = f"{len(judged) - len(self.missed)} of {len(judged)} goals met"
        return f"{text}, {open_} without a figure" if open_ else text


def cells(compared: Compared) -> tuple[str, ...]:
    """One line of the table, as text."""
    line, ratio = compared.line, compared.ratio
    figure = f"{line.figure}, {line.unit}" + (" *" if line.server_bound else "")
    return (
        line.row, figure, _peer(compared), _spread(compared.ours), _spread(compared.theirs),
        "" if ratio is None else f"{ratio:.3g}", compared.goal or "", MARKS[compared.met],
    )  # fmt: skip


def _peer(compared: Compared) -> str:
    if compared.against is None:
        return ""
    peer, setting = compared.against.peer, compared.setting
    named = peer.endswith("best setting") and setting is not None and ", " in setting
    return f"{peer} ({setting.partition(', ')[2]})" if named and setting is not None else peer


def _spread(spread: Spread | None) -> str:
    """Median, with minimum and maximum around it."""
    return "-" if spread is None else f"{_short(spread.median)} ({_short(spread.least)}..{_short(spread.most)})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def show(report: Report) -> None:
    """Print the table: in colours on a terminal, tab-separated elsewhere."""
    if sys.stdout.isatty():
        _show_rich(report)
    else:
        for row in (COLUMNS, *map(cells, report.compared)):
            print("\t".join(row))
        _print_rest(report)


def _show_rich(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(*COLUMNS, title=f"{report.date}, {report.machine}", caption="* the server's time is in it")
    last = None
    for compared in report.compared:
        row = cells(compared)
        if last is not None and row[0] != last:
            table.add_section()
        last = row[0]
        table.add_row(*row, style="bold red" if compared.met is False else "")
    console.print(table)
    _print_rest(report)


def _print_rest(report: Report) -> None:
    for failure in report.failures:
        print(f"failed: {failure}")
    print(f"{report.summary()}, {report.minutes:.0f} minutes, load {report.load:.1f} at the start")


def write_json(report: Report, folder: Path) -> Path:
    """`<date>.json` in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{report.date}.json"
    partial = folder / f"{report.date}.json.tmp"
    partial.write_text(json.dumps(report.json(), indent=1) + "\n")
    partial.replace(path)
    return path


PAGE: Final = """\
# Benchmarks

`make bench` wrote this page on {date}. It measures `dynamo_ctrl` beside its peers in one run on one machine: the same objects
on the same etcd and kube-apiserver (no controllers), each measurement a fresh process, the libraries in turn, {rounds} rounds.
What each figure is exactly: [PROTOCOL.md](../tests/benchmarks/PROTOCOL.md).

| | |
| --- | --- |
| machine | {machine} |
| load at the start | {load:.1f} |
| peers | {peers} |
| outcome | {summary} |

Figures are medians, with minimum and maximum in brackets. The ratio is ours / theirs, of the medians. "Best setting" is the
setting of the peer that was best in this very figure. Lines marked \\* contain the server's time: client and server share the
cores, so the client's CPU time is the better comparison.

{table}
"""


def write_page(report: Report, path: Path, rounds: int) -> None:
    """The page for people."""
    page = PAGE.format(
        date=report.date, machine=report.machine, load=report.load, rounds=rounds, summary=report.summary(),
        peers=", ".join(f"{name} {version}" for name, version in report.peers.items()),
        table="\n".join(_markdown(report.compared)),
    )  # fmt: skip
    if report.failures:
        page += "\n## What went wrong\n\n" + "".join(f"- {failure}\n" for failure in report.failures)
    path.write_text(page)


def _markdown(compared: Iterable[Compared]) -> Iterable[str]:
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + " --- |" * len(COLUMNS)
    for each in compared:
        row = [cell.replace("*", "\\*").replace("|", "\\|") for cell in cells(each)]
        if each.met is False:
            row[-1] = "**missed**"
        yield "| " + " | ".join(row) + " |"
