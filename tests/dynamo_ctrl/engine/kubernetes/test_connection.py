"""How a connection is made, and how it reads: a long body in few reads, anything else at once."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.kubernetes.config import Address
from dynamo_ctrl.engine.kubernetes.connect import connect
from dynamo_ctrl.engine.kubernetes.connection import LONG, REST, Connection

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
PIECE = b"x" * 4096


class Socket(asyncio.Transport):
    """A transport that notes whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.reading = True
        self.closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += bytes(data)

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.closing = True

    def pause_reading(self) -> None:
        assert not self.closing
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.closing
        self.reading = True


class Exchange:
    """A connection in the middle of an exchange, whose body is awaited whole or taken as it comes."""

    def __init__(self, *, tls: bool = False) -> None:
        self.wire = Socket()
        self.connection = Connection(self.wire if tls else None)
        self.connection.connection_made(Socket() if tls else self.wire)
        self.connection.send(b"GET / HTTP/1.1\r\n\r\n")
        self.body = b""

    @property
    def read(self) -> bool:
        """Whether the socket is being read."""
        return self.wire.reading

    async def whole(self) -> None:
        self.connection.take(self._sink)
        await self.connection.end()

    def _sink(self, piece: bytes) -> None:
        self.body += piece

    def arrives(self, length: int, pieces: int) -> None:
        self.connection.data_received(HEAD % length)
        for _ in range(pieces):
            self.connection.data_received(PIECE)


@pytest.mark.parametrize("tls", [False, True])
async def test_the_socket_rests_after_a_small_piece_of_a_long_body_that_is_awaited_whole(tls: bool) -> None:
    exchange = Exchange(tls=tls)
    reader = asyncio.create_task(exchange.whole())
    await asyncio.sleep(0)
    pieces = LONG // len(PIECE) + 1
    exchange.arrives(length=(pieces + 1) * len(PIECE), pieces=pieces)
    resting = not exchange.read
    await asyncio.sleep(REST)
    assert resting
    assert exchange.read
    exchange.connection.data_received(PIECE)
    assert exchange.read  # the body is complete
    await reader
    assert exchange.body == PIECE * (pieces + 1)


async def test_a_large_piece_needs_no_rest() -> None:
    exchange = Exchange()
    reader = asyncio.create_task(exchange.whole())
    await asyncio.sleep(0)
    exchange.arrives(length=2 * LONG, pieces=0)
    exchange.connection.data_received(b"x" * LONG)
    assert exchange.read
    reader.cancel()


async def test_a_short_body_is_read_at_once() -> None:
    exchange = Exchange()
    reader = asyncio.create_task(exchange.whole())
    await asyncio.sleep(0)
    exchange.arrives(length=LONG, pieces=2)
    assert exchange.read
    reader.cancel()


async def test_what_is_taken_as_it_comes_is_read_at_once() -> None:
    exchange = Exchange()
    exchange.connection.take(lambda piece: None)
    exchange.arrives(length=4 * LONG, pieces=2 * LONG // len(PIECE))
    assert exchange.read


async def test_a_rest_ends_quietly_when_the_connection_is_gone() -> None:
    exchange = Exchange()
    reader = asyncio.create_task(exchange.whole())
    await asyncio.sleep(0)
    exchange.arrives(length=4 * LONG, pieces=LONG // len(PIECE) + 1)
    exchange.connection.abort()
    await asyncio.sleep(2 * REST)
    assert not exchange.read
    reader.cancel()


@pytest.mark.real_loop
async def test_a_server_that_hangs_up_before_there_is_tls_is_told_as_that() -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        address = Address.parse(f"https://127.0.0.1:{port}", "server")
        with pytest.raises(Unreachable, match=rf"{port}: \S"):
            await connect(address, ssl.create_default_context(), "", None)
