"""What the server wants a human to know: `Warning: 299 - "text"` headers, each logged once."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final

import structlog

MAX_REMEMBERED: Final = 1024
"""Texts that are remembered as told; the one not seen for longest is forgotten first, and may be told again."""

log = structlog.get_logger(__name__)

_WARNING = re.compile(r'(\d{3}) +(\S+) +"((?:[^"\\]|\\.)*)"')


def texts(values: Iterable[str]) -> Iterator[str]:
    """The texts of all warnings with code 299 in the header's values. What is not a warning is passed over."""
    for value in values:
        for code, _, text in _WARNING.findall(value):
            if code == "299" and text:
                yield re.sub(r"\\(.)", r"\1", text)


class Notices:
    """The memory of what has been logged, for one engine."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._told: OrderedDict[str, None] = OrderedDict()

    def hear(self, values: Iterable[str]) -> None:
        """Log the warnings in a response's headers that were not logged before."""
        for text in texts(values):
            if text not in self._told:
                log.warning("the API server warns", warning=text)
            self._told[text] = None
            self._told.move_to_end(text)
            if len(self._told) > self._limit:
                self._told.popitem(last=False)
