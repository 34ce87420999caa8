"""A proxy between a client and the API server of a cluster, that can hold requests back, answer them itself, and be away.

    with Proxy(cluster) as proxy:
        held = proxy.hold("PATCH", r"/dynamographdeployments/g/status")
        ...                                  # a client that uses proxy.kubeconfig(...)
        held.wait(timeout=10)                # its request is here and nowhere else
        held.release()                       # or held.drop()
    proxy.answer("PATCH", "", 429, times=5, retry_after=1)      # the next five are throttled
    proxy.cut()                          # every connection breaks
    with proxy.away(): ...               # and none is accepted

It speaks TLS with the certificate of the server itself, reads the head of each request, and passes everything else on as it is.
Each connection carries one request.
"""

from __future__ import annotations

import json
import re
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from typing import Self

    from envtest.cluster import Cluster

HEAD_LIMIT: Final = 64 * 1024
"""Bytes that the head of a request may have."""

_CHUNK: Final = 64 * 1024
_LOOK_EVERY: Final = 0.2

When = Literal["request", "answer"]


class Hold:
    """Requests that are held back: before they reach the server, or after it has answered them (`answer`)."""

    def __init__(self, method: str, target: str, when: When) -> None:
        self.when = when
        self._method = method
        self._target = re.compile(target)
        self._arrived = threading.Semaphore(0)
        self._decided = threading.Event()
        self._dropped = False

    def matches(self, method: str, target: str) -> bool:
        """Whether that request is meant."""
        return not self._decided.is_set() and method == self._method and self._target.search(target) is not None

    def wait(self, timeout: float) -> None:
        """Return when one more request is held. Raises `TimeoutError`."""
        if not self._arrived.acquire(timeout=timeout):
            raise TimeoutError(f"no {self._method} {self._target.pattern} came within {timeout:g} s")

    def release(self) -> None:
        """Pass on what is held, and hold nothing any more."""
        self._decided.set()

    def drop(self) -> None:
        """Cut the connections of what is held, and hold nothing any more."""
        self._dropped = True
        self._decided.set()

    def stop_here(self) -> bool:
        """For the proxy: wait for the decision; whether the connection is to be cut."""
        self._arrived.release()
        self._decided.wait()
        return self._dropped


class Answer:
    """Requests that do not reach the server: they are answered here, with an error.

    Attributes:
        given: how many were answered.
    """

    def __init__(self, method: str, target: str, content: bytes, times: int) -> None:
        self.given = 0
        self._method = method
        self._target = re.compile(target)
        self._content = content
        self._times = times
        self._lock = threading.Lock()

    def take(self, method: str, target: str) -> bytes | None:
        """For the proxy: what to answer to that request; `None` if it is not meant, or there were enough."""
        if self._method not in ("", method) or self._target.search(target) is None:
            return None
        with self._lock:
            if self.given == self._times:
                return None
            self.given += 1
        return self._content


class Proxy:
    """See the module's head. A context manager; leaving it drops everything that is held."""

    def __init__(self, cluster: Cluster) -> None:
        self._server = urlsplit(cluster.url)
        self._directory = cluster.directory
        self._to_server = ssl.create_default_context(cafile=str(cluster.certificate_authority))
        self._to_client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._to_client.load_cert_chain(cluster.directory / "apiserver.crt", cluster.directory / "apiserver.key")
        self._holds: list[Hold] = []
        self._answers: list[Answer] = []
        self._clients: set[socket.socket] = set()
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self.open = 0
        """Connections that are open now."""
        self.broken = 0
        """Connections that ended in the middle of something: of a request, of an answer that a server broke off."""
        self.requests: list[str] = []
        """The requests so far, as `GET /path?query`."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for hold in self._holds:
            hold.drop()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def kubeconfig(self, original: Path) -> Path:
        """`original` with this proxy as its server, in a file beside it. Tokens reach the server; client certificates do not."""
        content = json.loads(original.read_text())
        content["clusters"][0]["cluster"]["server"] = self.url
        path = original.with_suffix(f".{self._listener.getsockname()[1]}.kubeconfig")
        path.touch(mode=0o600)
        path.write_text(json.dumps(content))
        return path

    def hold(self, method: str, target: str, *, when: When = "request") -> Hold:
        """Hold back every request with that method whose path and query match the regular expression `target`."""
        hold = Hold(method, target, when)
        self._holds.append(hold)
        return hold

    def answer(self, method: str, target: str, code: int, *, times: int, retry_after: int | None = None) -> Answer:
        """Answer the next `times` requests with that method ("" for any) and target with an error, as the server words it."""
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "message": "the proxy says so",
        }
        body = json.dumps(status).encode()
        lines = [f"HTTP/1.1 {code} Error", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [] if retry_after is None else [f"Retry-After: {retry_after}"]
        head = "\r\n".join([*lines, "Connection: close", "", ""]).encode()
        answer = Answer(method, target, head + body, times)
        self._answers.append(answer)
        return answer

    def cut(self) -> None:
        """Break every connection of a client that is open now."""
        with self._lock:
            clients = tuple(self._clients)
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Every connection breaks, and nobody listens meanwhile."""
        address = self._listener.getsockname()
        self._listener.shutdown(socket.SHUT_RDWR)  # closing alone would not wake who accepts
        self._listener.close()
        self.cut()
        try:
            yield
        finally:
            self._listener = socket.create_server(address)
            self._listener.settimeout(_LOOK_EVERY)

    def _start(self, run: object, *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        self._listener.settimeout(_LOOK_EVERY)
        while not self._ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # away, or at its end
                self._ended.wait(_LOOK_EVERY)
                continue
            connection.settimeout(None)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        below = connection.dup()  # of the same connection, out of reach of TLS
        with self._lock:
            self.open += 1
            self._clients.add(below)
        try:
            with self._to_client.wrap_socket(connection, server_side=True) as client:
                self._exchange(client)
        except (OSError, ValueError):  # both sides see their connection end
            with self._lock:
                self.broken += 1
        finally:
            connection.close()
            with self._lock:
                self.open -= 1
                self._clients.discard(below)
            below.close()

    def _exchange(self, client: ssl.SSLSocket) -> None:
        head, body = _read_head(client)
        if not head:
            return
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
        self.requests.append(f"{method} {target}")
        for answer in self._answers:
            if (content := answer.take(method, target)) is not None:
                _read_exactly(client, _length(head) - len(body))
                client.sendall(content)
                return
        hold = next((hold for hold in self._holds if hold.matches(method, target)), None)
        body += _read_exactly(client, _length(head) - len(body))
        if hold is not None and hold.when == "request" and hold.stop_here():
            return
        plain = socket.create_connection((self._server.hostname or "", self._server.port or 443))
        with self._to_server.wrap_socket(plain, server_hostname=self._server.hostname) as server:
            server.sendall(_one_request_only(head) + body)
            first = server.recv(_CHUNK)
            if hold is not None and hold.when == "answer" and hold.stop_here():
                return
            client.sendall(first)
            self._pump(server, client)

    def _pump(self, server: ssl.SSLSocket, client: ssl.SSLSocket) -> None:
        """Pass the answer on until either side ends."""
        while not self._ended.is_set():
            if not server.pending():
                readable, _, _ = select.select([server, client], [], [], _LOOK_EVERY)
                if client in readable:
                    return
                if server not in readable:
                    continue
            content = server.recv(_CHUNK)
            if not content:
                return
            try:
                client.sendall(content)
            except OSError:  # it left while this was on its way
                return


def _read_head(client: ssl.SSLSocket) -> tuple[bytes, bytes]:
    read = b""
    while b"\r\n\r\n" not in read:
        more = client.recv(_CHUNK)
        if not more or len(read) > HEAD_LIMIT:
            return b"", b""
        read += more
    head, _, body = read.partition(b"\r\n\r\n")
    return head, body


def _read_exactly(client: ssl.SSLSocket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        more = client.recv(min(_CHUNK, size - len(read)))
        if not more:
            raise ConnectionError("the client went away in the middle of a request")
        read += more
    return read


def _length(head: bytes) -> int:
    found = re.search(rb"(?im)^content-length: *(\d+)", head)
    return int(found[1]) if found else 0


def _one_request_only(head: bytes) -> bytes:
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])
