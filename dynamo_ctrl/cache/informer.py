"""Informers: one kind, one selector, one projection, followed into one store for everybody who asks for the same.

`SharedInformer` is what runs; an `Informer` is one user's handle on it, and closing the last handle stops it. What a handle
opened (subscriptions, state callbacks) ends with the handle.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, TypeAlias, TypeVar

import structlog

from dynamo_ctrl.cache import state
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.index import Index, Where, where
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.overlay import Overlay
from dynamo_ctrl.cache.reflector import CHUNK, Reflector
from dynamo_ctrl.cache.state import LIVE, Phase, SourceState
from dynamo_ctrl.cache.store import Staging, Store
from dynamo_ctrl.cache.watcher import Replace
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

log = structlog.get_logger()

_QUIET: Final = (Phase.LIVE, Phase.STOPPED)
_EVENTS: Final = {phase: f"source is {phase}" for phase in Phase}

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

StateCallback: TypeAlias = Callable[[SourceState], None]
"""Told the new state, in the loop's thread, after readers can see it. It must not raise and must not wait."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Plain numbers for metrics."""

    objects: int
    bytes: int
    own_writes: int
    pending: int
    malformed: int
    index_failures: int
    lists: int
    watches: int
    failures: int
    defects: int


class SharedInformer(Generic[O]):
    """The content of one kind, selector and projection, and who is told about it.

    Attributes:
        kind: what it follows.
        selector: which of them.
        overlay: what the view reads: the store with our own writes over it.
        state: of all scopes together.
        readable: whether reads make sense: it was complete once, and is neither absent nor forbidden nor stopped.
        reflectors: one for each scope.
    """

    def __init__(
        self,
        kind: Kind[O],
        selector: LabelSelector,
        intake: Intake[O],
        *,
        scopes: Sequence[str] = ("",),
        overlay_limit: int = 10_000,
        batch: int = 256,
    ) -> None:
        self.kind = kind
        self.selector = selector
        self.intake = intake
        self.overlay: Overlay[O] = Overlay(Store(scopes), limit=overlay_limit)
        self.state = state.syncing(kind)
        self.readable = False
        self.reflectors: list[Reflector[O]] = []
        self.users: set[Informer[O]] = set()
        self._batch = batch
        self._store = self.overlay.store
        self._states = dict.fromkeys(scopes, self.state)
        self._complete: dict[str, bool] = dict.fromkeys(scopes, False)
        self._begun: dict[str, int] = {}
        self._subscriptions: dict[Subscription[O], None] = {}
        self._callbacks: dict[object, StateCallback] = {}
        self._synced = asyncio.Event()
        self._complained = False

    # --- for users

    @property
    def complete(self) -> bool:
        """Whether every scope was filled, and its API not gone since."""
        return all(self._complete.values())

    def subscribe(self) -> Subscription[O]:
        """A new reader of changes; it gets the present content first."""
        subscription: Subscription[O] = Subscription(batch=self._batch, on_close=self._unsubscribe)
        if self.state.phase is Phase.STOPPED:
            subscription.close()
            return subscription
        self._subscriptions[subscription] = None
        if self.complete:
            subscription.begin(self._store)
        return subscription

    def _unsubscribe(self, subscription: Subscription[O]) -> None:
        self._subscriptions.pop(subscription, None)

    def watch_state(self, callback: StateCallback) -> Callable[[], None]:
        """Call back on each later change of the state; what is returned ends that."""
        token = object()
        self._callbacks[token] = callback

        def end() -> None:
            self._callbacks.pop(token, None)

        return end

    async def wait_complete(self) -> None:
        """Return once the content was complete for the first time."""
        await self._synced.wait()

    def counts(self) -> Counts:
        """What metrics want to know."""
        watchers = [reflector.watcher for reflector in self.reflectors]
        return Counts(
            objects=len(self._store),
            bytes=self._store.bytes,
            own_writes=len(self.overlay),
            pending=sum(len(reader) for reader in self._subscriptions),
            malformed=self.intake.malformed,
            index_failures=self._store.index_failures,
            lists=sum(watcher.lists for watcher in watchers),
            watches=sum(watcher.watches for watcher in watchers),
            failures=sum(watcher.failures for watcher in watchers),
            defects=sum(reflector.defects for reflector in self.reflectors),
        )

    # --- own writes

    def wrote(self, obj: O) -> None:
        """Lay a write's answer over the store, if it belongs to a scope of this informer."""
        if self._store.scope(obj.metadata.namespace) is None:
            return
        own = self.intake.own(obj)
        if own is not None:
            self.overlay.wrote(own, selected=self.selector.matches(own.metadata.labels))

    def deleted(self, at: Where, uid: str) -> None:
        """Hide a deleted object."""
        self.overlay.deleted(at, uid)

    # --- for reflectors

    def mark(self) -> int:
        """The last own write so far: a list that is asked for after this holds it, if it is consistent."""
        return self.overlay.turn

    def stage(self, scope: str, *, comparable: bool, since: int) -> Staging[O]:
        """Begin a replacement whose first page was asked for at that mark."""
        self._begun[scope] = since
        return self._store.stage(scope, comparable=comparable)

    def replace(self, staging: Staging[O], decision: Replace) -> Iterator[None]:
        """Make it visible at once, then tell what changed, a chunk in each step."""
        scope = staging.scope
        changes = self._store.replace(staging, decision.version)
        self.overlay.replaced(scope, self._begun[scope] if decision.consistent else -1)
        readers = [reader for reader in self._subscriptions if reader.started]
        self._complete[scope] = True
        if self._states[scope].phase in (Phase.SYNCING, Phase.ABSENT):  # else it is live only once it is watched again
            self.enter(scope, LIVE)
        if self.complete:
            self._synced.set()
            for reader in self._subscriptions:
                if not reader.started:
                    reader.begin(self._store)
        while readers and (part := tuple(islice(changes, CHUNK))):
            for reader in readers:
                reader.offer(part)
            yield

    def put(self, scope: str, obj: O) -> None:
        """A created or changed object."""
        changes = self._store.put(scope, obj)
        self.overlay.seen(obj)
        self._offer(changes)

    def remove(self, scope: str, raw: bytes, obj: O | None) -> None:
        """A deleted object; `None` if its last state cannot be read."""
        at = self.intake.where(raw) if obj is None else where(obj)
        if at is None:
            return
        changes = self._store.remove(scope, at, obj)
        self.overlay.gone(at, "" if obj is None else obj.metadata.resource_version)
        self._offer(changes)

    def _offer(self, changes: tuple[Change[O], ...]) -> None:
        if changes:
            for reader in self._subscriptions:
                if reader.started:
                    reader.offer(changes)

    def advance(self, scope: str, version: str) -> None:
        """The content stands for that version."""
        self._store.advance(scope, version)

    def bookmark(self, scope: str, version: str) -> None:
        """Everything up to that version was told."""
        self._store.advance(scope, version)
        self.overlay.reached(scope)

    def is_complete(self, scope: str) -> bool:
        """Whether that scope was ever complete, and its API not gone since."""
        return self._complete[scope]

    def enter(self, scope: str, now: SourceState) -> None:
        """The state of that scope. A gone API takes its objects along."""
        if self.state.phase is Phase.STOPPED:
            return
        if now.phase is Phase.ABSENT and self._complete[scope]:
            changes = self._store.clear(scope)
            self.overlay.clear(scope)
            self._offer(tuple(changes))
            self._complete[scope] = False
        self._states[scope] = now
        self._settle(state.worst(self._states.values()))

    def _settle(self, now: SourceState) -> None:
        self.readable = self.complete and now.phase in (Phase.LIVE, Phase.STALE)
        if now == self.state:
            return
        before, self.state = self.state, now
        if now.phase is not before.phase or now.phase is not Phase.STALE:
            self._tell(now)
        for callback in tuple(self._callbacks.values()):
            callback(now)

    def _tell(self, now: SourceState) -> None:
        """One line for each state: a complaint if somebody cannot work like this, news when that is over."""
        absent_is_fine = all(user.optional for user in self.users)
        complain = now.phase not in _QUIET and not (now.phase is Phase.ABSENT and absent_is_fine)
        news = self._complained and now.phase is Phase.LIVE
        level = logging.WARNING if complain else logging.INFO if news else logging.DEBUG
        self._complained = complain
        log.log(level, _EVENTS[now.phase], kind=str(self.kind), reason=now.reason)

    def retry(self) -> None:
        """Do not sit out a back-off: something may have changed that mends a failure."""
        for reflector in self.reflectors:
            reflector.retry()

    def stop(self) -> None:
        """Nobody follows it any more: reads end, iterations end."""
        self._settle(state.stopped(self.kind))
        self._callbacks.clear()
        for subscription in tuple(self._subscriptions):
            subscription.close()


class Informer(Generic[O]):
    """One user's handle on a shared informer.

    Attributes:
        kind: what it follows.
        optional: it reads as empty while its API is absent.
        shared: what runs.
    """

    def __init__(self, shared: SharedInformer[O], *, optional: bool, release: Callable[[Informer[O]], None]) -> None:
        self.kind: Kind[O] = shared.kind
        self.optional = optional
        self.shared = shared
        self._release = release
        self._opened: list[Callable[[], None]] = []
        self._closed = False

    @property
    def state(self) -> SourceState:
        """Whether the kind can be read, and if not, why and what mends it."""
        return self.shared.state

    @property
    def ready(self) -> bool:
        """Whether a user of this kind can work: it is readable, or optional and absent."""
        return self.shared.readable or (self.optional and self.shared.state.phase is Phase.ABSENT)

    @property
    def selector(self) -> LabelSelector:
        """The selector that the server applies."""
        return self.shared.selector

    def subscribe(self) -> Subscription[O]:
        """The changes, the present content first."""
        subscription = self.shared.subscribe()
        self._opened.append(subscription.close)
        return subscription

    def watch_state(self, callback: StateCallback) -> Callable[[], None]:
        """Call back on each later change of the state; what is returned ends that."""
        end = self.shared.watch_state(callback)
        self._opened.append(end)
        return end

    def add_index(self, index: Index[O]) -> None:
        """Keep that index from now on. Raises `ValueError` for another kind, or a name that is taken."""
        if index.kind != self.kind:
            raise ValueError(f"{index!r} cannot be kept by the informer of {self.kind}")
        self.shared.overlay.add_index(index)

    async def wait_complete(self) -> None:
        """Return once the content was complete for the first time."""
        await self.shared.wait_complete()

    def retry(self) -> None:
        """Do not sit out a back-off: something may have changed that mends a failure."""
        self.shared.retry()

    def counts(self) -> Counts:
        """What metrics want to know."""
        return self.shared.counts()

    def close(self) -> None:
        """Give the handle back, and end what it opened. Idempotent."""
        if not self._closed:
            self._closed = True
            for end in self._opened:
                end()
            self._opened.clear()
            self._release(self)
