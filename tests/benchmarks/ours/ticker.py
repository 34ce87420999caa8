"""The control of a stall: the same ticker in an idle process, until a file appears."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.benchmarks.ours.measure import Ticker, emit, run, until


async def main(end: Path) -> None:
    ticker = Ticker()
    await until(end.exists, every=0.05)
    emit(cmd="ticker", ticker=ticker.finish())


if __name__ == "__main__":
    run(main(Path(sys.argv[1])))
