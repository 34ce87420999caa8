"""How long a start waits for the caches: until none is at its first list any more, be it live, absent or forbidden."""

from __future__ import annotations

import asyncio

from dynamo_ctrl.cache.cache import Cache
from dynamo_ctrl.cache.state import Phase


async def caches_known(cache: Cache, timeout: float) -> tuple[str, ...]:  # noqa: ASYNC109  (it is no error when it passes)
    """Returns when the state of every informer that there is now is known, or after `timeout` seconds.

    The kinds that are still at their first list then; their dependants wait for them by themselves.
    """
    changed = asyncio.Event()
    informers = list(cache.informers)
    ends = [informer.watch_state(lambda state: changed.set()) for informer in informers]
    waiting: tuple[str, ...] = ()
    try:
        async with asyncio.timeout(timeout):
            while waiting := tuple(str(each.kind) for each in informers if each.state.phase is Phase.SYNCING):
                changed.clear()
                await changed.wait()
    except TimeoutError:
        return waiting
    finally:
        for end in ends:
            end()
    return ()
