"""Fixtures of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.dynamo_graph.render.multinode.kit import Node, Rig


@pytest.fixture
def rig() -> Rig:
    """Renders one Pod."""
    return Rig()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Runs its command."""
    return Node(tmp_path)
