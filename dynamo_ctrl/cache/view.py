"""`View`: the read side of the cache, as programs see it.

Contract:

- Reads never wait and copy nothing: they hand out the shared, immutable objects themselves.
- Results with several objects are ordered by key, so that a program that iterates them is deterministic.
- Own writes are visible at once (the overlay), before the watch has told them.
- A kind that is declared `optional` reads as empty while its API is absent; in a cache of some namespaces, also while it has
  cluster scope and may not be read. Every other kind that cannot be read (no right,
  not synced, never declared) raises `SourceUnavailable`: a program never acts on half a world.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.selection import Selection
from dynamo_ctrl.cache.shared_informer import SharedInformer
from dynamo_ctrl.cache.state import Phase
from dynamo_ctrl.clock import Clock, SystemClock
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class SourceUnavailable(Exception):
    """A kind cannot be read from the cache now; `reason` says why and what mends it."""

    def __init__(self, kind: Kind[Any], reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind} cannot be read: {reason}")


class View(Protocol):
    """Reads of one cluster's cached objects."""

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`."""

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects of one namespace (empty: all) that match the label selector (`None`: all)."""

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`. Raises `SourceUnavailable` for an index that nobody declared."""

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` that `owner` controls: the controller reference carries its uid."""

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the cluster has that API, and has it for us. Never raises."""


@runtime_checkable
class Selective(Protocol):
    """A view whose sources may be restricted: not every object that is written can be read back through it."""

    def selection(self, kind: Kind[Any]) -> Selection | None:
        """Which objects of that kind can be read; `None` for a kind that was not declared."""


SELECTORS: Final = 1_000
"""How many parsed selectors a view remembers; then it begins anew."""

WALK: Final = 0.004
"""Seconds for which a walk keeps the loop."""


class CachedView:
    """The `View` of informers. It lives as long as their handles; more can be opened to it, and closed again, at any time.

    Args:
        informers: one for each kind that may be read.
        clock: measures how long `walk` keeps the loop.
    """

    def __init__(self, informers: Mapping[Kind[Any], Informer[Any]], *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._informers = dict(informers)
        self._shared = {kind.id: informer.shared for kind, informer in informers.items()}
        self._selectors: dict[str, LabelSelector] = {}

    def open(self, informer: Informer[Any]) -> None:
        """Its kind can be read from now on."""
        self._informers[informer.kind] = informer
        self._shared[informer.kind.id] = informer.shared

    def close(self, kind: Kind[Any]) -> None:
        """The kind cannot be read any more."""
        self._informers.pop(kind, None)
        self._shared.pop(kind.id, None)

    def get(self, kind: Kind[O], key: Key | str) -> O | None:
        """The object with that key, or `None`. Raises `SourceUnavailable`."""
        if isinstance(key, str):
            key = Key.parse(key)
        try:
            # by position: to unpack a named tuple, Python makes an iterator
            return self._shared[kind.id].visible[key[0]][key[1]]  # type: ignore[no-any-return]
        except KeyError:
            self._missing(kind, key[0])
            return None

    def list(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> Sequence[O]:
        """The objects of one namespace (empty: all) that match. Raises `SourceUnavailable`, `InvalidSelector`."""
        shared = self._shared.get(kind.id)
        if shared is None or not shared.readable:
            self._unreadable(kind)
            return ()
        if namespace:
            self._check(shared, namespace)
        if not selector:
            return shared.store.list(namespace)
        if isinstance(selector, str):
            selector = self._parsed(selector)
        if isinstance(selector, LabelSelector):
            return shared.store.select(selector, namespace)
        return shared.store.having(selector, namespace)

    async def walk(
        self, kind: Kind[O], *, namespace: str = "", selector: Mapping[str, str] | str | LabelSelector | None = None
    ) -> AsyncIterator[O]:
        """What `list` returns, one by one; the loop is given back whenever it was kept for a slice. Raises as `list` does."""
        pace = Pace(self._clock, WALK)
        for obj in self.list(kind, namespace=namespace, selector=selector):
            yield obj
            await pace.breathe()

    def by_index(self, index: Index[O], value: str) -> Sequence[O]:
        """The objects that have `value` in `index`. Raises `SourceUnavailable`."""
        shared = self._shared.get(index.kind.id)
        if shared is None or not shared.readable:
            self._unreadable(index.kind)
            return ()
        store = shared.store
        if index.name in store.building:
            raise SourceUnavailable(index.kind, f"index {index.name!r} is being built")
        try:
            return store.by_index(index.name, value)
        except KeyError:
            raise SourceUnavailable(
                index.kind, f"no index is called {index.name!r}; declare it with indexing()"
            ) from None

    def owned(self, kind: Kind[O], owner: Object[Any, Any]) -> Sequence[O]:
        """The objects of `kind` whose controller reference carries the uid of `owner`. Raises `SourceUnavailable`."""
        shared = self._shared.get(kind.id)
        if shared is None or not shared.readable:
            self._unreadable(kind)
            return ()
        return shared.store.owned(owner.metadata.uid)

    def selection(self, kind: Kind[Any]) -> Selection | None:
        """Which objects of that kind can be read; `None` for a kind that was not declared."""
        shared = self._shared.get(kind.id)
        return None if shared is None else shared.selection

    def serves(self, kind: Kind[Any]) -> bool:
        """Whether the cluster has that API for us, as far as informers know; `False` for a kind that was not declared."""
        shared = self._shared.get(kind.id)
        return shared is not None and (
            shared.readable or (shared.state.phase is Phase.FORBIDDEN and not shared.state.excused)
        )

    def _parsed(self, text: str) -> LabelSelector:
        known = self._selectors.get(text)
        if known is None:
            if len(self._selectors) >= SELECTORS:
                self._selectors.clear()
            known = self._selectors[text] = LabelSelector.parse(text)
        return known

    def _unreadable(self, kind: Kind[Any]) -> None:
        informer = self._informers.get(kind)
        if informer is None:
            raise SourceUnavailable(kind, "it is neither watched nor read; declare it with reading()")
        if not (informer.optional and informer.state.excused):
            raise SourceUnavailable(kind, informer.state.reason)

    def _missing(self, kind: Kind[Any], namespace: str) -> None:
        """Nothing was found: raise if that is because nothing can be known."""
        shared = self._shared.get(kind.id)
        if shared is None or not shared.readable:
            self._unreadable(kind)
        else:
            self._check(shared, namespace)

    def _check(self, shared: SharedInformer[Any], namespace: str) -> None:
        if not shared.selection.follows(namespace):
            raise SourceUnavailable(shared.kind, f"the cache does not follow namespace {namespace!r}")
