"""The way to one server: address, proxy, TLS."""

from __future__ import annotations

import ssl

from dynamo_ctrl.clock import Clock
from dynamo_ctrl.engine.errors import Unreachable
from dynamo_ctrl.engine.kubernetes.config import ClusterConfig, ConfigError
from dynamo_ctrl.engine.kubernetes.tls import TlsContexts


class Route:
    """How to reach the server that a configuration names."""

    def __init__(self, config: ClusterConfig, clock: Clock) -> None:
        """Raises `ConfigError` for certificates that cannot be used."""
        self.server = config.server
        self.proxy = config.proxy
        self.server_name = config.tls.server_name
        self._credentials = config.credentials
        self._contexts = TlsContexts(config.tls, clock) if config.server.scheme == "https" else None

    def tls(self) -> ssl.SSLContext | None:
        """The context for the next connection; `None` for plain HTTP. Two equal answers are the same object.

        Raises:
            Unreachable: a certificate that a plug-in handed out cannot be used.
        """
        if self._contexts is None:
            return None
        try:
            return self._contexts.context(self._credentials.pair)
        except ConfigError as error:
            raise Unreachable(str(error)) from error
