"""What a run looks at: the applied objects and everything that they own, through a cache of its own.

It reads by itself, beside the manager, so that what the summary counts is the work of the programs alone. It needs no right of
its own: a part of the owner tree that the account may not list is left out, without a word about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dynamo_ctrl.cache.cache import Cache, CacheOptions
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.builder import Watches
from dynamo_ctrl.engine.errors import EngineError, Forbidden
from dynamo_ctrl.engine.port import Engine, ListOptions
from dynamo_ctrl.objects.builtin.apps import DEPLOYMENT, REPLICA_SET
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.readiness import readiness
from dynamo_manager.tree import Row, rows

AnyObject = Object[Any, Any]

WORKLOADS: tuple[Kind[Any], ...] = (DEPLOYMENT, REPLICA_SET, POD)
"""What ends every branch of the owner tree."""


class Observer:
    """Follows some namespaces of a cluster.

    Args:
        engine: the cluster.
        clock: the time.
        namespaces: that are followed.
        kinds: what the applied objects can own, from the top down.
    """

    def __init__(self, engine: Engine, *, clock: Clock, namespaces: Iterable[str], kinds: Sequence[Kind[Any]]) -> None:
        self._engine = engine
        self._namespaces = tuple(namespaces)
        self._kinds = tuple(kinds)
        self._tree: tuple[Kind[Any], ...] = ()  # those that may be read, once that is known
        self._cache = Cache(engine, clock=clock, options=CacheOptions(namespaces=self._namespaces))
        self._informers: dict[Kind[Any], Informer[Any]] = {}
        self._expected: dict[tuple[Kind[Any], object], AnyObject] = {}

    async def run(self) -> None:
        """Follow until cancelled."""
        self._tree = tuple([kind for kind in self._kinds if await self._may_list(kind)])
        for kind in self._tree:
            self._open(kind)
        await self._cache.run()

    def expect(self, applied: Iterable[AnyObject]) -> None:
        """Look at these objects too, from now on in the version that was applied or a newer one."""
        for obj in applied:
            self._open(obj.kind)
            self._expected[obj.kind, obj.key] = obj

    def pending(self) -> tuple[str, ...]:
        """What keeps each expected object from being ready, one line each; empty when all are."""
        return tuple(line for line in (self._pending(obj) for obj in self._expected.values()) if line)

    def rows(self) -> tuple[Row, ...]:
        """The owner trees of the expected objects that can own something; empty until everything in them can be read."""
        if not all(self._informers[kind].ready for kind in self._tree):
            return ()
        roots = [self._live(obj) for obj in self._expected.values() if obj.kind in self._tree]
        return tuple(rows(self._cache.view(self._informers), [root for root in roots if root is not None], self._tree))

    async def _may_list(self, kind: Kind[Any]) -> bool:
        """Whether nobody says no. Everything else that may be wrong is for the cache to wait for."""
        for namespace in self._namespaces or ("",):
            try:
                await self._engine.list(kind, ListOptions(namespace=namespace, limit=1))
            except Forbidden:
                return False
            except EngineError:
                continue
        return True

    def _open(self, kind: Kind[Any]) -> None:
        if kind not in self._informers:
            self._informers[kind] = self._cache.informer(kind, optional=True)

    def _live(self, applied: AnyObject) -> AnyObject | None:
        if not self._informers[applied.kind].ready:
            return None
        found: AnyObject | None = self._cache.view(self._informers).get(applied.kind, applied.key)
        return found

    def _pending(self, applied: AnyObject) -> str:
        source = self._informers[applied.kind]
        if not source.ready:
            return f"{applied.ref}: cannot be looked at: {source.state}"
        live = self._live(applied)
        if live is None:
            return f"{applied.ref}: is not there"
        if live.metadata.uid == applied.metadata.uid and live.metadata.generation < applied.metadata.generation:
            return f"{applied.ref}: generation {applied.metadata.generation} is not seen yet"
        state = readiness(live)
        return "" if state.ready else f"{applied.ref}: {state.text}"


def kinds(watches: Sequence[Watches[Any]]) -> tuple[Kind[Any], ...]:
    """The owner tree's kinds from the top: the programs' primaries as they own each other, then workloads."""
    owned = {watch.kind for one in watches for watch in one.others}
    primaries = sorted((one.primary.kind for one in watches), key=lambda kind: kind in owned)
    return tuple(dict.fromkeys((*primaries, *WORKLOADS)))
