"""`Sweep`: one test over many numbers: the seeds of a simulation, the steps of a run, the events of a stream.

    def test_a_crash_at_any_step(sweep: Sweep) -> None:
        sweep("steps", range(1, steps() + 1), crash_at)

Every number is tried, also after a failure. How many there were, and how long it took, stands in the report of the run; a number
that fails is told with the one command that tries it alone (`--only N`). `sweep.seeds(12)` are the seeds to try: 12 of them, or
as many as `--seeds N` (or `DYNAMO_CTRL_SEEDS`) asks for. `--every N` tries each Nth number of every sweep: where a run is only to
touch everything, as under coverage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

TOLD = 3
"""Failures whose text is told in full."""


class Sweep:
    """See the module.

    Args:
        test: its id, as the command line takes it.
        only: the one number to try; `None` for all.
        seeds: how many seeds are asked for; `None` for what the test thinks right.
        every: which numbers are tried: 1 for all, N for the first one and each Nth after it.
        report: takes a line for the report of the run.
    """

    def __init__(
        self, test: str, *, only: int | None, seeds: int | None, every: int, report: Callable[[str], None]
    ) -> None:
        self._test = test
        self._only = only
        self._seeds = seeds
        self._every = every
        self._report = report

    def seeds(self, number: int) -> range:
        """The seeds to try: from 1, `number` of them unless the command line says otherwise."""
        return range(1, (number if self._seeds is None else self._seeds) + 1)

    def __call__(self, what: str, numbers: Iterable[int], run: Callable[[int], object]) -> None:
        """Call `run` with every number. Raises `AssertionError` that lists those that failed."""
        wanted = tuple(numbers)[:: self._every] if self._only is None else (self._only,)
        started = time.monotonic()
        failures: list[tuple[int, Exception]] = []
        for number in wanted:
            try:
                run(number)
            except Exception as error:  # noqa: BLE001  (whatever goes wrong with one number is told with it)
                failures.append((number, error))
        seconds = time.monotonic() - started
        self._report(
            f"{self._test}: {len(wanted)} {what} in {seconds:.1f} s" + (f", {len(failures)} failed" if failures else "")
        )
        if failures:
            raise AssertionError(self._told(what, failures, len(wanted)))

    def _told(self, what: str, failures: list[tuple[int, Exception]], number: int) -> str:
        lines = [f"{len(failures)} of {number} {what} failed: {', '.join(str(n) for n, _ in failures[:50])}"]
        for failed, error in failures[:TOLD]:
            self._report(f"  to try it alone: python -m pytest '{self._test}' --only {failed}")
            lines.append(f"{what} {failed}: {type(error).__name__}: {error}")
        return "\n".join(lines)
