"""The configuration that Kubernetes gives to a Pod, found and checked by kubernetes_asyncio.

Its loader reads the token once and keeps it for a minute without stripping it; the token is therefore left to `TokenFile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config.config_exception import ConfigException
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader

from dynamo_ctrl.engine.kubernetes.config import ConfigError


def server_and_authority(token: Path, authority: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """The server's URL and the file with the certificates to trust. Raises `ConfigError`."""
    configuration = Configuration()
    try:
        loader = InClusterConfigLoader(str(token), str(authority), try_refresh_token=False, environ=dict(environ))
        loader.load_and_set(configuration)
    except (ConfigException, OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(token.parent), f"{error}; is the service account's token mounted?") from error
    return str(configuration.host), str(configuration.ssl_ca_cert)
