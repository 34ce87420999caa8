"""The HTTP client of the engine: requests to one server over kept connections, with bodies read as they arrive.

Ours, and not aiohttp's, for three reasons. One path carries requests, lists and watches, so that a TLS, proxy or credential
setting cannot hold on one and fail on another. It is known whether a request had left when something broke, and a write is
never sent twice behind our back (aiohttp repeats PUT and DELETE when a kept connection breaks). A request costs half the CPU.

Contract: a connection is kept after a response that was read to its end, and dropped with a response that was left. A GET on
a kept connection that the server had closed meanwhile is sent once more, unseen; nothing else is ever sent again here.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final

from dynamo_ctrl.engine.errors import EngineError, MalformedAnswer, Unanswered, Unreachable
from dynamo_ctrl.engine.kubernetes.connect import CONNECT_TIMEOUT, Resolved, connect
from dynamo_ctrl.engine.kubernetes.connection import Broken, Connection
from dynamo_ctrl.engine.kubernetes.response import Head, ProtocolError
from dynamo_ctrl.engine.kubernetes.route import Route

MAX_REQUESTS: Final = 64
"""Requests under way at once. More wait, and give up after the connect time-out. Watches do not count."""

IDLE_TIMEOUT: Final = 30.0
"""Seconds for which a connection without a request is kept; kube-apiserver closes it after 90."""

MAX_BODY: Final = 1 << 30
"""Bytes of one answer that is read whole."""


class Answer:
    """One response, its body still to be read: whole, or by a sink as it arrives (`take`, `more`). Must be released."""

    def __init__(self, head: Head, connection: Connection, give_back: Callable[[Connection], None]) -> None:
        self.head = head
        self._connection = connection
        self._give_back = give_back
        self.take = connection.take
        self.pause = connection.pause
        self.resume = connection.resume

    async def more(self) -> bool:
        """Wait for the sink to be given more; false at the end. Raises `Unanswered` or `MalformedAnswer`."""
        try:
            return await self._connection.more()
        except (Broken, ProtocolError) as error:
            raise _typed(error) from error

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body. Raises as `more` does, and `MalformedAnswer` over `limit`."""
        pieces: list[bytes] = []
        try:
            self.take(pieces.append, limit=limit)
            await self._connection.end()
        except (Broken, ProtocolError) as error:
            raise _typed(error) from error
        return b"".join(pieces)

    def release(self) -> None:
        """Keep the connection if the body was read to its end, else drop it."""
        self._give_back(self._connection)


class Client:
    """The connections to one server."""

    def __init__(self, route: Route, *, resolved: Resolved | None = None) -> None:
        self._route = route
        self._resolved = resolved
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._idle: deque[tuple[Connection, float]] = deque()
        self._open: dict[Connection, ssl.SSLContext | None] = {}

    async def turn(self) -> None:
        """Wait for the right to one request under way; to be given back with `done`.

        Raises:
            Unreachable: there was none within the connect time-out.
        """
        if not self._slots.locked():
            await self._slots.acquire()  # at once: nothing to time
            return
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await self._slots.acquire()
        except TimeoutError as error:
            raise Unreachable(f"{self._route.server}: {MAX_REQUESTS} requests are under way already") from error

    def done(self) -> None:
        """A request is over; the next one may begin."""
        self._slots.release()

    async def send(self, method: str, request: bytes) -> Answer:
        """Send a request, whose text has that method. Its answer has any status, and must be released.

        Raises:
            Unreachable: it was not sent.
            Unanswered: it was sent, or may have been, and the connection broke.
            MalformedAnswer: the answer is no HTTP.
        """
        try:
            connection, head = await self._exchange(method, request)
        except (Broken, ProtocolError) as error:
            raise _typed(error) from error
        return Answer(head, connection, self._give_back)

    async def close(self) -> None:
        """Drop every connection and wait until they are gone. Answers that are being read end with `Unreachable`."""
        connections = tuple(self._open)
        for connection in connections:
            connection.fail(Unreachable("the engine was closed"))
        await asyncio.gather(*(connection.closed for connection in connections))
        self._idle.clear()

    async def _exchange(self, method: str, request: bytes) -> tuple[Connection, Head]:
        while True:
            connection = await self._connection()
            if not connection.usable:
                raise Unreachable(f"{self._route.server}: the server closed the connection at once")
            kept = connection.used > 0
            try:
                connection.send(request)
                return connection, await connection.head()
            except Broken as error:
                if method != "GET" or not kept or error.answered:
                    raise
            except BaseException:
                connection.abort()
                raise

    async def _connection(self) -> Connection:
        """A kept connection, the youngest first, else a new one."""
        oldest = self._loop.time() - IDLE_TIMEOUT
        while self._idle and self._idle[0][1] < oldest:
            self._idle.popleft()[0].abort()
        tls = self._route.tls()
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.usable and self._open.get(connection) is tls:
                return connection
            connection.abort()
        connection = await self._connect(tls)
        self._open[connection] = tls
        connection.closed.add_done_callback(lambda _: self._open.pop(connection, None))
        return connection

    async def _connect(self, tls: ssl.SSLContext | None) -> Connection:
        route = self._route
        return await connect(route.server, tls, route.server_name, route.proxy, resolved=self._resolved)

    def _give_back(self, connection: Connection) -> None:
        if connection.usable and len(self._idle) < MAX_REQUESTS:
            connection.resume()  # or its end would not be noticed
            self._idle.append((connection, self._loop.time()))
        else:
            connection.abort()


def _typed(error: Broken | ProtocolError) -> EngineError:
    """What broke in an exchange, as one of the port's errors."""
    return Unanswered(str(error)) if isinstance(error, Broken) else MalformedAnswer(str(error))
