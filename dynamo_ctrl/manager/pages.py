"""`Pages`: what a manager serves over HTTP, by address option and first part of the path."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dynamo_ctrl.manager.errors import AlreadyStarted
from dynamo_ctrl.manager.http import Handler, HttpServer, parse_address, servers

Where: TypeAlias = Literal["health", "metrics"]
"""Beside the health checks, or beside the metrics."""


class Pages:
    """The pages of one manager.

    Args:
        health_address, metrics_address: see `parse_address`.

    Raises:
        InvalidOption: an address that cannot be read.
    """

    def __init__(self, health_address: str, metrics_address: str) -> None:
        self._addresses: dict[Where, str] = {"health": health_address, "metrics": metrics_address}
        for where, address in self._addresses.items():
            parse_address(f"{where}_address", address)
        self._pages: dict[Where, dict[str, Handler]] = {"health": {}, "metrics": {}}
        self._open = True

    def host(self, where: Where) -> str | None:
        """The host of that address; empty where nothing is served, `None` for every interface."""
        parsed = parse_address(f"{where}_address", self._addresses[where])
        return parsed[0] if parsed is not None else ""

    def add(self, where: Where, route: str, handler: Handler) -> None:
        """Serve `/route` and everything below.

        Raises:
            ValueError: the route has more than one part, or is taken there.
            AlreadyStarted: the servers run.
        """
        if not self._open:
            raise AlreadyStarted(f"/{route} cannot be served: the servers run")
        if not route or "/" in route:
            raise ValueError(f"route: must be one part of a path, got {route!r}")
        if route in self._pages[where]:
            raise ValueError(f"route: /{route} is taken")
        self._pages[where][route] = handler

    def servers(self) -> list[HttpServer]:
        """The servers for all of it; two options with one address share one. No page can be added any more."""
        self._open = False
        return servers(
            *((f"{where}_address", self._addresses[where], pages) for where, pages in self._pages.items())
        )  # fmt: skip
