"""A pytest plugin: a worked case that is listed as `now` may not be skipped in a run that should run everything."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

_ID = re.compile(r"T-[A-Z0-9]+-\d+")


class SkippedCases:
    """Remembers which ids ran and which were only skipped."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = set(_ID.findall(report.nodeid))
        if report.skipped:
            self.skipped |= ids
        elif report.when == "call":
            self.ran |= ids

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        lines = (Path(__file__).parent / "spec/ids.txt").read_text().splitlines()
        now = {line.split()[0] for line in lines if line.endswith(" now")}
        lost = sorted((self.skipped - self.ran) & now)
        if lost and os.environ.get("CI"):
            print(f"\nworked cases that were only skipped: {' '.join(lost)}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkippedCases(), "skipped-spec-cases")
