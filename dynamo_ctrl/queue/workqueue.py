"""`WorkQueue`: decides which key runs when. A state machine without I/O: every call takes the time, none waits.

Contract (R 3.6, with the back-off of R 4, 33b):

    call      absent          queued      processing          processing and dirty
    add       queued          merged      dirty               merged
    get       -               processing  -                   -
    an end    -               -           absent or waiting   queued at the tail, or waiting

- A key is handed out to one run at a time and is never lost: what is added while it runs makes it run again.
- A waiting key (delayed) has one time; the earliest that was asked for wins, and an add without delay makes it ready now.
- A run ends by exactly one of `done`, `progressed`, `failed`, `conflicted`, `released`. Failures and conflicts make the key wait;
  until that wait is over nothing starts the key: an add merges its cause and changes neither the wait nor the next one.
- Only `done` and `progressed` forget failures.
- After `shut_down` adds are ignored and waiting keys are dropped; `get` still hands out what is ready, and a dirty key comes
  back when it is done, unless it would have to wait.
- All operations are O(1), those that concern waiting keys O(log n).

Times are seconds of a monotonic clock and must not go back between calls.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from dynamo_ctrl.queue.backoff import CONFLICT_BACKOFF, FAILURE_BACKOFF, MAX_PROGRESS, Backoff, Standing
from dynamo_ctrl.queue.causes import CONFLICT, PROGRESS, REQUEUE, RETRY, Cause, merge
from dynamo_ctrl.queue.delay import Delays, clamp
from dynamo_ctrl.queue.entry import Entry, State
from dynamo_ctrl.queue.numbers import QueueNumbers

K = TypeVar("K", bound=Hashable)

_WAITING, _QUEUED, _PROCESSING, _DIRTY = State


class WorkQueue(Generic[K]):
    """A deduplicating queue of keys with delayed adds and a back-off for each key.

    Args:
        failures: the back-off after a failed run.
        conflicts: the back-off after a conflict.
        max_progress: how often in a row a key may run again at once (see `progressed`).
    """

    def __init__(
        self,
        *,
        failures: Backoff = FAILURE_BACKOFF,
        conflicts: Backoff = CONFLICT_BACKOFF,
        max_progress: int = MAX_PROGRESS,
    ) -> None:
        self.numbers = QueueNumbers()
        self._failures = failures
        self._conflicts = conflicts
        self._max_progress = max_progress
        self._entries: dict[K, Entry[K]] = {}
        self._ready: deque[Entry[K]] = deque()
        self._delays: Delays[K] = Delays()
        self._processing: set[Entry[K]] = set()
        self._standings: dict[K, Standing] = {}
        self._closed = False
        self._draining = False

    # -- adds

    def add(self, key: K, now: float, *, cause: Cause | None = None) -> None:
        """The key wants to run: now, or as soon as its back-off allows."""
        self._want(key, now, now, cause)

    def add_after(self, key: K, delay: float, now: float, *, cause: Cause | None = None) -> None:
        """The key wants to run in `delay` seconds; zero and less mean now, more than `MAX_DELAY` means `MAX_DELAY`."""
        delay = clamp(delay)
        if not self._closed:
            self.numbers.retries += 1
        self._want(key, now + delay, now, cause)

    def _want(self, key: K, at: float, now: float, cause: Cause | None) -> None:
        if self._closed:
            return
        if self._standings:
            at = max(at, self._floor(key))
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(key, _QUEUED, now, (cause,) if cause is not None else ())
            if at <= now:
                self._ready.append(entry)
                self.numbers.adds += 1
            else:
                self._delays.put(entry, at)
            return
        state = entry.state
        if state is _PROCESSING or state is _DIRTY:
            if cause is not None:
                entry.later = merge(entry.later, cause)
            if at > now:
                entry.due = min(entry.due, at)
            elif state is _PROCESSING:
                entry.state = _DIRTY
                self.numbers.adds += 1
            return
        if cause is not None:
            entry.causes = merge(entry.causes, cause)
        if state is _WAITING and at < entry.due:
            if at <= now:
                self._delays.left()
                self._make_ready(entry, now)
            else:
                self._delays.put(entry, at)

    # -- a run

    def get(self, now: float) -> Entry[K] | None:
        """The next key to run, or `None` if none is ready. It is processing until one of the ends is called."""
        if self._delays:
            for due in self._delays.due(now):
                self._make_ready(due, due.due)
        ready = self._ready
        if not ready:
            return None
        entry = ready.popleft()
        numbers = self.numbers
        numbers.gets += 1
        numbers.waited.observe(now - entry.queued_at)
        entry.run = numbers.gets
        entry.state = _PROCESSING
        entry.started_at = now
        entry.due = math.inf
        self._processing.add(entry)
        return entry

    def done(self, entry: Entry[K], now: float, *, after: float | None = None) -> None:
        """The run succeeded: its failures are forgotten, and the key runs again when it is added, or in `after` seconds."""
        if self._standings:
            self._standings.pop(entry.key, None)
        if after is None:
            self._end(entry, now, math.inf, None)
        else:
            self._retry(entry, now, now + clamp(after), REQUEUE)

    def progressed(self, entry: Entry[K], now: float) -> bool:
        """The run succeeded and wants the next one at once. After `max_progress` of them in a row the key backs off instead.

        Returns whether it runs again at once.
        """
        standing = self._standing(entry.key)
        standing.failures = standing.conflicts = 0
        standing.progress += 1
        delay = self._failures.delay(standing.progress - self._max_progress)
        standing.not_before = now + delay
        self._retry(entry, now, now + delay, PROGRESS)
        return delay == 0.0

    def failed(self, entry: Entry[K], now: float) -> float:
        """The run failed: the key backs off. Returns the delay in seconds."""
        standing = self._standing(entry.key)
        standing.failures += 1
        standing.conflicts = standing.progress = 0
        delay = self._failures.delay(standing.failures)
        standing.not_before = now + delay
        self._retry(entry, now, now + delay, RETRY)
        return delay

    def conflicted(self, entry: Entry[K], now: float) -> int:
        """The run met a conflict: the key comes back soon. Returns how many conflicts in a row that makes."""
        standing = self._standing(entry.key)
        standing.conflicts += 1
        delay = self._conflicts.delay(standing.conflicts)
        standing.not_before = now + delay
        self._retry(entry, now, now + delay, CONFLICT)
        return standing.conflicts

    def released(self, entry: Entry[K], now: float) -> None:
        """The run ended without success, and trying again cannot help: only an add brings the key back, and at once."""
        self._end(entry, now, math.inf, None)

    def _retry(self, entry: Entry[K], now: float, at: float, cause: Cause) -> None:
        if not self._closed:
            self.numbers.retries += 1
        self._end(entry, now, at, cause)

    def _end(self, entry: Entry[K], now: float, at: float, cause: Cause | None) -> None:
        state = entry.state
        if state is not _PROCESSING and state is not _DIRTY:
            raise ValueError(f"{entry!r} is not running")
        self._processing.discard(entry)
        self.numbers.worked.observe(now - entry.started_at)
        at = min(at, entry.due) if state is _PROCESSING else now
        if at == math.inf or (self._closed and state is _PROCESSING):
            del self._entries[entry.key]
            return
        if self._standings:
            at = max(at, self._floor(entry.key))
        entry.causes, entry.later = entry.later, ()
        if cause is not None:
            entry.causes = merge(entry.causes, cause)
        if at <= now:
            if state is _PROCESSING:
                self.numbers.adds += 1
            entry.state = _QUEUED
            entry.queued_at = now
            self._ready.append(entry)
        elif self._closed:
            del self._entries[entry.key]
        else:
            self._delays.put(entry, at)

    # -- time

    def next(self) -> float:
        """When the next waiting key becomes ready; infinite if none waits. Keys that are ready already do not count."""
        return self._delays.next()

    def _make_ready(self, entry: Entry[K], at: float) -> None:
        entry.state = _QUEUED
        entry.queued_at = at
        self._ready.append(entry)
        self.numbers.adds += 1

    def _standing(self, key: K) -> Standing:
        standing = self._standings.get(key)
        if standing is None:
            standing = self._standings[key] = Standing()
        return standing

    def _floor(self, key: K) -> float:
        standing = self._standings.get(key)
        return -math.inf if standing is None else standing.not_before

    # -- the end

    def shut_down(self, *, drain: bool = False) -> None:
        """Take no more keys. With `drain`, `finished` also waits for the running ones, and for those that they left dirty."""
        self._closed = True
        self._draining = drain
        for entry in self._delays.clear():
            self._entries.pop(entry.key, None)

    @property
    def closed(self) -> bool:
        """Whether `shut_down` was called."""
        return self._closed

    @property
    def finished(self) -> bool:
        """Whether a closed queue has nothing more to hand out (and, when it drains, nothing is running)."""
        return self._closed and not self._ready and not (self._draining and self._processing)

    # -- what is in it

    def __len__(self) -> int:
        """How many keys are ready; waiting and processing ones do not count."""
        return len(self._ready)

    def __contains__(self, key: K) -> bool:
        """Whether the key is queued, waiting or processing."""
        return key in self._entries

    @property
    def waiting(self) -> int:
        """How many keys wait for their time."""
        return len(self._delays)

    @property
    def processing(self) -> int:
        """How many keys run now."""
        return len(self._processing)

    def running(self) -> Iterator[Entry[K]]:
        """The entries that run now, in no order."""
        return iter(self._processing)

    def failures(self, key: K) -> int:
        """How many runs of the key failed since its last success."""
        standing = self._standings.get(key)
        return 0 if standing is None else standing.failures
