"""A stream cut into lines as it arrives. A state machine without I/O.

Contract: the lines do not depend on where the stream was cut into pieces. A line over `MAX_LINE` raises `LineTooLong`, and is
never held whole in memory before that. Each byte is looked at once, however many pieces a line comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dynamo_ctrl.engine.errors import MalformedAnswer

MAX_LINE: Final = 16 << 20
"""Bytes of one line. An object in etcd has 1.5 MiB at most; escapes and managedFields can make more of it."""


class LineTooLong(MalformedAnswer):
    """A line of a watch that is longer than any object can be."""


class LineSplitter:
    """Gives `line` every line that is not empty, without its end."""

    def __init__(self, line: Callable[[bytes], None], limit: int = MAX_LINE) -> None:
        self._line = line
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> None:
        """The next piece of the stream. Raises `LineTooLong`."""
        end = piece.find(b"\n")
        if end < 0:
            self._keep(piece)
            return
        start = 0
        if self._parts:
            self._keep(piece[:end])
            self.end()
            start, end = end + 1, piece.find(b"\n", end + 1)
        while end >= 0:
            self._emit(piece[start:end])
            start, end = end + 1, piece.find(b"\n", end + 1)
        if start < len(piece):
            self._keep(piece[start:])

    def end(self) -> None:
        """The stream is over; a last line needs no line end."""
        whole, self._parts, self._size = b"".join(self._parts), [], 0
        self._emit(whole)

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts = []
            raise LineTooLong(f"a line of the answer is longer than {self._limit} bytes")
        self._parts.append(part)

    def _emit(self, line: bytes) -> None:
        if len(line) > self._limit:
            raise LineTooLong(f"a line of the answer is longer than {self._limit} bytes")
        if line:
            self._line(line)
