"""A YAML loader for files that people hand in: its aliases repeat no more than `MAX_REPEATED` characters.

An alias costs a few characters in the file and stands for everything under its anchor. Ten lines of aliases to aliases stand for
more than a machine can hold (the "billion laughs"), as soon as somebody walks through the document. So a document is measured
when it is composed, before anything is made of it; what it says without aliases may be as long as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import yaml

MAX_REPEATED: Final = 1 << 20
"""Characters (and one for each value) that the aliases of one document may stand for."""


class BoundedLoader(yaml.SafeLoader):
    """`SafeLoader` that raises `ComposerError` where the aliases of a document stand for too much."""

    def compose_document(self) -> yaml.Node | None:
        """A document as nodes, each anchor once."""
        root: yaml.Node | None = super().compose_document()
        sizes = _Sizes()
        if root is not None and sizes.whole(root) - sizes.written > MAX_REPEATED:
            raise yaml.composer.ComposerError(
                problem=f"its aliases stand for more than {MAX_REPEATED} characters", problem_mark=root.start_mark
            )
        return root


class _Sizes:
    """How much nodes stand for, and how much of that is written down."""

    def __init__(self) -> None:
        self.written = 0
        self._known: dict[int, int] = {}

    def whole(self, node: yaml.Node) -> int:
        """The size with every alias followed. What is inside itself has no end, and whoever makes it will notice."""
        known = self._known.get(id(node))
        if known is not None:
            return known
        self._known[id(node)] = 0
        parts: Iterable[yaml.Node]
        match node:
            case yaml.MappingNode():
                own, parts = 1, chain.from_iterable(node.value)
            case yaml.SequenceNode():
                own, parts = 1, node.value
            case _:
                own, parts = 1 + len(node.value), ()
        self.written += own
        self._known[id(node)] = size = own + sum(map(self.whole, parts))
        return size
