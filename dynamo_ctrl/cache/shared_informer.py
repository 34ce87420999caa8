"""`SharedInformer`: one kind, one selection, one projection, followed into one store for everybody who asks for the same."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import structlog

from dynamo_ctrl.cache import state
from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.counts import Counts
from dynamo_ctrl.cache.decisions import Replace
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.index import STEP, Index, Where, where
from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.reflector import Reflector
from dynamo_ctrl.cache.replacement import Staging
from dynamo_ctrl.cache.selection import Selection
from dynamo_ctrl.cache.state import LIVE, Phase, SourceState
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

log = structlog.get_logger()

_QUIET: Final = (Phase.LIVE, Phase.STOPPED)
_EVENTS: Final = {phase: f"source is {phase}" for phase in Phase}
_NOTHING: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741

StateCallback: TypeAlias = Callable[[SourceState], None]
"""Told the new state, in the loop's thread, after readers can see it. It must not raise and must not wait."""

Chore: TypeAlias = Callable[[Iterator[object]], None]
"""Takes the steps of a long work, now or when there is time for them."""


class User(Protocol):
    """A handle on a shared informer, as far as that cares."""

    @property
    def optional(self) -> bool:
        """Whether it can do without the kind."""


class SharedInformer(Generic[O]):
    """The content of one kind, selection and projection, and who is told about it.

    Args:
        kind: what it follows.
        selection: which of them.
        intake: reads what the server sends.
        chore: who takes the steps of long works.
        own_writes: the most own writes that are kept until the watch has told them.
        batch: the most changes that a subscriber gets at once.

    Attributes:
        store: what readers see: what the server told with our own writes over it.
        state: of all scopes together.
        readable: whether reads make sense: it was complete once, and is neither absent nor forbidden nor stopped.
        visible: the objects by namespace and name while it is readable, else nothing.
        reflectors: one for each scope.
        users: the handles on it.
    """

    def __init__(
        self,
        kind: Kind[O],
        selection: Selection,
        intake: Intake[O],
        *,
        chore: Chore,
        own_writes: int = 10_000,
        batch: int = 256,
    ) -> None:
        scopes = selection.scopes
        self.kind = kind
        self.selection = selection
        self.intake = intake
        self.store: Store[O] = Store(scopes, own_writes=own_writes)
        self.state = state.syncing(kind)
        self.readable = False
        self.visible: Mapping[str, Mapping[str, O]] = _NOTHING
        self.reflectors: list[Reflector[O]] = []
        self.users: set[User] = set()
        self._chore = chore
        self._batch = batch
        self._states = dict.fromkeys(scopes, self.state)
        self._complete: dict[str, bool] = dict.fromkeys(scopes, False)
        self._begun: dict[str, int] = {}
        self._subscriptions: dict[Subscription[O], None] = {}
        self._callbacks: dict[object, StateCallback] = {}
        self._index_users: dict[str, int] = {}
        self._versions: dict[asyncio.Future[None], tuple[str, str]] = {}
        self._synced = asyncio.Event()
        self._complained = False

    # --- for users

    @property
    def selector(self) -> LabelSelector:
        """The label selector that the server applies."""
        return self.selection.labels

    @property
    def complete(self) -> bool:
        """Whether every scope was filled, and its API not gone since."""
        return all(self._complete.values())

    def subscribe(self, closed: Callable[[Subscription[O]], None] = lambda subscription: None) -> Subscription[O]:
        """A new reader of changes; it gets the present content first. `closed` is told when it is closed."""

        def forget(subscription: Subscription[O]) -> None:
            self._subscriptions.pop(subscription, None)
            closed(subscription)

        subscription: Subscription[O] = Subscription(batch=self._batch, on_close=forget)
        if self.state.phase is Phase.STOPPED:
            subscription.close()
            return subscription
        self._subscriptions[subscription] = None
        if self.complete:
            subscription.begin(self.store.told())
        return subscription

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

    async def wait_version(self, version: str, namespace: str = "") -> None:
        """Return once the content of that namespace stands for `version` or a later one."""
        if self.store.is_older(namespace, version):
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._versions[reached] = (namespace, version)
            try:
                await reached
            finally:
                del self._versions[reached]

    def counts(self) -> Counts:
        """The numbers of the moment."""
        watchers = [reflector.watcher for reflector in self.reflectors]
        heard = [reflector.heard for reflector in self.reflectors if reflector.heard is not None]
        return Counts(
            objects=len(self.store),
            bytes=self.store.bytes,
            own_writes=len(self.store.own),
            pending=sum(len(reader) for reader in self._subscriptions),
            malformed=self.intake.malformed,
            index_failures=self.store.index_failures,
            lists=sum(watcher.lists for watcher in watchers),
            list_seconds=sum(reflector.list_seconds for reflector in self.reflectors),
            listed=sum(reflector.listed for reflector in self.reflectors),
            watches=sum(watcher.watches for watcher in watchers),
            short_watches=sum(watcher.short_watches for watcher in watchers),
            events=sum(reflector.events for reflector in self.reflectors),
            fallbacks=sum(watcher.fallbacks for watcher in watchers),
            failures=sum(watcher.failures for watcher in watchers),
            defects=sum(reflector.defects for reflector in self.reflectors),
            heard=min(heard, default=None),
        )

    def retry(self) -> None:
        """Do not sit out a back-off: something may have changed that mends a failure."""
        for reflector in self.reflectors:
            reflector.retry()

    # --- indexes

    def add_index(self, index: Index[O]) -> None:
        """Keep that index for one more user. A large content is indexed in steps; until then the index cannot be read.

        Raises:
            ValueError: another index has that name.
        """
        steps = self.store.add_index(index)
        self._index_users[index.name] = self._index_users.get(index.name, 0) + 1
        if len(self.store) <= STEP:
            for _ in steps:
                pass
        else:
            self._chore(chain(steps, self._readable_again()))

    def _readable_again(self) -> Iterator[None]:
        """Handles that waited for an index are in another state now."""
        self._tell_callbacks()
        yield

    def drop_index(self, name: str) -> None:
        """One user needs the index no more; with the last one it goes."""
        self._index_users[name] -= 1
        if not self._index_users[name]:
            del self._index_users[name]
            self._chore(self.store.drop_index(name))

    # --- own writes

    def wrote(self, obj: O) -> None:
        """A write's answer, if it belongs to a scope of this informer."""
        if not self.selection.follows(obj.metadata.namespace) or self.state.phase is Phase.STOPPED:
            return
        own = self.intake.own(obj)
        if own is not None:
            self._offer(self.store.wrote(own, selected=self.selection.matches(obj)))

    def deleted(self, at: Where, uid: str) -> None:
        """An object that we deleted."""
        if self.state.phase is not Phase.STOPPED:
            self._offer(self.store.deleted(at, uid))

    # --- for reflectors (`dynamo_ctrl.cache.sink`)

    def mark(self) -> int:
        """The last own write so far."""
        return self.store.own.turn

    def stage(self, scope: str, *, comparable: bool, since: int) -> Staging[O]:
        """Begin a replacement that was asked for at that mark."""
        self._begun[scope] = since
        return self.store.stage(scope, comparable=comparable)

    def replace(self, staging: Staging[O], decision: Replace) -> Iterator[None]:
        """Make it visible at once, then tell what changed and give back what was replaced."""
        scope = staging.scope
        since = self._begun[scope] if decision.consistent else -1
        self.store.replace(staging, decision.version, since=since)
        self._complete[scope] = True
        self._reached()
        readers = [reader for reader in self._subscriptions if reader.started]
        if self._states[scope].phase in (Phase.SYNCING, Phase.ABSENT):  # else it is live only once it is watched again
            self.enter(scope, LIVE)
        self._expose()
        if self.complete:
            self._synced.set()
            for reader in tuple(self._subscriptions):
                if not reader.started:
                    reader.begin(self.store.told())
                    yield
        if readers:
            yield from self._tell_changes(staging, readers)
        yield from staging.release()

    def clear(self, scope: str, now: SourceState) -> Iterator[None]:
        """The API is gone, and every object of that scope with it."""
        self.store.forget_own(scope)
        staging = self.store.stage(scope)
        self.store.replace(staging, "")
        self._complete[scope] = False
        readers = [reader for reader in self._subscriptions if reader.started]
        self.enter(scope, now)
        yield from self._tell_changes(staging, readers)
        yield from staging.release()

    def _tell_changes(self, staging: Staging[O], readers: list[Subscription[O]]) -> Iterator[None]:
        for batch in staging.changes():
            if batch:
                for reader in readers:
                    reader.offer(batch)
            yield

    def put(self, scope: str, obj: O) -> None:
        """A created or changed object."""
        self._offer(self.store.put(scope, obj))

    def remove(self, scope: str, raw: bytes, obj: O | None) -> None:
        """A deleted object; `None` if its last state cannot be read."""
        at = self.intake.where(raw) if obj is None else where(obj)
        if at is not None:
            self._offer(self.store.remove(scope, at, obj))

    def _offer(self, changes: tuple[Change[O], ...]) -> None:
        if changes:
            for reader in self._subscriptions:
                if reader.started:
                    reader.offer(changes)

    def advance(self, scope: str, version: str) -> None:
        """The content stands for that version."""
        self.store.advance(scope, version)
        if self._versions:
            self._reached()

    def bookmark(self, scope: str, version: str) -> None:
        """Everything up to that version was told."""
        self.store.reached(scope, version)
        self._reached()

    def _reached(self) -> None:
        for reached, (namespace, version) in self._versions.items():
            if not reached.done() and not self.store.is_older(namespace, version):
                reached.set_result(None)

    def is_complete(self, scope: str) -> bool:
        """Whether that scope was ever complete, and its API not gone since."""
        return self._complete[scope]

    def enter(self, scope: str, now: SourceState) -> None:
        """The state of that scope."""
        if self.state.phase is not Phase.STOPPED:
            self._states[scope] = now
            self._settle(state.worst(self._states.values()))

    def _settle(self, now: SourceState) -> None:
        self.readable = self.complete and now.phase in (Phase.LIVE, Phase.STALE)
        self._expose()
        if now == self.state:
            return
        before, self.state = self.state, now
        if now.phase is not before.phase or now.phase is not Phase.STALE:
            self._tell(now)
        self._tell_callbacks()

    def _expose(self) -> None:
        self.visible = self.store.namespaces if self.readable else _NOTHING

    def _tell_callbacks(self) -> None:
        for callback in tuple(self._callbacks.values()):
            callback(self.state)

    def _tell(self, now: SourceState) -> None:
        """One line for each state: a complaint if somebody cannot work like this, news when that is over."""
        excused = now.excused and all(user.optional for user in self.users)
        complain = now.phase not in _QUIET and not excused
        news = self._complained and now.phase is Phase.LIVE
        level = logging.WARNING if complain else logging.INFO if news else logging.DEBUG
        self._complained = complain
        log.log(level, _EVENTS[now.phase], kind=str(self.kind), reason=now.reason)

    def stop(self) -> None:
        """Nobody follows it any more: reads end, iterations end, and the memory is given back."""
        if self.state.phase is Phase.STOPPED:
            return
        self._settle(state.stopped(self.kind))
        self._callbacks.clear()
        for subscription in tuple(self._subscriptions):
            subscription.close()
        self._chore(self.store.release())
