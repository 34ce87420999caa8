"""docs/benchmarks.md: its prose is written by people, the part between two marks is made from the newest results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.benchmarks.report import COLUMNS, Report, cells, summary

BEGIN: Final = "<!-- results: written by `python -m tests.benchmarks --page` -->"
END: Final = "<!-- end of the results -->"


def results(report: Report) -> str:
    """The part of the page that a run decides."""
    peers = "; ".join(f"{name}: {version}" for name, version in report["peers"].items())
    facts = [
        ("date", report["date"]),
        ("machine", report["machine"]),
        ("peers", peers),
        ("load of the machine at the start", f"{report['load']:.1f}"),
        ("outcome", f"{summary(report)}, in {report['minutes']:.0f} minutes"),
    ]
    lines = ["| | |", "| --- | --- |", *(f"| {name} | {_plain(fact)} |" for name, fact in facts), "", *_table(report)]
    if report["failures"]:
        lines += ["", "What went wrong in that run:", "", *(f"- {_plain(failure)}" for failure in report["failures"])]
    return "\n".join(lines)


def written(page: str, report: Report) -> str:
    """The page with the results of that run. Raises `ValueError` for a page without the two marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for results, between {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n\n{results(report)}\n\n{END}{tail}"


def write(path: Path, report: Report) -> None:
    """Bring the page up to date."""
    path.write_text(written(path.read_text(), report))


def _table(report: Report) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|" + " --- |" * len(COLUMNS)
    for row in report["rows"]:
        texts = [_plain(cell) for cell in cells(row)]
        if row["met"] is False:
            texts[-1] = f"**{texts[-1]}**"
        yield f"| {' | '.join(texts)} |"


def _plain(text: str) -> str:
    return text.replace("*", "\\*").replace("|", "\\|").replace("\n", " ")
