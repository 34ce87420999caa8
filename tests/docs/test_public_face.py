"""What the pages import is what the package says is public."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import dynamo_ctrl

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PUBLIC = re.findall(r"`(dynamo_ctrl[\w.]+)`", dynamo_ctrl.__doc__ or "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_only_what_is_public(page: Path) -> None:
    imported = re.findall(r"^(?:from|import) (dynamo_ctrl\.[\w.]+)", page.read_text(), re.MULTILINE)
    assert [name for name in imported if not any(f"{name}.".startswith(f"{public}.") for public in PUBLIC)] == []


def test_what_is_public_is_there() -> None:
    assert len(PUBLIC) > 5
    for name in PUBLIC:
        import_module(name)
    assert [name for name in dynamo_ctrl.__all__ if not hasattr(dynamo_ctrl, name)] == []
