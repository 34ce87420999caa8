"""`Source`: the changes of one watched kind, mapped to the keys that they wake.

Contract:

- Old and new side of a change are both mapped, so that an object that moves between owners wakes both; a key is woken once.
- Initial objects, and changes that left the resourceVersion as it was, wake at low priority: a real change overtakes them.
- A predicate or a mapper that raises loses nothing: the change is counted, logged with its key, and tried again, ever later,
  until it can be mapped; meanwhile newer changes of that object are merged into it. The source goes on with other objects. So
  it is with a mapper that yields something else than keys.
- A mapper that reads a kind which cannot be read yet (`SourceUnavailable`) waits quietly in the same way, and is tried as soon as
  the state of a source changes.
- The source is settled once every initial object was mapped (or is among those that wait), or it is optional and excused.
- Mapping takes the loop for `SLICE` seconds at a time, however many objects or keys there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from structlog.typing import FilteringBoundLogger

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.delivery import Subscription, merged
from dynamo_ctrl.cache.informer import Informer
from dynamo_ctrl.cache.pace import Pace
from dynamo_ctrl.cache.state import SourceState
from dynamo_ctrl.cache.view import SourceUnavailable, View
from dynamo_ctrl.clock import Clock
from dynamo_ctrl.controller.builder import Watch
from dynamo_ctrl.controller.mapper import Mapper
from dynamo_ctrl.controller.numbers import ControllerNumbers
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.object import Object
from dynamo_ctrl.queue.backoff import Backoff
from dynamo_ctrl.queue.causes import Cause
from dynamo_ctrl.queue.entry import LOW, NORMAL

O = TypeVar("O", bound=Object[Any, Any])  # noqa: E741


class Add(Protocol):
    """Where keys go."""

    def __call__(
        self, key: Key, cause: Cause, *, priority: int = NORMAL, after: float = 0.0, fresh: bool = False
    ) -> None:
        """See `WorkQueue.add`."""


MAPPING_BACKOFF = Backoff(base=0.1, cap=60.0)
"""Between two attempts to map a change whose predicate or mapper raised."""

FOREIGN = (Exception, asyncio.CancelledError)
"""What a predicate or a mapper can fail with. They do not await, so that no cancellation of ours comes out of them."""

SLICE = 0.005
"""Seconds of the loop's time that mapping takes before it lets others run."""


class _Unmapped(Generic[O]):
    """What could not be mapped yet of one object."""

    __slots__ = ("changes", "failures", "timer")

    def __init__(self, changes: tuple[Change[O], ...]) -> None:
        self.changes = changes
        self.failures = 0
        self.timer: asyncio.TimerHandle | None = None


class Source(Generic[O]):
    """One watch of a controller.

    Args:
        watch: what, whom it wakes, and which changes count.
        informer: where changes come from.
        view: what mappers may read.
        add: where keys go.
        told: hears of every change that counts; for people who ask why.
        fresh: whether that change brings its own key a new spec, or its end, or mends what failed (see `Standing`); `None` where
            none does.
        drifted: whether that change counts though the watch says otherwise.
        debounce: seconds that a wake waits for others of its key, unless the watch says otherwise.
        numbers: where failures are counted.
        clock: for slices of time.
        log: bound to the controller.
    """

    def __init__(
        self,
        watch: Watch[O],
        informer: Informer[O],
        *,
        view: View,
        add: Add,
        numbers: ControllerNumbers,
        clock: Clock,
        log: FilteringBoundLogger,
        told: Callable[[str, Change[O]], None] = lambda source, change: None,
        fresh: Callable[[Change[O]], bool] | None = None,
        drifted: Callable[[Change[O]], bool] | None = None,
        debounce: float = 0.0,
    ) -> None:
        self.watch = watch
        self.informer = informer
        self.settled = asyncio.Event()
        self._name = str(watch.kind)
        self._view = view
        self._add = add
        self._told = told
        self._fresh = fresh
        self._drifted = drifted
        self._debounce = debounce if watch.debounce is None else watch.debounce
        self._numbers = numbers
        self._clock = clock
        self._log = log
        self._unmapped: dict[Key, _Unmapped[O]] = {}

    @property
    def unmapped(self) -> int:
        """How many objects wait for a predicate or a mapper that raised."""
        return len(self._unmapped)

    async def run(self) -> None:
        """Map changes until cancelled, or until the informer is stopped."""
        end = self.informer.watch_state(self._look)
        try:
            self._look(self.informer.state)
            if self.watch.mapper is None:
                await self.informer.wait_complete()
                self.settled.set()
                return
            subscription = self.informer.subscribe()
            async with asyncio.TaskGroup() as tasks:
                waiter = tasks.create_task(self._settle(subscription), name=f"source {self._name}: initial objects")
                await self._map_all(subscription, self.watch.mapper)
                waiter.cancel()
        finally:
            end()
            for unmapped in self._unmapped.values():
                if unmapped.timer is not None:
                    unmapped.timer.cancel()
            self._unmapped.clear()  # the next run begins with everything there is

    def retry(self) -> None:
        """The state of some source has changed: what could not be mapped may be mapped now."""
        for key in tuple(self._unmapped):
            self._again(key)

    def _look(self, state: SourceState) -> None:
        if self.informer.optional and state.excused:
            self.settled.set()

    async def _settle(self, subscription: Subscription[O]) -> None:
        await subscription.wait_synced()
        self.settled.set()

    async def _map_all(self, subscription: Subscription[O], mapper: Mapper[O]) -> None:
        pace = Pace(self._clock, SLICE)
        try:
            while True:
                batch = subscription.take()
                if not batch:
                    waited_for = await anext(subscription, None)
                    if waited_for is None:
                        return
                    batch = waited_for
                    pace.restart()
                for change in batch:
                    for _ in self._take(change, mapper):
                        if pace.over:
                            await pace.breathe()
                    if pace.over:
                        await pace.breathe()
        finally:
            subscription.close()

    def _take(self, change: Change[O], mapper: Mapper[O]) -> Iterator[None]:
        """Map one change, a key in each step."""
        if self._unmapped:
            waiting = self._unmapped.get(change.key)
            if waiting is not None:
                waiting.changes = _joined(waiting.changes, change)
                self._attempt(change.key, waiting, mapper, counted=False)
                return
        try:
            yield from self._map(change, mapper)
        except FOREIGN as error:
            waiting = self._unmapped[change.key] = _Unmapped((change,))
            self._failed(change.key, waiting, error)

    def _map(self, change: Change[O], mapper: Mapper[O]) -> Iterator[None]:
        if not self.watch.when(change) and (self._drifted is None or not self._drifted(change)):
            return
        old, new = change.old, change.new
        before = "" if old is None else old.metadata.resource_version
        after = "" if new is None else new.metadata.resource_version
        cause = Cause(self._name, _event(change), change.key, before, after)
        self._told(self._name, change)
        quiet = change.initial or before == after
        priority = LOW if quiet else NORMAL
        wait = 0.0 if quiet else self._debounce
        fresh = self._fresh is not None and not quiet and self._fresh(change)
        woken: set[Key] = set()
        for side in (old, new):
            if side is not None:
                for key in mapper(side, self._view):
                    if not isinstance(key, Key):
                        raise TypeError(f"the mapper {described(mapper)} must yield keys (Key), not {key!r}")
                    if key not in woken:
                        woken.add(key)
                        self._add(key, cause, priority=priority, after=wait, fresh=fresh)
                        yield

    def _again(self, key: Key) -> None:
        waiting = self._unmapped.get(key)
        if waiting is not None and self.watch.mapper is not None:
            self._attempt(key, waiting, self.watch.mapper, counted=True)

    def _attempt(self, key: Key, waiting: _Unmapped[O], mapper: Mapper[O], *, counted: bool) -> None:
        """Try everything that waits. An attempt that a new event caused leaves the back-off alone when it fails."""
        try:
            for change in waiting.changes:
                for _ in self._map(change, mapper):
                    pass
        except FOREIGN as error:
            if counted:
                self._failed(key, waiting, error)
            return
        if waiting.timer is not None:
            waiting.timer.cancel()
        del self._unmapped[key]

    def _failed(self, key: Key, waiting: _Unmapped[O], error: BaseException) -> None:
        waiting.failures += 1
        delay = MAPPING_BACKOFF.delay(waiting.failures)
        if waiting.timer is not None:
            waiting.timer.cancel()
        waiting.timer = asyncio.get_running_loop().call_later(delay, self._again, key)
        if isinstance(error, SourceUnavailable):
            return
        self._numbers.lost += 1
        self._log.error(
            "a change could not be mapped and will be tried again",
            source=self._name,
            object=str(key),
            mapper=described(self.watch.mapper),
            failures=waiting.failures,
            retry_in=delay,
            exc_info=error,
        )


def described(function: object) -> str:
    """The name of a predicate or a mapper, as its author knows it."""
    return str(getattr(function, "__qualname__", None) or function)


def _event(change: Change[Any]) -> str:
    if change.initial:
        return "initial"
    if change.old is None:
        return "created"
    return "updated" if change.new is not None else "deleted"


def _joined(changes: tuple[Change[O], ...], change: Change[O]) -> tuple[Change[O], ...]:
    """Merge as a subscription does: a first deletion and what is there now, or one change."""
    joined = (*changes[:-1], *merged(changes[-1], change))
    return joined if len(joined) <= 2 else (joined[0], joined[-1])
