"""Forced passes: every primary once more although nothing happened. Over a converged world they write nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from dynamo_ctrl.cache.view import SourceUnavailable
from dynamo_ctrl.controller.controller import Controller
from dynamo_ctrl.queue.causes import Cause
from dynamo_manager.errors import NotReadyError

PASSES: Final = 10
"""How many forced passes a summary makes."""

QUIET: Final = 0.3
"""Seconds without any reconcile after which a world counts as settled: the last events have arrived."""

REST_TIMEOUT: Final = 30.0
"""Seconds that controllers may take to come to rest."""

_LOOK_EVERY: Final = 0.01


async def force(controllers: Sequence[Controller], *, passes: int = PASSES) -> int:
    """Let every primary of every controller run `passes` times, and wait until the queues are idle after each.

    Returns the number of reconciles.

    Raises:
        NotReadyError: a pass does not come to rest in time.
    """
    before = reconciles(controllers)
    for number in range(1, passes + 1):
        for controller in controllers:
            try:
                primaries = controller.view.list(controller.watches.primary.kind)
            except SourceUnavailable:
                continue
            for primary in primaries:
                controller.wake(primary.key, Cause("pass", f"forced {number}"))
        await _until(controllers, lambda: not busy(controllers))
    return reconciles(controllers) - before


async def settled(controllers: Sequence[Controller]) -> None:
    """Return when nothing has run, and nothing is queued, for `QUIET` seconds. Raises `NotReadyError`."""
    loop = asyncio.get_running_loop()
    seen, since = reconciles(controllers), loop.time()

    def quiet() -> bool:
        nonlocal seen, since
        now = reconciles(controllers)
        if now != seen or busy(controllers):
            seen, since = now, loop.time()
        return loop.time() - since >= QUIET

    await _until(controllers, quiet)


def busy(controllers: Sequence[Controller]) -> bool:
    """Whether something runs or is ready to."""
    return any(len(controller.queue) or controller.queue.processing for controller in controllers)


def reconciles(controllers: Sequence[Controller]) -> int:
    """How many reconciles have ended so far."""
    return sum(
        numbers.success + numbers.error + numbers.requeue + numbers.requeue_after
        for numbers in (controller.numbers for controller in controllers)
    )


async def _until(controllers: Sequence[Controller], reached: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(REST_TIMEOUT):
            # Polled: a queue tells nobody that it is idle, and only this summary wants to know.
            while not reached():  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        reasons = [
            f"controller {controller.name}: {len(controller.queue)} queued, {controller.queue.processing} running"
            for controller in controllers
        ]
        raise NotReadyError(f"the controllers did not come to rest within {REST_TIMEOUT:g} s", reasons) from None
