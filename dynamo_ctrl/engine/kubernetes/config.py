"""What must be known to talk to one cluster: a value, made once, read by everything else in this package.

Nothing here does I/O. `locate` finds the configuration, `tls` and `credentials` use it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from dynamo_ctrl.engine.kubernetes.credentials import Credentials


class ConfigError(Exception):
    """The configuration cannot be used.

    Attributes:
        where: the file, variable or field that is wrong, as the user knows it.
        rule: what is wrong with it, and what to do.
    """

    def __init__(self, where: str, rule: str) -> None:
        self.where = where
        self.rule = rule
        super().__init__(f"{where}: {rule}")


@dataclass(frozen=True, slots=True)
class Pem:
    """PEM text that was given in place, or the path of a file with it (which may change under us)."""

    path: str = ""
    data: bytes = field(default=b"", repr=False)

    def __bool__(self) -> bool:
        return bool(self.path or self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How the server proves who it is, and how we do.

    Attributes:
        authority: certificates to trust; empty for the system's own.
        certificate: our certificate, with its chain.
        key: our private key.
        insecure: trust any server.
        server_name: name to expect in the server's certificate; empty for the host of the URL.
    """

    authority: Pem = Pem()
    certificate: Pem = Pem()
    key: Pem = Pem()
    insecure: bool = False
    server_name: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """An `http` or `https` URL, taken apart."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str = ""
    user: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str, where: str, *, schemes: tuple[str, ...] = ("http", "https")) -> Address:
        """Read a URL. A missing scheme reads as the first of `schemes`. Raises `ConfigError`."""
        try:
            parts: SplitResult = urlsplit(text if "://" in text else f"{schemes[0]}://{text}")
            port = parts.port
        except ValueError as error:
            raise ConfigError(where, f"{text!r} is not a URL ({error})") from error
        if parts.scheme not in schemes:
            raise ConfigError(where, f"scheme {parts.scheme!r} is not supported; use {' or '.join(schemes)}")
        if not parts.hostname:
            raise ConfigError(where, f"{text!r} names no host")
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        standard = 443 if scheme == "https" else 80
        path = parts.path.rstrip("/")
        return cls(scheme, parts.hostname, port or standard, path, parts.username or "", parts.password or "")

    @property
    def authority(self) -> str:
        """Host and port as a URL and a `Host` header spell them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """One cluster, and who we are to it.

    Attributes:
        server: the API server's base URL.
        tls: trust, and our client certificate.
        proxy: the HTTP proxy to go through, if any.
        credentials: where the headers that identify us come from.
        headers: further headers for every request (impersonation); a name may repeat.
        namespace: the namespace that the configuration names as its default.
        source: where all of this was found, for messages.
    """

    server: Address
    credentials: Credentials
    tls: Tls = Tls()
    proxy: Address | None = None
    headers: tuple[tuple[str, str], ...] = ()
    namespace: str = ""
    source: str = ""
