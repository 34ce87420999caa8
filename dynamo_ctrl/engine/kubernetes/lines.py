"""A stream cut into lines as it arrives. A state machine without I/O.

Contract: the lines do not depend on where the stream was cut into pieces; a line that lies whole in one piece is never copied;
a line over `MAX_LINE` raises `LineTooLong`, and is never held whole in memory before that. Each byte is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dynamo_ctrl.engine.errors import MalformedAnswer

MAX_LINE: Final = 16 << 20
"""Bytes of one line. An object in etcd has 1.5 MiB at most; escapes and managedFields can make more of it."""

Line = Callable[[bytes, int, int], None]
"""Takes `data[start:stop]`, one line without its end."""


class LineTooLong(MalformedAnswer):
    """A line of a watch that is longer than any object can be."""


class LineSplitter:
    """Gives `line` every line that is not empty."""

    def __init__(self, line: Line, limit: int = MAX_LINE) -> None:
        self._line = line
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes, start: int, stop: int) -> None:
        """The next piece of the stream, `data[start:stop]`. Raises `LineTooLong`."""
        end = data.find(b"\n", start, stop)
        if self._parts:
            until = stop if end < 0 else end
            self._keep(data[start:until])
            if end < 0:
                return
            whole, self._parts, self._size = b"".join(self._parts), [], 0
            self._emit(whole, 0, len(whole))
            start, end = end + 1, data.find(b"\n", end + 1, stop)
        while end >= 0:
            self._emit(data, start, end)
            start, end = end + 1, data.find(b"\n", end + 1, stop)
        if start < stop:
            self._keep(data[start:stop])

    def end(self) -> None:
        """The stream is over; a last line needs no line end."""
        whole, self._parts, self._size = b"".join(self._parts), [], 0
        self._emit(whole, 0, len(whole))

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts = []
            raise LineTooLong(f"a line of the answer is longer than {self._limit} bytes")
        self._parts.append(part)

    def _emit(self, data: bytes, start: int, stop: int) -> None:
        if stop - start > self._limit:
            raise LineTooLong(f"a line of the answer is longer than {self._limit} bytes")
        if stop > start:
            self._line(data, start, stop)
