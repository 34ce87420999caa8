"""The `kubernetes` engine: the port of `dynamo_ctrl.engine` to a real API server.

Importing this package is cheap: the client is imported when `factory` is entered, not before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from dynamo_ctrl.engine.kubernetes.config import ConfigError

if TYPE_CHECKING:
    from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
    from dynamo_ctrl.engine.kubernetes.existing import ClientConfiguration
    from dynamo_ctrl.engine.registry import EngineConfig

__all__ = ["ConfigError", "factory", "from_client"]


@asynccontextmanager
async def factory(config: EngineConfig) -> AsyncIterator[KubernetesEngine]:
    """A connection to the cluster that `config`, the environment or the Pod names; closed at the end of the block.

    Raises:
        ConfigError: no configuration, or one that cannot be used.
    """
    made = await asyncio.to_thread(_prepare, config)
    engine = made()
    try:
        yield engine
    finally:
        await engine.close()


def _prepare(config: EngineConfig) -> Callable[[], KubernetesEngine]:
    """Import what is needed and read the configuration: work that need not hold up the loop."""
    from dynamo_ctrl.engine.kubernetes.engine import KubernetesEngine
    from dynamo_ctrl.engine.kubernetes.locate import Locator

    cluster = Locator(kubeconfig=config.kubeconfig, context=config.context, clock=config.clock).find()
    return partial(
        KubernetesEngine,
        cluster,
        user_agent=config.user_agent,
        request_timeout=config.request_timeout,
        clock=config.clock,
        on_request=config.on_request,
        observer=config.observer,
    )


def from_client(
    configuration: ClientConfiguration, config: EngineConfig | None = None
) -> AbstractAsyncContextManager[KubernetesEngine]:
    """An engine for an operator that has a kubernetes_asyncio client already; see `existing.from_client`."""
    from dynamo_ctrl.engine.kubernetes import existing

    return existing.from_client(configuration, config)
