"""The page about concepts names files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_way_of_an_event_leads_through_files_that_are_there() -> None:
    page = (ROOT / "docs/concepts.md").read_text()
    named = re.findall(r"`([a-z_/]+\.py)`", page)
    assert len(set(named)) > 12
    assert [name for name in named if not (ROOT / "dynamo_ctrl" / name).is_file()] == []
