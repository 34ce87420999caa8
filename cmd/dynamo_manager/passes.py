"""Forced passes: every primary once more although nothing happened. Over a converged world they write nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.queue.causes import Cause
from dynamo_manager.errors import NotReadyError

PASSES = 10
"""How many forced passes a summary makes."""

IDLE_TIMEOUT = 30.0
"""Seconds that one pass may take to come to rest."""

_LOOK_EVERY = 0.01


async def force(controllers: Sequence[Controller], *, passes: int = PASSES) -> None:
    """Let every primary of every controller run `passes` times, and wait until the queues are idle after each.

    Raises:
        NotReadyError: a pass does not come to rest in time.
    """
    await rest(controllers)
    for number in range(1, passes + 1):
        for controller in controllers:
            try:
                primaries = controller.view.list(controller.watches.primary.kind)
            except SourceUnavailable:
                continue
            for primary in primaries:
                controller.wake(primary.key, Cause("pass", f"forced {number}"))
        await rest(controllers)


async def rest(controllers: Sequence[Controller]) -> None:
    """Return when nothing is queued and nothing runs. Raises `NotReadyError` after `IDLE_TIMEOUT`."""
    try:
        async with asyncio.timeout(IDLE_TIMEOUT):
            # Polled: a queue tells nobody that it is idle, and only this summary wants to know.
            while any(len(controller.queue) or controller.queue.processing for controller in controllers):  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        busy = tuple(
            f"controller {controller.name}: {len(controller.queue)} queued, {controller.queue.processing} running"
            for controller in controllers
        )
        raise NotReadyError(busy) from None
