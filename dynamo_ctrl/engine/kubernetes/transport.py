"""One attempt at a request, on either path: identified, counted, listened to, and turned into an answer or a typed error.

`Requests` (aiohttp) takes what has a small answer, `Reader` (ours) what is large or endless. What must be the same on both is
done here, once: the headers that identify us, one renewal of the credentials after a 401 (a request that was refused for
that was not carried out, so it is sent again whatever it is), server warnings, the metric, and `from_status`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TypeAlias

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, from_status
from dynamo_ctrl.engine.kubernetes.config import ClusterConfig
from dynamo_ctrl.engine.kubernetes.notices import Notices
from dynamo_ctrl.engine.kubernetes.reader import Reader, Stream
from dynamo_ctrl.engine.kubernetes.requests import Answer, Requests
from dynamo_ctrl.engine.kubernetes.response import Head
from dynamo_ctrl.engine.kubernetes.route import Route
from dynamo_ctrl.engine.registry import OnRequest

MAX_ERROR_BODY = 1 << 20
"""Bytes of an error's body that are read."""

Headers: TypeAlias = list[tuple[str, str]]


class Transport:
    """Both paths to one server. Raises `ConfigError` for certificates that cannot be used."""

    def __init__(
        self, config: ClusterConfig, *, user_agent: str, clock: Clock, on_request: OnRequest | None = None
    ) -> None:
        route = Route(config, clock)
        self._credentials = config.credentials
        self._fixed: Headers = [("User-Agent", user_agent), ("Accept", "application/json"), *config.headers]
        self._host = config.server.authority
        self._clock = clock
        self._on_request = on_request
        self._notices = Notices()
        self._requests = Requests(route)
        self._reader = Reader(route)

    async def request(self, method: str, target: str, body: bytes | None = None, content_type: str = "") -> bytes:
        """The body of a successful answer. Raises `EngineError`."""
        content: Headers = [("Content-Type", content_type)] if content_type else []
        authorization = await self._credentials.authorization()
        answer = await self._send(method, target, authorization, content, body)
        if answer.head.status == 401 and await self._credentials.renew(authorization):
            answer = await self._send(method, target, await self._credentials.authorization(), content, body)
        if not 200 <= answer.head.status < 300:
            raise failure(answer.head, answer.body)
        return answer.body

    @asynccontextmanager
    async def stream(self, target: str) -> AsyncIterator[Stream]:
        """The body of a successful answer to a GET, to be read inside the block. Raises `EngineError`."""
        authorization = await self._credentials.authorization()
        for last in (False, True):
            async with self._get(target, authorization) as stream:
                if stream.head.status == 200:
                    yield stream
                    return
                error = failure(stream.head, await stream.body(MAX_ERROR_BODY))
            if last or error.code != 401 or not await self._credentials.renew(authorization):
                raise error
            authorization = await self._credentials.authorization()

    async def close(self) -> None:
        """Give back every connection. Calls must have been ended before; open streams end with `Unreachable`."""
        await self._reader.close()
        await self._requests.close()

    async def _send(self, method: str, target: str, authorization: str, more: Headers, body: bytes | None) -> Answer:
        with self._told(method) as tell:
            answer = await self._requests.send(method, target, self._headers(authorization) + more, body)
            tell(answer.head)
        return answer

    @asynccontextmanager
    async def _get(self, target: str, authorization: str) -> AsyncIterator[Stream]:
        async with AsyncExitStack() as stack:
            with self._told("GET") as tell:
                stream = await stack.enter_async_context(self._reader.get(target, self._headers(authorization)))
                tell(stream.head)
            yield stream

    def _headers(self, authorization: str) -> Headers:
        return [*self._fixed, ("Authorization", authorization)] if authorization else self._fixed

    @contextmanager
    def _told(self, method: str) -> Iterator[Callable[[Head], None]]:
        """Tells the metrics hook and the notices of one attempt, from sending it to the head of its answer."""
        began, code = self._clock.monotonic(), 0

        def tell(head: Head) -> None:
            nonlocal code
            code = head.status
            if warnings := head.headers.get("warning"):
                self._notices.hear(warnings)

        try:
            yield tell
        finally:
            if self._on_request is not None:
                self._on_request(method, self._host, code, self._clock.monotonic() - began)


def failure(head: Head, body: bytes) -> EngineError:
    """The typed error for an answer that is not a success."""
    text = head.header("retry-after")
    return from_status(head.status, body, retry_after=float(text) if text.isdecimal() else None)
