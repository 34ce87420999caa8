"""The worked cases of the specs are tests: complete, collected under their ids, and not skipped."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| *(T-[A-Z0-9]+)-(\d+)(?:\.\.(\d+))?\*? *\|")
RANGE = re.compile(r"\((T-[A-Z]+)-(\d+) to T-[A-Z]+-(\d+)\)")
PROSE = re.compile(r"^(T-ROLL-3[1-5]) ")


def cases() -> dict[str, str]:
    """Id to `now` or the capability that it waits for."""
    lines = (ROOT / "tests/spec/ids.txt").read_text().splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs)
    assert len({pair[0] for pair in pairs}) == len(pairs), "an id is listed twice"
    return {pair[0]: pair[1] for pair in pairs}


def written(spec: str) -> set[str]:
    """The ids that a spec file defines."""
    found: set[str] = set()
    for line in (ROOT / "docs/spec" / spec).read_text().splitlines():
        if row := ROW.match(line):
            width = len(row[2])
            found |= {f"{row[1]}-{n:0{width}d}" for n in range(int(row[2]), int(row[3] or row[2]) + 1)}
        elif prose := PROSE.match(line):
            found.add(prose[1])
        for span in RANGE.finditer(line):
            found |= {f"{span[1]}-{n:02d}" for n in range(int(span[2]), int(span[3]) + 1)}
    return found


def test_the_list_names_every_case_of_the_specs_and_no_other() -> None:
    listed = {case for case in cases() if ":" not in case}
    assert listed == written("dynamo-graph.md") | written("dynamo-pods.md")


@pytest.mark.slow
def test_every_case_of_now_is_collected() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert listing.returncode == 0, listing.stdout[-4000:] + listing.stderr[-2000:]
    collected = set(re.findall(r"T-[A-Z0-9]+-\d+", listing.stdout))
    missing = sorted(case for case, when in cases().items() if when == "now" and case not in collected)
    assert not missing, f"{len(missing)} cases are listed as now and have no test: {' '.join(missing)}"
