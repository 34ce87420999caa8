"""`python -m tests.benchmarks`: side by side with controller-runtime, kube-rs and kopf. `make bench` is this.

A whole run writes docs/benchmarks.md and bench-results/<date>.json; a run of single rows only prints.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.benchmarks import machine, quick, report
from tests.benchmarks.plan import ROUNDS
from tests.benchmarks.process import ROOT
from tests.benchmarks.programs import find_programs
from tests.benchmarks.results import compare
from tests.benchmarks.rows import LINES, ROWS
from tests.benchmarks.run import BUDGET, Run, libraries, needed


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0 for a run that came to its end whatever the figures, 1 when ours could not be measured."""
    flags = argparse.ArgumentParser(prog="tests.benchmarks", description=__doc__)
    flags.add_argument("--rows", type=_rows, default=(), help=f"only these, separated by commas: {', '.join(ROWS)}")
    flags.add_argument("--quick", action="store_true", help="ours only, in process, small: to see that it runs")
    flags.add_argument("--kubeconfig", type=Path, help="use the server that `python -m tests.benchmarks.server` runs")
    given = flags.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return quick.main(_say) if given.quick else bench(given.rows, given.kubeconfig)
    except KeyboardInterrupt:
        return 130


def bench(rows: tuple[str, ...], kubeconfig: Path | None = None) -> int:
    """Measure, and tell."""
    lines = [line for line in LINES if not rows or line.row in rows]
    experiments = needed(lines)
    programs = find_programs(libraries(experiments), _say)
    load, began = machine.load(), time.monotonic()
    run = Run(programs, _say, deadline=began + BUDGET)
    run.carry_out(experiments, kubeconfig)
    result = report.Report(
        date=datetime.now(UTC).date().isoformat(),
        machine=machine.machine(),
        load=load,
        minutes=(time.monotonic() - began) / 60,
        peers=machine.peers(programs),
        compared=compare(lines, run.outcome.answers),
        failures=run.outcome.failures,
    )
    report.show(result)
    if not rows:
        _say(f"bench: wrote {report.write_json(result, ROOT / 'bench-results').relative_to(ROOT)}")
        report.write_page(result, ROOT / "docs" / "benchmarks.md", ROUNDS)
    return 1 if any(each.ours is None for each in result.compared) else 0


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
