"""Each patch of this folder breaks the code in one way, and the test that it names must notice.

A patch begins with a line that says what it breaks, and one that names the test: `Test: tests/.../test_x.py::test_y`. It is
applied to a copy of the tree, where that test must fail with an assertion; in a copy without a patch all of them must pass.

A patch that does not apply any more is made anew: break the code by hand, `git diff -U1`, and put the two lines before it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

COPIED = ("dynamo_ctrl", "programs", "cmd", "envtest", "config", "tests", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("benchmarks", "cluster", "conformance", "mutations", "simulation")

TIMEOUT = 240.0
"""Seconds that the test of one patch may take, and all of them together without a patch."""

ASSERTED = ("assert ", "AssertionError", "Failed: DID NOT RAISE")
"""How the message of a failure begins that a test has found, in contrast to code that breaks under it."""


@dataclass(frozen=True)
class Mutation:
    """One patch.

    Attributes:
        what: what it breaks.
        test: the id of the test that must fail.
    """

    path: Path
    what: str
    test: str

    @classmethod
    def read(cls, path: Path) -> Mutation:
        """Raises `AssertionError` if the two lines are missing."""
        head = path.read_text().partition("\n--- ")[0]
        found = re.fullmatch(r"(\S.+)\n\nTest: (tests/\S+::\S+)\n", head)
        assert found is not None, (
            f"{path.name} must begin with what it breaks, an empty line and `Test: tests/...::test_...`"
        )
        return cls(path, found[1], found[2])


@dataclass(frozen=True)
class Run:
    """What came of a run of tests.

    Attributes:
        passed: how many.
        failures: the messages of those that failed.
        errors: the messages of those that could not be run.
        output: what pytest said.
    """

    passed: int
    failures: Sequence[str]
    errors: Sequence[str]
    output: str


PATCHES = sorted(HERE.glob("*.patch"))


def copied(to: Path) -> Path:
    """The part of the tree that the named tests need."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=LEFT_OUT)
        else:
            shutil.copy2(ROOT / name, to / name)
    return to


def run(tree: Path, *tests: str) -> Run:
    """Run tests in a copy of the tree, with the modules of that copy."""
    report = tree / "report.xml"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COVERAGE_"))}
    environment["PYTHONPATH"] = os.pathsep.join(str(tree / part) for part in ("", "programs", "cmd"))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run(
        [*command, *tests], cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    output = done.stdout + done.stderr
    assert report.exists(), f"pytest did not come to run anything:\n{output}"
    cases = ElementTree.parse(report).findall(".//testcase")
    failures = [each.get("message", "") for case in cases for each in case.findall("failure")]
    errors = [each.get("message", "") for case in cases for each in case.findall("error")]
    return Run(sum(len(case) == 0 for case in cases), failures, errors, output)


def test_there_is_a_mutation_for_each_promise_that_is_easily_broken() -> None:
    assert len(PATCHES) >= 20
    assert len({Mutation.read(path).what for path in PATCHES}) == len(PATCHES)


def test_without_a_patch_every_named_test_passes(tmp_path: Path) -> None:
    outcome = run(copied(tmp_path), *sorted({Mutation.read(path).test for path in PATCHES}))
    assert not outcome.failures, outcome.output
    assert not outcome.errors, outcome.output
    assert outcome.passed > 0


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_the_named_test_notices(path: Path, tmp_path: Path) -> None:
    mutation = Mutation.read(path)
    tree = copied(tmp_path)
    applied = subprocess.run(["git", "apply", str(path)], cwd=tree, capture_output=True, text=True, check=False)
    assert applied.returncode == 0, f"{path.name} does not apply any more, make it anew: {applied.stderr}"
    outcome = run(tree, mutation.test)
    assert not outcome.errors, f"{path.name} keeps its test from running:\n{outcome.output}"
    assert outcome.failures, f"nobody notices: {mutation.what}\n{outcome.output}"
    found = [message for message in outcome.failures if message.startswith(ASSERTED)]
    assert found, f"{mutation.test} breaks instead of finding something:\n{outcome.output}"
