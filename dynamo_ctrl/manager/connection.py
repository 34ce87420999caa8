"""`Connection`: the engine of a manager, and the one that its leader election has for itself.

An engine that is named is opened and closed here, and its requests are counted; one that is given stays its owner's.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace

from dynamo_ctrl.engine.port import Engine
from dynamo_ctrl.engine.registry import EngineConfig, open_engine
from dynamo_ctrl.manager.elector import OpenEngine
from dynamo_ctrl.manager.request_numbers import RequestNumbers

IN_PROCESS = "memory"
"""The engine that lives in this process: opened twice, it is two worlds."""

USER_AGENT = "leader-election"
"""Marks the election's requests in the server's logs, after the manager's own name."""


class Connection:
    """See the module.

    Args:
        asked: the name of an engine, or an engine.
        config: for a named one.
        requests: counts the requests of a named engine, on the loop that opened it.
        lease_engine: opens an engine for the leader election; needed where one was given and a thread is wanted.
    """

    def __init__(
        self, asked: str | Engine, config: EngineConfig, requests: RequestNumbers, lease_engine: OpenEngine | None
    ) -> None:
        self._asked = asked
        self._config = config
        self._requests = requests
        self._lease_engine = lease_engine
        self._home: asyncio.AbstractEventLoop | None = None

    def opened(self) -> AbstractAsyncContextManager[Engine]:
        """The manager's engine, open inside the block."""
        self._home = asyncio.get_running_loop()
        if not isinstance(self._asked, str):
            return nullcontext(self._asked)
        observer = self._config.observer or self._requests.histograms
        return open_engine(self._asked, replace(self._config, on_request=self._told, observer=observer))

    @property
    def for_leases(self) -> OpenEngine | None:
        """Opens an engine for the leader election, in whatever loop runs; `None` where there cannot be one."""
        if self._lease_engine is not None:
            return self._lease_engine
        if not isinstance(self._asked, str) or self._asked == IN_PROCESS:
            return None
        return self._opened_for_leases

    def _opened_for_leases(self) -> AbstractAsyncContextManager[Engine]:
        assert isinstance(self._asked, str), "a given engine cannot be opened again"  # noqa: S101
        agent = f"{self._config.user_agent}/{USER_AGENT}"
        return open_engine(
            self._asked, replace(self._config, user_agent=agent, on_request=self._told_abroad, observer=None)
        )

    def _told(self, method: str, host: str, code: int, seconds: float) -> None:
        self._requests.count(method, host, code, seconds)
        if self._config.on_request is not None:
            self._config.on_request(method, host, code, seconds)

    def _told_abroad(self, method: str, host: str, code: int, seconds: float) -> None:
        assert self._home is not None, "the manager is open while it campaigns"  # noqa: S101
        with suppress(RuntimeError):  # the manager's loop is closed: nobody counts any more
            self._home.call_soon_threadsafe(self._told, method, host, code, seconds)
