"""`python -m tests.benchmarks`: side by side with controller-runtime, kube-rs and kopf. `make bench` is this.

A whole run writes bench-results/<date>.json and brings docs/benchmarks.md up to date; a run of single rows only prints.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import machine, page, quick, report
from tests.benchmarks.data import find_data
from tests.benchmarks.plan import ROUNDS
from tests.benchmarks.process import ROOT
from tests.benchmarks.programs import Library, find_programs
from tests.benchmarks.results import compare
from tests.benchmarks.rows import LINES, ROWS
from tests.benchmarks.run import MINUTES, Run, libraries, needed

RESULTS = ROOT / report.FOLDER
PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 for a run that came to its end whatever the figures, 1 when ours could not be measured."""
    flags = argparse.ArgumentParser(prog="tests.benchmarks", description=__doc__)
    flags.add_argument("--rows", type=_rows, default=(), help=f"only these, separated by commas: {', '.join(ROWS)}")
    flags.add_argument("--quick", action="store_true", help="ours only, in process, small: to see that it runs")
    flags.add_argument("--build", action="store_true", help="only fill the cache folder: programs and data")
    flags.add_argument("--page", action="store_true", help="only bring the page up to date with the newest results")
    flags.add_argument(
        "--minutes", type=float, default=MINUTES, help="no measurement begins later (default %(default)s)"
    )
    flags.add_argument("--kubeconfig", type=Path, help="use the server that `python -m tests.benchmarks.server` runs")
    given = flags.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if given.quick:
            return quick.main(_say)
        if given.build:
            return build()
        if given.page:
            return renew_page()
        return bench(given.rows, given.minutes, given.kubeconfig)
    except KeyboardInterrupt:
        return 130


def bench(rows: tuple[str, ...], minutes: float = MINUTES, kubeconfig: Path | None = None) -> int:
    """Measure, and tell."""
    lines = [line for line in LINES if not rows or line.row in rows]
    experiments = needed(lines)
    programs = find_programs(libraries(experiments), _say)
    load, began = machine.load(), time.monotonic()
    run = Run(programs, _say, deadline=began + minutes * 60)
    run.carry_out(experiments, kubeconfig)
    compared = compare(lines, run.outcome.answers)
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine.machine(),
        "load": round(load, 2),
        "minutes": round((time.monotonic() - began) / 60, 1),
        "rounds": ROUNDS,
        "peers": machine.peers(programs),
        "rows": [each.row() for each in compared],
        "failures": run.outcome.failures,
    }
    report.show(result)
    if not rows:
        _say(f"bench: wrote {report.write(result, RESULTS).relative_to(ROOT)}")
        renew_page()
    return 1 if any(each.ours is None for each in compared) else 0


def build() -> int:
    """Build what is missing in the cache folder. Returns 1 when something cannot be built here."""
    programs = find_programs(Library, _say)
    if Library.CONTROLLER_RUNTIME in programs.commands:
        find_data(programs.commands[Library.CONTROLLER_RUNTIME], _say)
    return 1 if programs.missing else 0


def renew_page() -> int:
    """The page tells the newest results. Returns 1 where there are none."""
    result = report.newest(RESULTS)
    if result is None:
        _say(f"bench: there are no results in {RESULTS}")
        return 1
    page.write(PAGE, result)
    _say(f"bench: {PAGE.relative_to(ROOT)} tells the results of {result['date']}")
    return 0


def _rows(text: str) -> tuple[str, ...]:
    rows = tuple(name for name in text.split(",") if name)
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such row: {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    return rows


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
