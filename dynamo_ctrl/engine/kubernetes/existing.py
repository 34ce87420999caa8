"""The `kubernetes` engine for an operator that has a kubernetes_asyncio client already: the same cluster, the same identity.

What the client's `Configuration` says is taken once: server, trust, certificates, proxy. Its token is asked for before each
request, through its refresh hook, as the client itself does. Nothing else of the client is used, and it stays its owner's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from dynamo_ctrl.engine.kubernetes.config import Address, ClusterConfig, Pem, Tls
from dynamo_ctrl.engine.kubernetes.credentials import Credentials, CredentialsUnavailable, Fixed
from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
from dynamo_ctrl.engine.registry import EngineConfig

TOKEN: Final = "BearerToken"  # noqa: S105 - the name under which kubernetes_asyncio keeps it
SOURCE: Final = "the client's configuration"


class ClientConfiguration(Protocol):
    """What is read of a `kubernetes_asyncio.client.Configuration`."""

    host: Any
    verify_ssl: bool
    ssl_ca_cert: Any
    cert_file: Any
    key_file: Any
    tls_server_name: Any
    proxy: Any
    username: Any
    password: Any
    api_key: Any

    async def get_api_key_with_prefix(self, identifier: str, alias: str | None = None) -> str | None:
        """The token as a header value, renewed if need be."""


class ClientToken:
    """The `Credentials` of a client: whatever it would send itself."""

    pair = None

    def __init__(self, configuration: ClientConfiguration) -> None:
        self._configuration = configuration

    async def authorization(self) -> str:
        """The token of the moment. Raises `CredentialsUnavailable` where the client's hook fails."""
        try:
            value = await self._configuration.get_api_key_with_prefix(TOKEN)
        except Exception as error:  # a hook of somebody else's may raise anything, and the text may hold a secret
            raise CredentialsUnavailable(f"{SOURCE}: refreshing the token failed: {type(error).__name__}") from error
        return value or ""

    async def renew(self, rejected: str) -> bool:
        """Whether the hook has another one by now."""
        return await self.authorization() != rejected


@asynccontextmanager
async def from_client(
    configuration: ClientConfiguration, config: EngineConfig | None = None
) -> AsyncIterator[KubernetesEngine]:
    """An engine that talks to the cluster of `configuration` as its client does; closed at the end of the block.

    Args:
        configuration: a `kubernetes_asyncio.client.Configuration`; `client.configuration` of an `ApiClient`.
        config: everything that is not about where the cluster is and who we are; `kubeconfig` and `context` mean nothing here.

    Raises:
        ConfigError: the configuration cannot be used, for example a proxy that is not `http://`.
    """
    config = config or EngineConfig()
    engine = KubernetesEngine(
        cluster_config(configuration),
        user_agent=config.user_agent,
        request_timeout=config.request_timeout,
        clock=config.clock,
        on_request=config.on_request,
        observer=config.observer,
    )
    try:
        yield engine
    finally:
        await engine.close()


def cluster_config(configuration: ClientConfiguration) -> ClusterConfig:
    """The same cluster and identity, in this package's terms. Raises `ConfigError`."""
    proxy = configuration.proxy
    return ClusterConfig(
        server=Address.parse(configuration.host, f"{SOURCE}: host"),
        tls=Tls(
            authority=Pem(path=str(configuration.ssl_ca_cert or "")),
            certificate=Pem(path=str(configuration.cert_file or "")),
            key=Pem(path=str(configuration.key_file or "")),
            insecure=not configuration.verify_ssl,
            server_name=str(configuration.tls_server_name or ""),
        ),
        proxy=Address.parse(proxy, f"{SOURCE}: proxy", schemes=("http",)) if proxy else None,
        credentials=_credentials(configuration),
        source=SOURCE,
    )


def _credentials(configuration: ClientConfiguration) -> Credentials:
    if TOKEN in configuration.api_key:
        return ClientToken(configuration)
    if configuration.username:
        return Fixed.basic(configuration.username, configuration.password or "")
    return Fixed()
