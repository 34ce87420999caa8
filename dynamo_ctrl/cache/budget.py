"""`Budget`: a warning when the cached objects take more memory than they should, with the kinds that take most of it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

import structlog

from dynamo_ctrl.cache.shared_informer import SharedInformer

log = structlog.get_logger()

EVERY: Final = 10.0
"""Seconds between two looks."""

NAMED: Final = 5
"""How many kinds a warning names."""

GROWTH: Final = 1.1
"""By what factor it must have grown to be worth another warning."""


class Budget:
    """Compares an estimate of what is cached with a budget.

    Args:
        limit: bytes; 0 for none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._warned = 0.0

    async def watch(self, informers: Callable[[], Iterable[SharedInformer[Any]]]) -> None:
        """Look again and again, until cancelled."""
        while self._limit:
            self.check(informers())
            await asyncio.sleep(EVERY)
        await asyncio.get_running_loop().create_future()

    def check(self, informers: Iterable[SharedInformer[Any]]) -> bool:
        """Whether the budget is kept. If not, and if it is news, it is logged."""
        sizes: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for informer in informers:
            counts = informer.counts()
            size = sizes[str(informer.kind)]
            size[0] += counts.memory
            size[1] += counts.objects
        total = sum(memory for memory, _ in sizes.values())
        if total <= self._limit:
            self._warned = 0.0
            return True
        if total >= self._warned * GROWTH:
            self._warned = total
            largest = sorted(sizes.items(), key=lambda item: -item[1][0])[:NAMED]
            log.warning(
                "the cache exceeds its memory budget; select or project the largest kinds",
                budget=self._limit,
                estimate=total,
                largest={kind: f"{memory} bytes, {objects} objects" for kind, (memory, objects) in largest},
            )
        return False
