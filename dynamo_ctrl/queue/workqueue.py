"""`WorkQueue`: decides which key runs when. A state machine without I/O: every call takes the time, none waits.

Contract (R 3.6, with the back-off of R 4, 33b):

    call      absent          waiting         queued      running              running and wanted
    add       queued          queued          merged      wanted (locked)      merged
    get       -               -               running     -                    -
    an end    -               -               -           absent or waiting    queued, or waiting

- A key is handed out to one run at a time and is never lost: what is added while it runs makes it run again.
- A waiting key (delayed) has one time; the earliest that was asked for wins, and an add without delay makes it ready now.
- A key has one priority, the highest that was asked for; which key goes next is up to the `Order`.
- A run ends by exactly one of `done`, `slowed`, `progressed`, `failed`, `conflicted`, `released`. What comes back by itself keeps
  its priority, unless told otherwise; the last success forgets it (R 4, 30).
- Failures and conflicts make the key wait; until that wait is over nothing starts the key: an add merges its cause and changes
  neither the wait nor the next one. Only the first `fresh` add in a wait lets it run at once (see `Standing`).
- Only `done`, `slowed` and `progressed` forget failures.
- After `shut_down` adds are ignored and waiting keys are dropped; `get` still hands out what is ready, and a wanted key comes
  back when its run is done, unless it would have to wait.
- Operations are O(log n) at most; nothing is ever searched. What each run takes (`add`, `get`, `done`) can be called with
  positions only: keywords cost.

Times are seconds of a monotonic clock and must not go back between calls.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from dynamo_ctrl.queue.backoff import CONFLICT_BACKOFF, FAILURE_BACKOFF, MAX_PROGRESS, Standing
from dynamo_ctrl.queue.causes import CONFLICT, PROGRESS, REQUEUE, RETRY, Cause
from dynamo_ctrl.queue.delay import Delays, clamp
from dynamo_ctrl.queue.entry import NORMAL, Entry, State
from dynamo_ctrl.queue.limiters import Limiter
from dynamo_ctrl.queue.numbers import DURATION_BOUNDS, QueueNumbers
from dynamo_ctrl.queue.order import Order
from dynamo_ctrl.queue.priority import Priorities

K = TypeVar("K", bound=Hashable)

_WAITING, _QUEUED, _LOCKED, _RUNNING, _ENDED, _MOVED = State


class WorkQueue(Generic[K]):
    """A deduplicating queue of keys with priorities, delayed adds and a back-off for each key.

    Args:
        order: which ready key goes next; `Priorities` when `None`.
        failures: how long a key waits after a failed run.
        conflicts: how long it waits after a conflict.
        max_progress: how often in a row a key may run again at once (see `progressed`).
    """

    def __init__(
        self,
        *,
        order: Order[K] | None = None,
        failures: Limiter = FAILURE_BACKOFF,
        conflicts: Limiter = CONFLICT_BACKOFF,
        max_progress: int = MAX_PROGRESS,
    ) -> None:
        self.numbers = QueueNumbers()
        self._order: Order[K] = order if order is not None else Priorities()
        self._failures = failures
        self._conflicts = conflicts
        self._max_progress = max_progress
        self._entries: dict[K, Entry[K]] = {}
        self._delays: Delays[K] = Delays()
        self._running: set[Entry[K]] = set()
        self._standings: dict[K, Standing] = {}
        self._closed = False
        self._draining = False

    # -- adds

    def add(
        self,
        key: K,
        now: float,
        cause: Cause | None = None,
        priority: int = NORMAL,
        after: float = 0.0,
        fresh: bool = False,
    ) -> None:
        """The key wants to run: now, or as soon as its back-off allows.

        Args:
            key: which.
            now: the time.
            cause: why.
            priority: the key's is raised to it.
            after: seconds that the run may be held back, so that further adds become part of it (debounce).
            fresh: what a failure was about may be over: the key's own object has a new spec or is going, or an API has come;
                see `Standing`.
        """
        if after <= 0.0 and not self._standings and not self._closed and key not in self._entries:
            entry = self._entries[key] = Entry(key, now, cause, priority)
            self._order.push(entry)
            self.numbers.adds += 1
        else:
            self._want(key, now + after, now, cause, priority, fresh)

    def add_after(
        self, key: K, delay: float, now: float, *, cause: Cause | None = None, priority: int = NORMAL
    ) -> None:
        """The key wants to run in `delay` seconds; zero and less mean now, more than `MAX_DELAY` means `MAX_DELAY`."""
        delay = clamp(delay)
        if not self._closed:
            self.numbers.retries += 1
        self._want(key, now + delay, now, cause, priority, False)

    def _want(self, key: K, at: float, now: float, cause: Cause | None, priority: int, fresh: bool) -> None:
        if self._closed:
            return
        known = self._entries.get(key)
        running = known if known is not None and known.state is _RUNNING else None
        entry = known if running is None else running.successor
        if running is None and self._standings:
            at = self._allowed(key, at, fresh)
        if entry is None:
            entry = Entry(key, now, cause, priority, fresh=fresh)
            self._hold(entry, running)
            self._place(entry, at, now, locked=running is not None)
            return
        if fresh:
            entry.fresh = True
        self._merge(entry, at, now, cause, priority, running)

    def _merge(
        self, entry: Entry[K], at: float, now: float, cause: Cause | None, priority: int, running: Entry[K] | None
    ) -> None:
        """One more wish for an entry that is waiting, queued or locked."""
        entry.because(cause)
        if priority > entry.priority:
            if entry.state is _WAITING:
                entry.priority = priority
            else:
                entry = self._order.promote(entry, priority)
                self._hold(entry, running)
        if entry.state is _WAITING and at < entry.due:
            if at <= now:
                self._delays.left()
            self._place(entry, at, now, locked=running is not None)

    def _allowed(self, key: K, at: float, fresh: bool) -> float:
        """The earliest time, from `at` on, at which the key may run."""
        standing = self._standings.get(key)
        if standing is None or at >= standing.not_before:
            return at
        if fresh and not standing.spent:
            standing.spent = True
            return at
        return standing.not_before

    def _hold(self, entry: Entry[K], running: Entry[K] | None) -> None:
        if running is None:
            self._entries[entry.key] = entry
        else:
            running.successor = entry

    def _place(self, entry: Entry[K], at: float, now: float, *, locked: bool) -> None:
        """The entry is wanted at that time. It stands nowhere, or waits for a later time."""
        if at > now:
            self._delays.put(entry, at)
            return
        entry.queued_at = now
        self.numbers.adds += 1
        if locked:
            entry.state = _LOCKED
            self._order.reserve(entry)
        else:
            entry.state = _QUEUED
            self._order.push(entry)

    # -- a run

    def get(self, now: float) -> Entry[K] | None:
        """The next key to run, or `None` if none is ready. It is running until one of the ends is called."""
        if now >= self._delays.earliest:
            for due in self._delays.due(now):
                self._place(due, due.due, due.due, locked=self._entries[due.key] is not due)
        entry = self._order.pop(now)
        if entry is None:
            return None
        numbers = self.numbers
        entry.run = numbers.gets = numbers.gets + 1
        waited = numbers.waited
        seconds = now - entry.queued_at
        waited.counts[bisect_left(DURATION_BOUNDS, seconds)] += 1
        waited.sum += seconds
        entry.state = _RUNNING
        entry.started_at = now
        self._running.add(entry)
        return entry

    def done(self, entry: Entry[K], now: float, after: float | None = None, priority: int | None = None) -> None:
        """The run succeeded: its failures are forgotten, and the key runs again when it is added, or in `after` seconds."""
        if self._standings:
            self._standings.pop(entry.key, None)
        if after is None:
            self._end(entry, now)
        else:
            self._retry(entry, now, now + clamp(after), REQUEUE, priority)

    def slowed(
        self, entry: Entry[K], now: float, delay: float, *, after: float | None = None, priority: int | None = None
    ) -> None:
        """As `done`, but the key stays away for `delay` seconds whatever is added."""
        standing = self._standing(entry.key)
        standing.failures = standing.conflicts = standing.progress = 0
        standing.wait(now + clamp(delay))
        if after is None:
            self._end(entry, now)
        else:
            self._retry(entry, now, max(now + clamp(after), standing.not_before), REQUEUE, priority)

    def progressed(self, entry: Entry[K], now: float, *, priority: int | None = None) -> bool:
        """The run succeeded and wants the next one at once. After `max_progress` of them in a row the key backs off instead.

        Returns whether it runs again at once.
        """
        standing = self._standing(entry.key)
        standing.failures = standing.conflicts = 0
        standing.progress += 1
        beyond = standing.progress - self._max_progress
        delay = clamp(self._failures.delay(beyond, now)) if beyond > 0 else 0.0
        standing.wait(now + delay)
        self._retry(entry, now, now + delay, PROGRESS, priority)
        return delay == 0.0

    def failed(self, entry: Entry[K], now: float, *, priority: int | None = None) -> float:
        """The run failed: the key backs off. Returns the delay in seconds.

        A run that was let in before the wait for an earlier failure was over does not count again and changes no wait.
        """
        standing = self._standing(entry.key)
        standing.conflicts = standing.progress = 0
        delay = standing.not_before - now
        if delay <= 0:
            standing.failures += 1
            delay = clamp(self._failures.delay(standing.failures, now))
            standing.wait(now + delay)
        self._retry(entry, now, standing.not_before, RETRY, priority)
        return delay

    def conflicted(self, entry: Entry[K], now: float, *, priority: int | None = None) -> int:
        """The run met a conflict: the key comes back soon. Returns how many conflicts in a row that makes."""
        standing = self._standing(entry.key)
        standing.conflicts += 1
        at = now + clamp(self._conflicts.delay(standing.conflicts, now))
        if now >= standing.not_before:
            standing.wait(at)
        self._retry(entry, now, at, CONFLICT, priority)
        return standing.conflicts

    def released(self, entry: Entry[K], now: float) -> None:
        """The run ended without success, and trying again cannot help: only an add brings the key back, and at once."""
        self._end(entry, now)

    def _retry(self, entry: Entry[K], now: float, at: float, cause: Cause, priority: int | None) -> None:
        """End the run; the key comes back at that time."""
        if not self._closed:
            self.numbers.retries += 1
        self._end(entry, now)
        if self._closed:
            return
        priority = entry.priority if priority is None else priority
        known = self._entries.get(entry.key)
        if known is None:
            known = self._entries[entry.key] = Entry(entry.key, now, cause, priority)
            self._place(known, at, now, locked=False)
        else:
            self._merge(known, at, now, cause, priority, None)

    def _end(self, entry: Entry[K], now: float) -> None:
        """The run is over; what was wanted meanwhile comes next, as soon as the back-off allows."""
        if entry.state is not _RUNNING:
            raise ValueError(f"{entry!r} is not running")
        self._running.discard(entry)
        worked = self.numbers.worked
        seconds = now - entry.started_at
        worked.counts[bisect_left(DURATION_BOUNDS, seconds)] += 1
        worked.sum += seconds
        entry.state = _ENDED
        entry.ended_at = now
        successor = entry.successor
        if successor is None:
            del self._entries[entry.key]
            return
        entry.successor = None
        self._entries[entry.key] = successor
        wanted = now if successor.state is _LOCKED else successor.due
        at = self._allowed(entry.key, wanted, successor.fresh) if self._standings else wanted
        if successor.state is _LOCKED:
            if at <= now:
                self._order.release(successor)
            else:
                self._wait(self._order.withdraw(successor), at)
        elif at > wanted:
            self._wait(successor, at)

    def _wait(self, entry: Entry[K], at: float) -> None:
        """The entry must not run before that time."""
        if self._closed:
            del self._entries[entry.key]
        else:
            self._entries[entry.key] = entry
            self._delays.put(entry, at)

    def _standing(self, key: K) -> Standing:
        standing = self._standings.get(key)
        if standing is None:
            standing = self._standings[key] = Standing()
        return standing

    # -- time

    def next(self) -> float:
        """When the next waiting key becomes ready; infinite if none waits. Keys that are ready already do not count."""
        return self._delays.next()

    # -- the end

    def shut_down(self, *, drain: bool = False) -> None:
        """Take no more keys. With `drain`, `finished` also waits for the running ones, and for those that are wanted again."""
        self._closed = True
        self._draining = drain
        for entry in self._delays.clear():
            holder = self._entries[entry.key]
            if holder is entry:
                del self._entries[entry.key]
            else:
                holder.successor = None

    @property
    def closed(self) -> bool:
        """Whether `shut_down` was called."""
        return self._closed

    @property
    def finished(self) -> bool:
        """Whether a closed queue has nothing more to hand out (and, when it drains, nothing is running)."""
        return self._closed and not len(self._order) and not (self._draining and self._running)

    # -- what is in it

    def __len__(self) -> int:
        """How many keys are ready; waiting and running ones do not count."""
        return len(self._order)

    @property
    def more(self) -> bool:
        """Whether another `get` is worth a try: something is ready, or was until a moment ago."""
        return self._order.more()

    def depths(self) -> Iterable[tuple[str, int]]:
        """How many keys are ready, by the label of their priority."""
        return self._order.depths()

    def __contains__(self, key: K) -> bool:
        """Whether the key is queued, waiting or running."""
        return key in self._entries

    @property
    def waiting(self) -> int:
        """How many keys wait for their time."""
        return len(self._delays)

    @property
    def processing(self) -> int:
        """How many keys run now."""
        return len(self._running)

    def running(self) -> Iterator[Entry[K]]:
        """The entries that run now, in no order."""
        return iter(self._running)

    def failures(self, key: K) -> int:
        """How many waits for a failure the key has had since its last success."""
        standing = self._standings.get(key)
        return 0 if standing is None else standing.failures

    def wanted(self, key: K) -> Entry[K] | None:
        """What stands in the queue for that key: it waits, is ready, or runs (then `successor` is what follows). To look at."""
        return self._entries.get(key)

    def not_before(self, key: K) -> float:
        """When the back-off of the key ends, or ended; minus infinite without one. Only a new spec may let it run earlier."""
        standing = self._standings.get(key)
        return -math.inf if standing is None else standing.not_before
