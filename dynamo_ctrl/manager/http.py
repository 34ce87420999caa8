"""A small HTTP server for health and metrics: GET only, no state, loopback or wherever the address says.

aiohttp is imported when a server starts, so that a manager without an address does not pay for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from dynamo_ctrl.manager.errors import CannotListen, InvalidOption
from dynamo_ctrl.manager.health import Response

if TYPE_CHECKING:
    from aiohttp import web

Handler: TypeAlias = Callable[[str, Mapping[str, Sequence[str]]], Response]
"""Answers a request, given what follows the route in the path, and the query."""

SHUTDOWN = 1.0
"""Seconds that open requests get when the server stops."""


def parse_address(option: str, address: str) -> tuple[str | None, int] | None:
    """`host:port`, `[v6]:port` or `:port` (every interface); `None` for "" and "0", which switch a server off.

    Raises:
        InvalidOption: anything else, in the name of `option`.
    """
    if address in ("", "0"):
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or (":" in host and not host.startswith("[")):
        raise InvalidOption(option, f"must be 'host:port', ':port' or '0' to switch it off, got {address!r}")
    return host.strip("[]") or None, int(port)


class HttpServer:
    """One listener.

    Args:
        option: the option that holds the address, for errors.
        address: see `parse_address`; must not be switched off.
        routes: handlers by first part of the path, e.g. `readyz` for `/readyz` and everything below.
    """

    def __init__(self, option: str, address: str, routes: Mapping[str, Handler]) -> None:
        parsed = parse_address(option, address)
        if parsed is None:
            raise InvalidOption(option, "a server needs an address")
        self._option = option
        self.address = address
        self._host, self._port = parsed
        self._routes = routes
        self._listening = asyncio.Event()
        self.port = 0
        """The port that it listens on; 0 before it does."""

    async def ready(self) -> None:
        """Returns when requests are answered."""
        await self._listening.wait()

    async def run(self) -> None:
        """Serve until cancelled. Raises `CannotListen`."""
        from aiohttp import web

        application = web.Application()
        application.router.add_get("/{route}{rest:.*}", self._answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self._port)
            try:
                await site.start()
            except OSError as error:
                raise CannotListen(self._option, self.address, error.strerror or str(error)) from error
            self.port = runner.addresses[0][1]
            self._listening.set()
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        from aiohttp import web

        route, _, rest = request.path.lstrip("/").partition("/")
        handler = self._routes.get(route)
        if handler is None:
            known = ", ".join(f"/{name}" for name in self._routes)
            return web.Response(status=404, text=f"not found; there are: {known}\n")
        answer = handler(rest, {name: request.query.getall(name) for name in request.query})
        return web.Response(
            status=answer.status, body=answer.body.encode(), headers={"Content-Type": answer.content_type}
        )


def servers(*wanted: tuple[str, str, Mapping[str, Handler]]) -> list[HttpServer]:
    """The servers for options with their addresses and routes; options with one address share a server.

    Raises:
        InvalidOption: an address that cannot be read.
    """
    routes: dict[str, dict[str, Handler]] = {}
    options: dict[str, str] = {}
    for option, address, served in wanted:
        if parse_address(option, address) is not None:
            routes.setdefault(address, {}).update(served)
            options.setdefault(address, option)
    return [HttpServer(options[address], address, served) for address, served in routes.items()]
