"""One attempt at a request: identified, counted, listened to, and turned into an answer or a typed error.

A request that was refused with 401 was not carried out: the credentials are renewed once and it is sent again, whatever it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import EngineError, from_status
from dynamo_ctrl.engine.kubernetes.client import Answer, Client
from dynamo_ctrl.engine.kubernetes.config import ClusterConfig
from dynamo_ctrl.engine.kubernetes.notices import Notices
from dynamo_ctrl.engine.kubernetes.request import RequestText
from dynamo_ctrl.engine.kubernetes.response import Head
from dynamo_ctrl.engine.kubernetes.route import Route
from dynamo_ctrl.engine.observe import RequestObserver
from dynamo_ctrl.engine.registry import OnRequest

MAX_ERROR_BODY: Final = 1 << 20
"""Bytes of an error's body that are read."""


class Transport:
    """Requests to one server in the name of one user. Raises `ConfigError` for certificates that cannot be used."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        clock: Clock,
        on_request: OnRequest | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        route = Route(config, clock)
        headers = [("User-Agent", user_agent), ("Accept", "application/json"), *config.headers]
        self._text = RequestText(route, headers)
        self._client = Client(route, resolved=observer.resolved if observer is not None else None)
        self._observer = observer
        self._credentials = config.credentials
        self._host = config.server.authority
        self._clock = clock
        self._on_request = on_request
        self._notices = Notices()

    async def request(self, method: str, target: str, body: bytes | None = None, content_type: str = "") -> bytes:
        """The body of a successful answer. Raises `EngineError`."""
        if self._observer is not None:
            return await self._observed(self._observer, method, target, body, content_type)
        await self._client.turn()
        try:
            return await self._whole(method, target, body, content_type)
        finally:
            self._client.done()

    async def _observed(
        self, observer: RequestObserver, method: str, target: str, body: bytes | None, content_type: str
    ) -> bytes:
        """As `request`, with its times and sizes told."""
        began, text = self._clock.monotonic(), b""
        await self._client.turn()
        its_turn = self._clock.monotonic()
        try:
            observer.waited(method, self._host, its_turn - began)
            text = await self._whole(method, target, body, content_type)
        finally:
            self._client.done()
            seconds = self._clock.monotonic() - its_turn
            observer.answered(method, self._host, seconds, len(body or b""), len(text))
        return text

    async def _whole(self, method: str, target: str, body: bytes | None, content_type: str) -> bytes:
        answer = await self._success(method, target, body, content_type)
        try:
            return await answer.body()
        finally:
            answer.release()

    @asynccontextmanager
    async def open(self, method: str, target: str) -> AsyncIterator[Answer]:
        """A successful answer, its body to be read inside the block. Raises `EngineError`."""
        answer = await self._success(method, target, None, "")
        try:
            yield answer
        finally:
            answer.release()

    async def _success(self, method: str, target: str, body: bytes | None, content_type: str) -> Answer:
        """A successful answer, to be released by whoever gets it."""
        authorization, renewed = await self._credentials.authorization(), False
        while True:
            answer = await self._attempt(method, target, authorization, body, content_type)
            if 200 <= answer.head.status < 300:
                return answer
            try:
                error = failure(answer.head, await answer.body(MAX_ERROR_BODY))
            finally:
                answer.release()
            if renewed or error.code != 401 or not await self._credentials.renew(authorization):
                raise error
            authorization, renewed = await self._credentials.authorization(), True

    async def close(self) -> None:
        """Give back every connection; answers that are being read end with `Unreachable`."""
        await self._client.close()

    async def _attempt(
        self, method: str, target: str, authorization: str, body: bytes | None, content_type: str
    ) -> Answer:
        began, code = self._clock.monotonic(), 0
        try:
            request = self._text.write(method, target, authorization, body, content_type)
            answer = await self._client.send(method, request)
            code = answer.head.status
        finally:
            if self._on_request is not None:
                self._on_request(method, self._host, code, self._clock.monotonic() - began)
        if warnings := answer.head.headers.get("warning"):
            self._notices.hear(warnings)
        return answer


def failure(head: Head, body: bytes) -> EngineError:
    """The typed error for an answer that is not a success."""
    text = head.header("retry-after")
    return from_status(head.status, body, retry_after=float(text) if text.isdecimal() else None)
