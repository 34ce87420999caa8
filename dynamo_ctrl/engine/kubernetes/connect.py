"""Opening a connection: directly, or through an HTTP proxy (CONNECT), with TLS or without."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from dynamo_ctrl.engine.errors import Unreachable, Untrusted
from dynamo_ctrl.engine.kubernetes.config import Address
from dynamo_ctrl.engine.kubernetes.connection import Broken, Connection
from dynamo_ctrl.engine.kubernetes.response import ProtocolError

Resolved = Callable[[str, float], None]
"""Told a name that was looked up, and the seconds that it took."""

CONNECT_TIMEOUT: Final = 10.0
"""Seconds for name resolution, TCP, proxy and TLS together."""


def proxy_headers(proxy: Address) -> dict[str, str]:
    """What the proxy must be told about us."""
    if not proxy.user:
        return {}
    return {"Proxy-Authorization": "Basic " + base64.b64encode(f"{proxy.user}:{proxy.password}".encode()).decode()}


async def connect(
    server: Address,
    tls: ssl.SSLContext | None,
    server_name: str,
    proxy: Address | None,
    *,
    resolved: Resolved | None = None,
) -> Connection:
    """A connection to `server`, ready for a request. With a proxy and without TLS it leads to the proxy.

    `resolved` is told of each name that was looked up.

    Raises:
        Unreachable: nothing was sent to the server; `Untrusted` if that is because of its certificate.
    """
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            if proxy is None:
                return await _open(server, tls, server_name, resolved)
            connection = await _open(proxy, None, "", resolved)
            return connection if tls is None else await _tunnel(connection, server, tls, server_name, proxy)
    except TimeoutError as error:
        raise Unreachable(f"{server}: no connection within {CONNECT_TIMEOUT:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise Untrusted(f"{server}: the server's certificate is not trusted: {error.verify_message}") from error
    except OSError as error:  # ssl.SSLError and name resolution are OSErrors
        raise Unreachable(f"{server}: {str(error) or 'the connection broke before it was made'}") from error


async def _open(
    address: Address, tls: ssl.SSLContext | None, server_name: str, resolved: Resolved | None
) -> Connection:
    hosts = [address.host] if resolved is None else await _look_up(address, resolved)
    for host in hosts[:-1]:
        with suppress(OSError):  # the next one may do
            return await _reach(host, address, tls, server_name)
    return await _reach(hosts[-1], address, tls, server_name)


async def _reach(host: str, address: Address, tls: ssl.SSLContext | None, server_name: str) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, address.port)
    return connection if tls is None else await _secured(connection, tls, server_name or address.host)


async def _secured(plain: Connection, tls: ssl.SSLContext, server_name: str) -> Connection:
    """A connection with TLS over `plain`, which is gone if that fails."""
    secured = Connection(plain.transport)
    try:
        transport = await asyncio.get_running_loop().start_tls(
            plain.transport, secured, tls, server_hostname=server_name
        )
    except BaseException:
        plain.abort()
        raise
    if transport is None:
        raise ConnectionResetError("the connection was closed before there was TLS")
    secured.connection_made(transport)
    return secured


async def _look_up(address: Address, resolved: Resolved) -> list[str]:
    """The addresses of a host, in the order in which they are to be tried; what is an address already is not looked up."""
    try:
        ipaddress.ip_address(address.host)
    except ValueError:
        pass
    else:
        return [address.host]
    loop = asyncio.get_running_loop()
    began = loop.time()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    resolved(address.host, loop.time() - began)
    return [str(sockaddr[0]) for *_, sockaddr in found] or [address.host]


async def _tunnel(
    outer: Connection, server: Address, tls: ssl.SSLContext, server_name: str, proxy: Address
) -> Connection:
    try:
        headers = {"Host": server.authority, **proxy_headers(proxy)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        outer.send(f"CONNECT {server.authority} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"), bodyless=True)
        head = await outer.head()
        if not 200 <= head.status < 300:
            raise Unreachable(f"{server}: the proxy {proxy} answered {head.status} to CONNECT")
        return await _secured(outer, tls, server_name or server.host)
    except (Broken, ProtocolError) as error:
        outer.abort()
        raise Unreachable(f"{server}: the proxy {proxy} did not open a tunnel: {error}") from error
    except BaseException:
        outer.abort()
        raise
