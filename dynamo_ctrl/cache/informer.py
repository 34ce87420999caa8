"""`Informer`: one user's handle on a shared informer.

What a handle opened (subscriptions, state callbacks, indexes) ends with it, and closing the last handle stops what runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from dynamo_ctrl.cache.counts import Counts
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.selection import Selection
from dynamo_ctrl.cache.shared_informer import SharedInformer, StateCallback
from dynamo_ctrl.cache.state import Phase, SourceState
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.objects.selector import LabelSelector

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Informer(Generic[O]):
    """One user's handle on a shared informer.

    Attributes:
        kind: what it follows.
        optional: it reads as empty while its state is an excused one.
        shared: what runs.
    """

    def __init__(self, shared: SharedInformer[O], *, optional: bool, release: Callable[[Informer[O]], None]) -> None:
        self.kind: Kind[O] = shared.kind
        self.optional = optional
        self.shared = shared
        self._release = release
        self._subscriptions: dict[Subscription[O], None] = {}
        self._callbacks: dict[object, Callable[[], None]] = {}
        self._indexes: dict[str, Index[O]] = {}
        self._closed = False

    # --- states

    @property
    def state(self) -> SourceState:
        """Whether this user can read the kind, and if not, why and what mends it."""
        shared = self.shared
        building = [name for name in shared.store.building if name in self._indexes]
        if building and shared.readable:
            return SourceState(Phase.SYNCING, f"index {', '.join(building)} of {self.kind} is being built")
        return shared.state

    @property
    def ready(self) -> bool:
        """Whether a user of this kind can work: it is readable, or optional and excused."""
        state = self.state
        if state.excused:
            return self.optional
        return self.shared.readable and state.phase is not Phase.SYNCING

    @property
    def selection(self) -> Selection:
        """Which objects the server tells us about."""
        return self.shared.selection

    @property
    def selector(self) -> LabelSelector:
        """The label selector that the server applies."""
        return self.shared.selection.labels

    def version(self, namespace: str = "") -> str:
        """The version that the content of that namespace stands for; "" before the first list."""
        return self.shared.store.version(namespace)

    async def wait_complete(self) -> None:
        """Return once the content was complete for the first time."""
        await self.shared.wait_complete()

    async def wait_version(self, version: str, namespace: str = "") -> None:
        """Return once the content of that namespace stands for `version` or a later one. The caller bounds the time."""
        await self.shared.wait_version(version, namespace)

    def retry(self) -> None:
        """Do not sit out a back-off: something may have changed that mends a failure."""
        self.shared.retry()

    def counts(self) -> Counts:
        """What metrics want to know."""
        return self.shared.counts()

    # --- what ends with the handle

    def subscribe(self) -> Subscription[O]:
        """The changes, the present content first."""
        subscription = self.shared.subscribe(lambda closed: self._subscriptions.pop(closed, None))
        if not subscription.closed:
            self._subscriptions[subscription] = None
        return subscription

    def watch_state(self, callback: StateCallback) -> Callable[[], None]:
        """Call back when the state may have changed; what is returned ends that."""
        token = object()
        end = self._callbacks[token] = self.shared.watch_state(callback)

        def end_both() -> None:
            end()
            self._callbacks.pop(token, None)

        return end_both

    def add_index(self, index: Index[O]) -> None:
        """Keep that index from now on. Where much is cached already it is built in slices, and the handle is syncing meanwhile.

        Raises:
            ValueError: another kind, or a name that is taken.
        """
        if index.kind != self.kind:
            raise ValueError(f"{index!r} cannot be kept by the informer of {self.kind}")
        if self._indexes.get(index.name) != index:
            self.shared.add_index(index)
            self._indexes[index.name] = index

    def close(self) -> None:
        """Give the handle back, and end what it opened. Idempotent."""
        if self._closed:
            return
        self._closed = True
        for subscription in tuple(self._subscriptions):
            subscription.close()
        for end in tuple(self._callbacks.values()):
            end()
        self._callbacks.clear()
        self._release(self)
        if self.shared.users:
            for name in self._indexes:
                self.shared.drop_index(name)
        self._indexes.clear()
