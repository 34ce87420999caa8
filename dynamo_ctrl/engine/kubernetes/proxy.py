"""Which proxy a server is reached through: `proxy-url` of the kubeconfig, else the environment, as Go reads it."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Mapping

from dynamo_ctrl.engine.kubernetes.config import Address


def from_environment(server: Address, environ: Mapping[str, str]) -> Address | None:
    """The proxy for `server` by HTTPS_PROXY, HTTP_PROXY and NO_PROXY (lower case too). Raises `ConfigError`."""
    name = f"{server.scheme}_proxy"
    found = next((spelling for spelling in (name.upper(), name) if environ.get(spelling)), None)
    if found is None or bypassed(server, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    return Address.parse(environ[found], found, schemes=("http",))


def bypassed(server: Address, no_proxy: str) -> bool:
    """Whether `no_proxy` takes `server` out: `*`, addresses, networks (`10.0.0.0/8`), domains, each with a port or without.

    The loopback is always reached directly.
    """
    host = server.host.lower().rstrip(".")
    address = None
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in filter(None, (piece.strip().lower() for piece in no_proxy.split(","))):
        if entry == "*":
            return True
        with contextlib.suppress(ValueError):
            if address is not None and address in ipaddress.ip_network(entry, strict=False):
                return True
        domain, colon, port = entry.rpartition(":")
        if not (colon and port.isdecimal()):
            domain, port = entry, ""
        if port and int(port) != server.port:
            continue
        domain = domain.strip("[]").removeprefix("*")
        if host == domain or (address is None and host.endswith(domain if domain.startswith(".") else f".{domain}")):
            return True
    return False
