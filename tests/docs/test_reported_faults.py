"""The page of reported faults has every row of the specs, each with a test that is there or with why it comes later."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/parity/reported-faults.md").read_text()
TEST = re.compile(r"`((?:tests/\S+/)?test_\w+\.py)(?:::(\w+))?`")
FOLDERS = re.findall(r"`(tests/[\w/]+/)`", PAGE)


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    return re.split(r"(?m)^## ", text.split(f"\n## {heading}", 1)[1])[0]


def rows(text: str, pattern: str) -> list[tuple[str, str]]:
    """First and last cell of the rows of a table whose first cell matches."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [(row[0], row[-1]) for row in cells if re.fullmatch(pattern, row[0])]


def reported(spec: str, heading: str, pattern: str) -> list[str]:
    text = (ROOT / "docs/spec" / spec).read_text()
    return [number for number, _ in rows(section(text, heading), pattern)]


def answers() -> list[tuple[str, str]]:
    return [*rows(section(PAGE, "Graphs"), r"B\d+"), *rows(section(PAGE, "Pods"), r"\d+")]


def test_every_fault_has_one_line_in_order() -> None:
    graphs = reported("dynamo-graph.md", "10. Known bugs", r"B\d+")
    pods = reported("dynamo-pods.md", "9. Traps", r"\d+")
    assert len(graphs) > 30
    assert len(pods) == 30
    assert [number for number, _ in answers()] == [*graphs, *pods]


def test_every_line_names_a_test_or_says_why_later() -> None:
    for number, answer in answers():
        assert TEST.search(answer) or re.match(r"later[,:] .{8,}", answer), f"{number}: {answer}"


def test_every_test_that_is_named_is_there() -> None:
    for number, answer in answers():
        for file, name in TEST.findall(answer):
            places = [ROOT / file] if file.startswith("tests/") else [ROOT / folder / file for folder in FOLDERS]
            texts = [place.read_text() for place in places if place.is_file()]
            assert texts, f"{number}: there is no {file}"
            assert not name or any(re.search(rf"def {name}\(", text) for text in texts), f"{number}: no {name}"
