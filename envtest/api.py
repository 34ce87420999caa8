"""`Api`: a small synchronous client of an API server, for the harness and for the arrange and assert parts of tests.

It knows JSON and status codes and nothing else, so a test that uses it does not depend on the library under test.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

TIMEOUT: Final = 30.0
"""Seconds for one request."""


class ApiError(Exception):
    """An answer that is not a success. `code` is the HTTP status, `status` the parsed body."""

    def __init__(self, method: str, path: str, code: int, status: Any) -> None:
        self.code = code
        self.status = status
        message = status.get("message", status) if isinstance(status, Mapping) else status
        super().__init__(f"{method} {path}: {code} {message}")


class Api:
    """Requests to one server with one bearer token. Each request has a connection of its own, so threads may share it."""

    def __init__(self, url: str, authority: bytes, token: str) -> None:
        self._address = urllib.parse.urlsplit(url)
        self._tls = ssl.create_default_context(cadata=authority.decode())
        self._token = token

    def request(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Any:
        """One request; returns the JSON of the answer, or its text. Raises `ApiError`, and `OSError` without an answer."""
        answer, text = self._send(method, path, body, content_type)
        is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
        content = json.loads(text) if is_json else text.decode()
        if answer.status >= 300:
            raise ApiError(method, path, answer.status, content)
        return content

    def _send(self, method: str, path: str, body: Any, content_type: str) -> tuple[http.client.HTTPResponse, bytes]:
        address = self._address
        connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=self._tls, timeout=TIMEOUT
        )
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer, answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(f"{method} {path}: {error}") from error
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The object or list at `path`."""
        return self.request("GET", path)

    def create(self, path: str, body: Mapping[str, Any]) -> Any:
        """Create `body` in the collection at `path`."""
        return self.request("POST", path, body)

    def replace(self, path: str, body: Mapping[str, Any]) -> Any:
        """Replace the object at `path`."""
        return self.request("PUT", path, body)

    def merge(self, path: str, patch: Mapping[str, Any]) -> Any:
        """Merge `patch` into the object at `path`."""
        return self.request("PATCH", path, patch, content_type="application/merge-patch+json")

    def delete(self, path: str, options: Mapping[str, Any] | None = None) -> Any:
        """Delete the object at `path`."""
        return self.request("DELETE", path, options)

    def watch(self, path: str, *, resource_version: str, seconds: int) -> list[Any]:
        """The events of the collection at `path` after that version, until `seconds` have passed."""
        query = f"watch=true&resourceVersion={resource_version}&timeoutSeconds={seconds}"
        text = self._send("GET", f"{path}?{query}", None, "application/json")[1]
        return [json.loads(line) for line in text.splitlines()]


def wait_for(what: str, probe: Callable[[], T | None], *, timeout: float, interval: float = 0.05) -> T:
    """Ask `probe` until it answers something true. Raises `TimeoutError` that names `what`."""
    deadline = time.monotonic() + timeout
    while True:
        if answer := probe():
            return answer
        if time.monotonic() >= deadline:
            raise TimeoutError(f"{what} did not happen within {timeout:g} s")
        time.sleep(interval)
