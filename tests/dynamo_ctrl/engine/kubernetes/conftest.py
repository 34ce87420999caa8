"""A scriptable HTTP server on loopback, a CONNECT proxy, and certificates, for the tests of the kubernetes engine."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop

from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.engine.kubernetes.config import Address, ClusterConfig, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import Fixed
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.kubernetes.retry import RetryOptions, Sleep
from dynamo_ctrl.engine.observe import RequestObserver
from dynamo_ctrl.engine.registry import OnRequest
from envtest.certificates import Authority, Pair

T = TypeVar("T")


@dataclass
class Received:
    """One request, as the server read it."""

    method: str
    target: str
    headers: dict[str, list[str]]
    body: bytes
    peer: dict[str, Any] | None = None
    sni: str | None = None

    def header(self, name: str) -> str:
        return self.headers.get(name, [""])[-1]


Handler = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Loopback:
    """The server; `received` grows with each request."""

    handler: Handler
    address: Address
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    sni: list[str | None] = field(default_factory=list)

    async def until(self, count: int) -> None:
        """Wait until that many requests have arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.received) >= count)


def reply(
    body: bytes | dict[str, Any] = b"{}",
    status: int = 200,
    headers: Sequence[tuple[str, str]] = (),
    *,
    chunked: bool = False,
) -> bytes:
    """The bytes of a response."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers)]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
        content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(content), content) if content else b"0\r\n\r\n"
    else:
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


def answers(*replies: bytes | None) -> Handler:
    """A handler that gives one reply after the other, the last one for ever; `None` drops the connection."""
    left = list(replies)

    async def handle(_: Received, writer: asyncio.StreamWriter) -> None:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if answer is None:
            writer.transport.abort()
        else:
            writer.write(answer)
            await writer.drain()

    return handle


async def _read_request(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.lower(), []).append(value.strip())
    length = int(headers.get("content-length", ["0"])[0])
    return Received(method, target, headers, await reader.readexactly(length))


@asynccontextmanager
async def serve(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    """A server that answers as `handler` says; with `tls` over TLS."""
    writers: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()
    server_name: list[str | None] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loopback.connections += 1
        writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            while True:
                request = await _read_request(reader)
                request.peer = writer.get_extra_info("peercert")
                loopback.received.append(request)
                async with loopback.arrived:
                    loopback.arrived.notify_all()
                await loopback.handler(request, writer)
        writers.discard(writer)
        writer.transport.abort()

    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: server_name.append(name)
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls, limit=1 << 24)
    port = server.sockets[0].getsockname()[1]
    loopback = Loopback(handler, Address("https" if tls else "http", "127.0.0.1", port), sni=server_name)
    try:
        yield loopback
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        for writer in tuple(writers):
            writer.transport.abort()
        for _ in range(20):
            await asyncio.sleep(0)


@asynccontextmanager
async def serve_proxy(authorization: str = "", status: int = 200) -> AsyncIterator[Loopback]:
    """An HTTP proxy that opens tunnels (CONNECT) and forwards plain requests; it records what it was asked."""
    tasks: set[asyncio.Task[None]] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.transport.abort()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        proxy.connections += 1
        try:
            request = await _read_request(reader)
            proxy.received.append(request)
            if status != 200 or (authorization and request.header("proxy-authorization") != authorization):
                writer.write(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % (407 if status == 200 else status))
                await writer.drain()
            else:
                await forward(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def forward(request: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        where = request.target if request.method == "CONNECT" else request.target.removeprefix("http://").split("/")[0]
        host, _, port = where.rpartition(":")
        upstream, out = await asyncio.open_connection(host, int(port))
        try:
            if request.method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = request.target.removeprefix(f"http://{where}")
                lines = "".join(f"{name}: {value}\r\n" for name, values in request.headers.items() for value in values)
                out.write(f"{request.method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + request.body)
            await asyncio.gather(pump(reader, out), pump(upstream, writer))
        finally:
            out.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    proxy = Loopback(answers(b""), Address("http", "127.0.0.1", server.sockets[0].getsockname()[1]))
    try:
        yield proxy
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _ in range(20):
            await asyncio.sleep(0)


@dataclass(frozen=True)
class Certificates:
    """One authority, a server and a user of it, and files of them."""

    authority: Authority
    server: Pair
    user: Pair
    folder: Path

    def server_context(self, *, ask: bool = False) -> ssl.SSLContext:
        """What the server uses; with `ask` it demands a client certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            self.file("server.crt", self.server.certificate), self.file("server.key", self.server.key)
        )
        if ask:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.authority.certificate.decode())
        return context

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    @property
    def trust(self) -> Tls:
        return Tls(authority=Pem(data=self.authority.certificate))


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    authority = Authority("test")
    server = authority.server(["kubernetes.test"], ["127.0.0.1"])
    return Certificates(authority, server, authority.user("alice"), tmp_path_factory.mktemp("certificates"))


class Pauses:
    """A sleep that does not wait, and remembers for how long it did not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


@asynccontextmanager
async def connected(
    address: Address,
    *,
    clock: Clock | None = None,
    request_timeout: float = 5.0,
    retry: RetryOptions | None = None,
    sleep: Sleep | None = None,
    on_request: OnRequest | None = None,
    observer: RequestObserver | None = None,
    **config: Any,
) -> AsyncIterator[KubernetesEngine]:
    """An engine for the server at `address`; it does not really wait before a retry."""
    engine = KubernetesEngine(
        ClusterConfig(server=address, **{"credentials": Fixed(), **config}),
        user_agent="test/1",
        request_timeout=request_timeout,
        clock=clock or SystemClock(),
        retry=retry,
        sleep=sleep or Pauses(),
        on_request=on_request,
        observer=observer,
    )
    try:
        yield engine
    finally:
        await engine.close()


def run(main: Coroutine[Any, Any, T], loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> T:
    """Run to the end on a loop of the machine within 30 s; a task that is left behind is a failure."""

    async def watched() -> T:
        async with asyncio.timeout(30):
            result = await main
        for _ in range(5):
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        return result

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(watched())


class Kit:
    """Everything above, for tests, which cannot import a conftest."""

    def __init__(self, loop: str = "asyncio") -> None:
        self._loop_factory = uvloop.new_event_loop if loop == "uvloop" else None

    reply = staticmethod(reply)
    answers = staticmethod(answers)
    serve = staticmethod(serve)
    serve_proxy = staticmethod(serve_proxy)
    connected = staticmethod(connected)
    pauses = Pauses

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        return run(main, self._loop_factory)

    @staticmethod
    def basic(user: str, password: str) -> str:
        return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Kit:
    """The tools; a module that is parametrised with `kit` runs on each kind of loop."""
    return Kit(getattr(request, "param", "asyncio"))
