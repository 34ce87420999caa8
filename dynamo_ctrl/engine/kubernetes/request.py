"""The text of requests to one server. What all of them have in common is checked and written once.

Contract: a header's value never ends its line; one that would raises `Unreachable`, which does not quote it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.kubernetes.connect import proxy_headers
from dynamo_ctrl.engine.kubernetes.route import Route

Header = tuple[str, str]


class RequestText:
    """Writes requests.

    Args:
        route: the way to the server.
        headers: of every request, beside those that HTTP needs.
    """

    def __init__(self, route: Route, headers: Sequence[Header]) -> None:
        server, proxy = route.server, route.proxy
        through_proxy = proxy is not None and server.scheme == "http"  # with TLS only its tunnel is the proxy's
        self._prefix = f"http://{server.authority}{server.path}" if through_proxy else server.path
        self._headers: list[Header] = [("Host", server.authority), *headers, ("Accept-Encoding", "identity")]
        if proxy is not None and through_proxy:
            self._headers += proxy_headers(proxy).items()
        self._authorization: str | None = None
        self._common = ""

    def write(self, method: str, target: str, authorization: str, body: bytes | None, content_type: str) -> bytes:
        """A whole request. Raises `Unreachable` for a value that no header may have."""
        if authorization != self._authorization:
            headers = [*self._headers, ("Authorization", authorization)] if authorization else self._headers
            self._common = "".join(_line(name, value) for name, value in headers)
            self._authorization = authorization
        own = _line("Content-Type", content_type) if content_type else ""
        if body is not None:
            own = f"{own}Content-Length: {len(body)}\r\n"
        head = f"{method} {self._prefix}{target} HTTP/1.1\r\n{self._common}{own}\r\n".encode("latin-1")
        return head if body is None else head + body


def _line(name: str, value: str) -> str:
    if not value.isprintable() or not value.isascii():
        raise Unreachable(f"the value of the header {name} has characters that no header may have")
    return f"{name}: {value}\r\n"
