"""Requests with small answers, through one aiohttp session: everything but list and watch.

Contract: one attempt, one answer; a status is not an error here. What breaks is told apart by whether the request may have
left: `Unreachable` before, `Unanswered` after. A request is sent once: aiohttp's own retry of PUT and DELETE is off.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from dynamo_ctrl.engine.errors import MalformedAnswer, Unanswered, Unreachable
from dynamo_ctrl.engine.kubernetes.connect import CONNECT_TIMEOUT
from dynamo_ctrl.engine.kubernetes.response import Head
from dynamo_ctrl.engine.kubernetes.route import Route

MAX_CONNECTIONS: Final = 64
"""Requests under way at once; more wait, and give up when no connection is free within the connect time-out."""

KEEP_ALIVE: Final = 30.0
"""Seconds for which a connection without a request is kept; kube-apiserver closes it after 90."""


class Answer(NamedTuple):
    """Status, headers and the whole body."""

    head: Head
    body: bytes


class Requests:
    """A session with one server."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._base = f"{route.server.scheme}://{route.server.authority}{route.server.path}"
        self._proxy = _proxy(route)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # the route has looked at the environment already, for both paths
            auto_decompress=False,
        )
        # PUT and DELETE would be sent a second time when a kept connection breaks; only the retry policy decides that.
        self._session._retry_connection = False  # noqa: SLF001

    async def send(self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> Answer:
        """Send one request and read its answer.

        Raises:
            Unreachable: it was not sent.
            Unanswered: it was sent, or may have been, and no whole answer came.
            MalformedAnswer: the answer is no HTTP, or encoded.
        """
        route = self._route
        all_headers = CIMultiDict(headers)
        all_headers["Accept-Encoding"] = "identity"
        tls = route.tls()
        try:
            async with self._session.request(
                method,
                URL(self._base + target, encoded=True),
                headers=all_headers,
                data=body,
                ssl=tls if tls is not None else True,
                server_hostname=route.server_name or None,
                proxy=self._proxy,
                allow_redirects=False,
                timeout=self._timeout,
            ) as response:
                content = await response.read()
        except aiohttp.ClientHttpProxyError as error:  # its text and its cause spell the proxy's password
            raise Unreachable(f"{route.server}: the proxy {route.proxy} answered {error.status} to CONNECT") from None
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise Unreachable(f"{route.server}: {error}") from error
        except (aiohttp.ClientResponseError, aiohttp.InvalidURL) as error:
            raise MalformedAnswer(f"{route.server}: {error}") from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unanswered(f"{route.server}: {str(error) or type(error).__name__}") from error
        head = Head(response.status, _headers(response))
        if head.header("content-encoding") not in ("", "identity"):
            raise MalformedAnswer(f"{route.server}: the server encodes the body, unasked")
        return Answer(head, content)

    async def close(self) -> None:
        """Close the session and wait until its connections are gone. Requests must have been ended before."""
        await self._session.close()


def _proxy(route: Route) -> URL | None:
    proxy = route.proxy
    if proxy is None:
        return None
    return URL.build(
        scheme=proxy.scheme, host=proxy.host, port=proxy.port, user=proxy.user or None, password=proxy.password or None
    )


def _headers(response: aiohttp.ClientResponse) -> dict[str, tuple[str, ...]]:
    names = {name.lower() for name in response.headers}
    return {name: tuple(response.headers.getall(name)) for name in names}
