"""What a run does where there can be no cluster: skip with one loud line, or fail in CI mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).parents[2]


class Run(Protocol):
    def __call__(self, **environ: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs two tests that want the cluster, on a machine that has neither Go nor a package index nor a cache."""
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text("#!/bin/sh\nexit 1\n")
    go.chmod(0o755)
    tests = tmp_path / "test_two.py"
    tests.write_text("def test_one(cluster): pass\ndef test_two(namespace): pass\n")

    def run_(**environ: str) -> subprocess.CompletedProcess[str]:
        inherited = {key: value for key, value in os.environ.items() if key not in ("CI", "DYNAMO_CTRL_CI")}
        place = {"PATH": f"{go.parent}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1"}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
        return subprocess.run(
            [*command, "--rootdir", str(ROOT), "--confcutdir", str(ROOT), "-p", "conftest", str(tests)],
            cwd=ROOT, env={**inherited, **place, "PYTHONPATH": str(ROOT / "tests"), **environ},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return run_


def test_without_a_cluster_tests_are_skipped_with_one_loud_line(run: Run) -> None:
    done = run()
    assert done.returncode == 0, done.stdout
    loud = [line for line in done.stdout.splitlines() if line.startswith("TESTS ON A REAL CLUSTER WERE SKIPPED: ")]
    assert len(loud) == 1
    assert "no Go >= 1.26 on PATH" in loud[0]
    assert "2 skipped" in done.stdout


@pytest.mark.parametrize("name", ["CI", "DYNAMO_CTRL_CI"])
def test_in_ci_mode_a_missing_cluster_is_a_failure(run: Run, name: str) -> None:
    done = run(**{name: "1"})
    assert done.returncode == 1
    assert "CI mode needs a real cluster: no Go >= 1.26" in done.stdout
    assert "skipped" not in done.stdout


def test_tests_that_need_the_cluster_carry_its_mark() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-m",
        "not cluster",
        "tests/envtest/test_stages.py",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "no tests collected (" in done.stdout
