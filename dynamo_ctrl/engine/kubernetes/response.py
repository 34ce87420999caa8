"""An HTTP/1.1 response, parsed as it arrives. A state machine without I/O.

Contract: `feed` takes bytes in pieces of any size and gives the body on piece by piece; their sum does not depend on where the
cuts were. Whatever breaks the protocol raises `ProtocolError`; nothing is guessed.
Bodies framed by length, by chunks, or by the end of the connection are read; a content encoding is refused,
because none was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

MAX_HEAD: Final = 64 << 10
"""Bytes of status line and headers, and of trailers."""

MAX_SIZE_LINE: Final = 1 << 10
"""Bytes of a chunk's size line, extensions included."""

Sink = Callable[[bytes], None]
"""Takes the next piece of a body."""


class ProtocolError(Exception):
    """What arrived is not an HTTP/1.1 response that we can read."""


class Head(NamedTuple):
    """Status and headers. Header names are lower case; a name that repeats has several values."""

    status: int
    headers: Mapping[str, tuple[str, ...]]

    def header(self, name: str) -> str:
        """The last value of a header, empty when it is absent."""
        return self.headers.get(name, ("",))[-1]


def parse_head(text: bytes) -> tuple[Head, bool]:
    """Status line and headers, without the empty line; and whether the version keeps connections open. Raises `ProtocolError`."""
    first, *lines = text.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or len(code) != 3 or not code.isdecimal() or rest[3:4] not in ("", " "):
        raise ProtocolError(f"not an HTTP/1.1 response: {first[:80]!r}")
    headers: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise ProtocolError(f"not a header: {line[:80]!r}")
        name, values = name.lower(), (value.strip(),)
        headers[name] = (*headers[name], *values) if name in headers else values
    return Head(int(code), headers), version != "HTTP/1.0"


class ResponseParser:
    """Reads one response.

    Attributes:
        head: status and headers, once they are there.
        sink: what gets the body; may be replaced at any time.
        limit: bytes that the response may have, framing included; `None` for any number.
        size: bytes that it had so far.
        complete: the whole response has been read.
        keep_alive: another request may follow on the connection.
    """

    def __init__(self, sink: Sink, *, bodyless: bool = False) -> None:
        """`sink` gets the body; `bodyless` is for answers to CONNECT, which have none whatever their headers say."""
        self.head: Head | None = None
        self.complete = False
        self.keep_alive = False
        self.sink = sink
        self.limit: int | None = None
        self.size = 0
        self._bodyless = bodyless
        self._rest = b""
        self._left = 0
        self._step: Callable[[bytes, int], int] = self._read_head
        self._to_the_end = False

    def feed(self, data: bytes) -> None:
        """The next bytes. Raises `ProtocolError`."""
        self.size += len(data)
        if self.limit is not None and self.size > self.limit:
            raise ProtocolError(f"the answer is longer than {self.limit} bytes")
        if self._rest:
            data, self._rest = self._rest + data, b""
        at = 0
        while at < len(data) and not self.complete:
            then = self._step(data, at)
            if then < 0:
                self._rest = data[at:]
                return
            at = then
        if at < len(data):
            self.keep_alive = False  # bytes that nobody asked for

    def end(self) -> None:
        """The connection has ended. Raises `ProtocolError` when the response is not complete."""
        self.keep_alive = False
        if self._to_the_end:
            self.complete = True
        if not self.complete:
            what = "a complete body" if self.head else "an answer"
            raise ProtocolError(f"the server closed the connection before {what}")

    def _read_head(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n\r\n", at)
        if end < 0 or end - at > MAX_HEAD:
            if len(data) - at > MAX_HEAD:
                raise ProtocolError(f"status and headers exceed {MAX_HEAD} bytes")
            return -1
        head, persistent = parse_head(data[at:end])
        if head.status == 101:
            raise ProtocolError("the server switches protocols, unasked")
        if head.status >= 200:  # a 1xx head only announces the real one
            self._begin(head, persistent)
        return end + 4

    def _begin(self, head: Head, persistent: bool) -> None:
        self.head = head
        connection = ",".join(head.headers.get("connection", ())).lower()
        self.keep_alive = persistent and "close" not in connection
        encoding = head.header("content-encoding").lower()
        transfer = ",".join(head.headers.get("transfer-encoding", ())).lower()
        lengths = set(head.headers.get("content-length", ()))
        if encoding not in ("", "identity"):
            raise ProtocolError(f"the server encodes the body as {encoding!r}, unasked")
        if self._bodyless or head.status in (204, 304):
            self.complete = True
        elif transfer:
            if transfer != "chunked":
                raise ProtocolError(f"unknown transfer encoding {transfer!r}")
            self._step = self._read_chunks
        elif lengths:
            text = lengths.pop()
            if lengths or not text.isdecimal():
                raise ProtocolError("the Content-Length is not one number")
            self._left = int(text)
            self._step = self._read_length
            self.complete = self._left == 0
        else:
            self._to_the_end, self.keep_alive = True, False
            self._step = self._read_all

    def _read_length(self, data: bytes, at: int) -> int:
        at = self._take(data, at)
        self.complete = self._left == 0
        return at

    def _read_all(self, data: bytes, at: int) -> int:
        self.sink(data[at:])
        return len(data)

    def _take(self, data: bytes, at: int) -> int:
        stop = min(len(data), at + self._left)
        self.sink(data[at:stop])
        self._left -= stop - at
        return stop

    def _read_chunks(self, data: bytes, at: int) -> int:
        """Size lines and, in one go, every chunk that is there whole."""
        begin = at
        while True:
            end = data.find(b"\r\n", at, at + MAX_SIZE_LINE)
            if end < 0:
                if len(data) - at >= MAX_SIZE_LINE:
                    raise ProtocolError("a chunk's size line is too long")
                return at if at > begin else -1
            size = _chunk_size(data[at:end])
            start = end + 2
            stop = start + size
            if size == 0:
                self._step = self._read_trailers
                return start
            if stop + 2 > len(data):
                self._left, self._step = size, self._read_chunk
                return start
            self.sink(data[start:stop])
            if data[stop : stop + 2] != b"\r\n":
                raise ProtocolError("a chunk is longer than its size line says")
            at = stop + 2
            if at == len(data):
                return at

    def _read_chunk(self, data: bytes, at: int) -> int:
        at = self._take(data, at)
        if self._left == 0:
            self._step = self._read_chunk_end
        return at

    def _read_chunk_end(self, data: bytes, at: int) -> int:
        if len(data) - at < 2:
            return -1
        if data[at : at + 2] != b"\r\n":
            raise ProtocolError("a chunk is longer than its size line says")
        self._step = self._read_chunks
        return at + 2

    def _read_trailers(self, data: bytes, at: int) -> int:
        """Trailers are read over; the empty line ends them and the response."""
        end = data.find(b"\r\n", at)
        if end < 0:
            if len(data) - at > MAX_HEAD:
                raise ProtocolError(f"trailers exceed {MAX_HEAD} bytes")
            return -1
        self.complete = end == at
        return end + 2


def _chunk_size(line: bytes) -> int:
    text = line.partition(b";")[0].strip()
    try:
        if text.isalnum():
            return int(text, 16)
    except ValueError:
        pass
    raise ProtocolError(f"not a chunk size: {text[:32]!r}")
