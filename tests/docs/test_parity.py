"""The parity pages are complete against `docs/spec/runtime-anchors.md` (R), and every test that they name is there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs/spec/runtime-anchors.md"
PAGES = (ROOT / "docs/parity.md", *sorted((ROOT / "docs/parity").glob("*.md")))
SECTIONS = ("1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.8", "1.9", "1.10", "1.11")
WOUNDS = "4"

HEADING = re.compile(r"^#{2,3} (?:R )?(\d+(?:\.\d+)*)\b")
CELL = re.compile(r"(?<!\\)\|")
STATES = ("tested", "replaced by", "later")
TEST = re.compile(r"`((?:tests/)?[\w/]*test_\w+\.py)((?:::\w+)*)(\[[^`\]]*\])?`")
FOLDER = re.compile(r"`(tests/[\w/]+/)`")


@dataclass(frozen=True)
class Line:
    """A line of a table: the section that it stands in, and its cells."""

    section: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Named:
    """A test that a page names; without a name, a whole file."""

    page: Path
    file: str
    name: str
    id: str

    def __str__(self) -> str:
        return f"{self.file}{self.name}{self.id}"


def tables(path: Path) -> Iterator[Line]:
    """Every line of every table below a numbered heading; heads and rules are left out."""
    section, body = "", False
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            heading = HEADING.match(line)
            section, body = heading[1] if heading else "4" if line == "## Wounds" else "", False
        if not line.startswith("|"):
            body = False
        elif set(line) <= set("|- "):
            body = True
        elif body and section:
            yield Line(section, tuple(cell.strip() for cell in CELL.split(line)[1:-1]))


def rows() -> Counter[tuple[str, str]]:
    """The rows of R 1 that have to have a place, by section and name."""
    found = (line for line in tables(SPEC) if line.section in SECTIONS)
    return Counter((line.section, line.cells[0][2:]) for line in found if line.cells[0].startswith("P "))


def optional_rows() -> set[tuple[str, str]]:
    """Those that may have one."""
    found = (line for line in tables(SPEC) if line.section in SECTIONS)
    return {(line.section, line.cells[0][2:]) for line in found if line.cells[0].startswith("p ")}


def answers() -> list[Line]:
    return [line for page in PAGES for line in tables(page) if line.section in SECTIONS]


def wounds() -> dict[str, list[tuple[Path, str]]]:
    """For each row of R 4 what is said about it, and on which page."""
    said: dict[str, list[tuple[Path, str]]] = {}
    for page in PAGES:
        for line in tables(page):
            if line.section.partition(".")[0] == WOUNDS:
                for number in line.cells[0].split(","):
                    said.setdefault(number.strip(), []).append((page, " ".join(line.cells[1:])))
    return said


def named(page: Path, text: str) -> Iterator[Named]:
    folders = FOLDER.findall(page.read_text().partition("\n## ")[0])
    for file, name, id_ in TEST.findall(text):
        places = [file] if file.startswith("tests/") else [f"{folder}{file}" for folder in folders]
        there = [place for place in places if (ROOT / place).is_file()]
        assert there, f"{page.name} names {file}, which is not there"
        if name and len(there) > 1:  # files of one name in several folders: the one that has the test
            there = [place for place in there if f"def {name.rpartition('::')[2]}(" in (ROOT / place).read_text()]
        assert there, f"{page.name} names {file}{name}, which is not there"
        yield Named(page, there[0], name, id_)


def all_named() -> list[Named]:
    return [each for page in PAGES for each in named(page, page.read_text())]


def test_every_row_that_is_a_must_has_one_line_and_no_line_is_made_up() -> None:
    wanted, found = rows(), Counter((line.section, line.cells[0]) for line in answers())
    assert len(wanted) > 90
    assert sorted((wanted - found).elements()) == [], "rows without a line"
    assert sorted(key for key in found - wanted if key not in optional_rows()) == [], "lines without a row, or twice"


def test_every_line_says_what_holds_replaces_or_delays_its_row() -> None:
    for page in PAGES:
        for line in tables(page):
            if line.section not in SECTIONS:
                continue
            name, state, reason = line.cells
            assert state.startswith(STATES), f"{page.name}: {name}: {state!r} is none of {STATES}"
            if state.startswith("tested"):
                assert list(named(page, reason)), f"{page.name}: {name}: tested, by what?"
            else:
                assert len(re.sub(r"`[^`]*`", "", reason)) > 20, f"{page.name}: {name}: why?"


def test_every_wound_has_a_place() -> None:
    numbers = [line.cells[0] for line in tables(SPEC) if re.match(r"4\.\d", line.section)]
    assert len(numbers) == len(set(numbers)) > 55
    assert sorted(set(numbers) - wounds().keys()) == [], "rows of R 4 without a line"
    assert sorted(wounds().keys() - set(numbers)) == [], "lines without a row of R 4"


@pytest.mark.parametrize("number", sorted(wounds()))
def test_a_wound_of_ours_has_a_test_that_carries_its_number(number: str) -> None:
    ours = [(page, text) for page, text in wounds()[number] if page.name != "parity.md"]
    if all(text.startswith("later") for _, text in ours):
        return
    carried = re.compile(rf"r4[_-]{number}(?![0-9a-z])", re.IGNORECASE)
    tests = [str(each) for page, text in ours for each in named(page, text)]
    assert any(carried.search(test) for test in tests), f"R 4, {number}: none of {tests}"


@pytest.mark.slow
def test_every_test_that_a_page_names_is_collected() -> None:
    wanted = all_named()
    files = sorted({each.file for each in wanted})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert listing.returncode == 0, listing.stdout[-4000:] + listing.stderr[-2000:]
    collected = listing.stdout.splitlines()
    known = {
        *collected,
        *(test.partition("[")[0] for test in collected),
        *(test.rpartition("::")[0] for test in collected),
    }
    missing = [f"{each.page.name}: {each}" for each in wanted if str(each) not in known and each.name]
    assert missing == []
