"""One connection of the client: an `asyncio.Protocol` that sends a request and reads the response to it.

Contract: one request at a time. Pieces of the body go to a sink as they arrive, before anybody awaits them; a sink that
cannot keep up calls `pause`. Every way in which a connection can break ends the response with `Broken`, which says whether
anything of an answer had arrived. `abort` is immediate; `closed` is set once the transport is gone.

A server writes a long list in pieces of 4 KB, and to read each by itself costs more than to decrypt it. So while a long body is
awaited whole, the socket is left alone for a moment after each piece, and the next read finds more.
"""

from __future__ import annotations

import asyncio
from typing import Final, cast

from dynamo_ctrl.engine.kubernetes.response import Head, ProtocolError, ResponseParser, Sink

LONG: Final = 64 << 10
"""Bytes after which an answer is long; a read of as many needs no rest."""

REST: Final = 0.001
"""Seconds for which the socket is left alone then; the finest that loops keep."""


class Broken(Exception):
    """The connection ended in the middle of an exchange.

    Attributes:
        answered: some of the answer had arrived.
    """

    def __init__(self, message: str, *, answered: bool) -> None:
        self.answered = answered
        super().__init__(message)


class Connection(asyncio.Protocol):
    """A connection that is open until `closed` is set.

    Args:
        wire: the transport underneath the one with TLS.
    """

    def __init__(self, wire: asyncio.Transport | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self.closed: asyncio.Future[None] = loop.create_future()
        self.used = 0
        self._transport: asyncio.Transport | None = None
        self._wire = wire
        self._parser: ResponseParser | None = None
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._early: list[bytes] = []
        self._patient = False
        self._answered = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is there. (`start_tls` does not call this; whoever uses it does.)"""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of the answer."""
        parser = self._parser
        if parser is None or parser.complete:
            self.abort()  # a server that talks out of turn, as one that says good-bye in a 408
            return
        self._answered = True
        try:
            parser.feed(data)
        except Exception as error:  # noqa: BLE001  (no await here; whatever the sink raises belongs to whoever reads)
            self._fail(error)
        self._wake()
        if self._patient and len(data) < LONG < parser.size and not parser.complete:
            self._rest()

    def eof_received(self) -> bool:
        """The server sends no more; the transport closes itself."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of the connection; and of the response, if that was how it was framed."""
        if not self.closed.done():
            self.closed.set_result(None)
        parser = self._parser
        if parser is not None and not parser.complete and self._error is None:
            try:
                parser.end()
                if exc is not None:
                    raise ProtocolError(str(exc) or type(exc).__name__)
            except ProtocolError as error:
                self._error = Broken(str(exc or error), answered=self._answered)
        self._wake()

    # What the client calls.

    @property
    def transport(self) -> asyncio.Transport:
        """The transport underneath."""
        assert self._transport is not None  # noqa: S101  (connect() hands out connections that are made)
        return self._transport

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        parser = self._parser
        free = parser is None or (parser.complete and parser.keep_alive)
        return free and self._error is None and not self.closed.done() and not self.transport.is_closing()

    def send(self, request: bytes, *, bodyless: bool = False) -> None:
        """Send a request; its response replaces the one before."""
        self._early = []
        self._answered = self._patient = False
        self._parser = ResponseParser(self._early.append, bodyless=bodyless)
        self.used += 1
        self.transport.write(request)

    async def head(self) -> Head:
        """Status and headers. Raises `Broken` or `ProtocolError`."""
        parser = self._parser
        assert parser is not None  # noqa: S101  (a request was sent)
        while parser.head is None:
            await self._changed()
        return parser.head

    def take(self, sink: Sink, *, limit: int | None = None) -> None:
        """Have the body given to `sink` from now on, what has arrived already first; at most about `limit` bytes."""
        assert self._parser is not None  # noqa: S101  (a request was sent)
        self._parser.sink, self._parser.limit = sink, limit
        early, self._early = self._early, []
        for piece in early:
            sink(piece)

    async def more(self) -> bool:
        """Wait until the sink was given something more; false at the end of the body. Raises `Broken` or `ProtocolError`."""
        parser = self._parser
        assert parser is not None  # noqa: S101  (a request was sent)
        if parser.complete and self._error is None:
            return False
        await self._changed()
        return True

    async def end(self) -> None:
        """Wait for the end of the body; the pieces before it wake nobody. Raises `Broken` or `ProtocolError`."""
        self._patient = True
        while await self.more():
            pass

    def pause(self) -> None:
        """Read no more from the network for now."""
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """End whatever is being read with `error`, and drop the connection."""
        self._fail(error)
        self._wake()

    def _fail(self, error: Exception) -> None:
        if self._error is None:
            self._error = error
        self.abort()

    def _rest(self) -> None:
        wire = self._wire or self.transport
        if not wire.is_closing():
            wire.pause_reading()
            self._loop.call_later(REST, self._read_on, wire)

    def _read_on(self, wire: asyncio.Transport) -> None:
        if not wire.is_closing():
            wire.resume_reading()

    async def _changed(self) -> None:
        if self._error is None and self.closed.done():
            self._error = Broken("the connection is closed", answered=self._answered)
        if self._error is None:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        parser = self._parser
        if self._patient and self._error is None and parser is not None and not parser.complete:
            return
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
