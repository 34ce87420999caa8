"""`Watcher`: what to ask an API server for next, so that a store follows one collection. Sans-I/O.

The rules are those of R 3.1. The shell asks `ask()` what to do, does it, and tells the outcome; what the store has to do
with it is returned as a decision. States are explicit:

    Listing --last page--> Opening --opened--> Watching --ended--> Opening      (a normal end: the same version, no list)
       ^                      |                   |
       |        failed        v      failed       |
       +------ Waiting <------+-------------------+                              (then Listing, or Opening without a list)

With a streaming initial list (R 3.2) `Opening(initial=True) --opened--> Filling --end mark--> Watching` takes the place of
`Listing` and the opening after it. A stream that does not come to its mark falls back to a list, for this one time.

Times are seconds of any clock that only grows.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from dynamo_ctrl.cache.backoff import Backoff
from dynamo_ctrl.cache.decisions import (
    Ask,
    Collect,
    Filling,
    Listing,
    ListPage,
    NoEndMark,
    Opening,
    OpenWatch,
    Replace,
    State,
    VeryShortWatch,
    Wait,
    Waiting,
    Watching,
)
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.engine.errors import (
    EngineError,
    Expired,
    NotFound,
    ServerError,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
    Unreachable,
    UnsupportedKind,
)
from dynamo_ctrl.engine.port import ListOptions, VersionMatch, WatchOptions


class Watcher:
    """Follows one collection: one kind in one namespace or in all, with its selectors.

    Attributes:
        scope: the namespace, "" for all.
        state: where it is.
        version: the last version seen, "" before the first list.
        failure: why it waits; `None` otherwise.
        history_lost: the server has not reached a version that it told before, so it was restored or replaced: until the next
            list succeeds, equal versions do not mean equal objects.
        pages, lists, watches, short_watches, fallbacks, failures: counters for metrics. A streaming list counts among the lists
            and among the watches; one that was given up for a list in pages among the fall-backs.
    """

    def __init__(
        self,
        random: Random,
        options: WatcherOptions | None = None,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> None:
        self._options = options = options or WatcherOptions()
        self._random = random
        self._backoff = Backoff(options.backoff, random)
        self._list = ListOptions(namespace=namespace, label_selector=label_selector, field_selector=field_selector)
        self._watch = WatchOptions(
            namespace=namespace, label_selector=label_selector, field_selector=field_selector, idle=options.idle
        )
        self.scope = namespace
        self.version = ""
        self.failure: Exception | None = None
        self.pages = self.lists = self.watches = self.short_watches = self.fallbacks = self.failures = 0
        self._quorum = False  # the next list reads at "", until one succeeds (R 3.1 item 2)
        self.history_lost = False
        self._replaying = False  # the server replays what exists, in no order of versions (R 3.1 item 3)
        self._events = 0
        self._markless = 0  # streams in a row that ended before their mark
        self._server_error_since: float | None = None
        self.state: State = self._new_list()

    @property
    def stream_patience(self) -> float:
        """For so many seconds a streaming list may be silent."""
        return self._options.stream_patience

    # --- asking

    def ask(self) -> Ask | None:
        """What to do now; `None` while a watch is open: tell its events."""
        state = self.state
        match state:
            case Listing():
                return ListPage(self._page(state))
            case Opening(version, initial):
                timeout = self._random.uniform(*self._options.watch_timeout)
                return OpenWatch(replace(self._watch, resource_version=version, timeout=timeout, send_initial=initial))
            case Waiting(seconds, _):
                return Wait(seconds)
            case _:
                return None

    def _page(self, state: Listing) -> ListOptions:
        if state.token:
            return replace(self._list, limit=state.limit, continue_token=state.token)
        # A version with a limit and no match would mean "exactly that version" to the server.
        match: VersionMatch = "NotOlderThan" if state.version not in ("", "0") else ""
        return replace(self._list, limit=state.limit, resource_version=state.version, match=match)

    def _new_list(self) -> Listing | Opening:
        if self._options.initial == "list":
            return self._paged()
        return Opening("" if self._quorum else self.version, initial=True)

    def _paged(self) -> Listing:
        version = "" if self._quorum else self.version or self._options.first_version
        return Listing(version, limit=self._options.page_size)

    # --- answers to a list

    def listed(self, version: str, token: str) -> Collect | Replace:
        """A page came: the list's version, and the token of the next page, if there is one."""
        state = self.state
        assert isinstance(state, Listing), state  # noqa: S101
        self.pages += 1
        fresh = not state.token
        if token:
            self.state = replace(state, token=token)
            return Collect(fresh)
        self._complete(version)
        self._replaying = version in ("", "0")
        self.state = Opening(version)
        return Replace(version, fresh=fresh, consistent=state.version == "")

    def _complete(self, version: str) -> None:
        self.lists += 1
        self.version = version
        self.failure = None
        self._quorum = self.history_lost = False
        self._markless = 0

    # --- answers to a watch

    def opened(self, now: float) -> None:
        """The watch is open."""
        state = self.state
        assert isinstance(state, Opening), state  # noqa: S101
        self.watches += 1
        self.failure = None
        self._events = 0
        self.state = Filling(now, state.version) if state.initial else Watching(now)

    def changed(self, version: str, *, added: bool) -> None:
        """An ADDED, MODIFIED or DELETED event with the object's version."""
        self._events += 1
        if isinstance(self.state, Filling):
            return
        if self._replaying:
            if added:
                return
            self._replaying = False
        if version:
            self.version = version

    def bookmark(self, version: str, *, ends_initial: bool = False) -> Replace | None:
        """A BOOKMARK event: everything up to that version was told. `ends_initial`: it carries the mark of a streaming list.

        Returns what to do with what was laid aside, where it is the awaited mark. A bookmark that should have been the mark and
        is not gives the stream up (`ask` tells what to do instead).
        """
        state = self.state
        if not isinstance(state, Filling):
            self.changed(version, added=False)
            return None
        if not ends_initial:
            self._fall_back()
            return None
        self._events += 1
        self._complete(version)
        self._replaying = False
        self.state = Watching(state.since)
        return Replace(version, fresh=False, consistent=state.version == "")

    def silent(self) -> None:
        """A streaming list told nothing for `stream_patience`: it is given up for a list in pages."""
        self._fall_back()

    def _fall_back(self) -> None:
        self.fallbacks += 1
        self._markless = 0
        self.state = self._paged()

    def skipped(self) -> None:
        """An event that cannot be used (malformed, of another kind, of an unknown type); the stream goes on."""
        self._events += 1

    def ended(self, now: float) -> None:
        """The stream ended, was cut, or fell silent: a normal end, unless it was very short (R 3.1 item 6)."""
        state = self.state
        if isinstance(state, Filling):
            self._ended_early(now)
            return
        assert isinstance(state, Watching), state  # noqa: S101
        if self._events == 0 and now - state.since < self._options.short_watch:
            self.short_watches += 1
            lived = f"the watch ended after {now - state.since:.3f} s without an event"
            self._wait(VeryShortWatch(lived), now, self._new_list())
        else:
            self.state = Opening(self.version)

    def _ended_early(self, now: float) -> None:
        self._markless += 1
        if self._markless >= self._options.stream_attempts:
            self._fall_back()
        else:
            self._wait(NoEndMark("the streaming list ended before its end mark"), now, self._new_list())

    # --- failures

    def failed(self, error: Exception, now: float) -> None:
        """What was asked for failed, or the stream told an ERROR event (as its typed error)."""
        state = self.state
        match state:
            case Listing():
                self._list_failed(state, error, now)
            case Opening(version, True):
                self._stream_refused(version, error, now)
            case Filling(_, version) if not isinstance(error, Unanswered | Unreachable):
                self._stream_refused(version, error, now)
            case Filling():
                self._ended_early(now)
            case Opening():
                self._watch_refused(error, now)
            case Watching():
                self._stream_failed(error, now)
            case _:
                self._wait(error, now, self._new_list())

    def _list_failed(self, state: Listing, error: Exception, now: float) -> None:
        lost = isinstance(error, TooLargeResourceVersion)
        if isinstance(error, Expired) and state.token:
            # One answer without pages, at the version that was asked for at first (R 3.1 item 4).
            self.state = replace(state, token="", limit=0)
        elif state.version != "" and (lost or isinstance(error, Expired)):
            # At once and not after a back-off (R 3.1 item 2).
            self._quorum = True
            self.history_lost |= lost
            self.state = self._new_list()
        else:
            self._wait(error, now, self._new_list())

    def _stream_refused(self, version: str, error: Exception, now: float) -> None:
        """R 3.2: throttled or refused is tried again, a version that is not there without one, anything else is listed."""
        lost = isinstance(error, TooLargeResourceVersion)
        if isinstance(error, TooManyRequests | Unreachable):
            self._wait(error, now, self._new_list())
        elif lost or isinstance(error, Expired):
            self._quorum = True
            self.history_lost |= lost
            if version:
                self.state = self._new_list()
            else:
                self._wait(error, now, self._new_list())
        else:
            self._fall_back()

    def _watch_refused(self, error: Exception, now: float) -> None:
        if isinstance(error, TooManyRequests | Unreachable):
            self._wait(error, now, Opening(self.version))
        else:
            self._relist(error, now)

    def _stream_failed(self, error: Exception, now: float) -> None:
        if isinstance(error, Unanswered | Unreachable):
            self.ended(now)
        elif isinstance(error, TooManyRequests) or (isinstance(error, ServerError) and self._in_grace(now)):
            self._wait(error, now, Opening(self.version))
        else:
            self._relist(error, now)

    def _in_grace(self, now: float) -> bool:
        grace = self._options.server_error_grace
        since = self._server_error_since
        if since is None or now - since > max(grace, self._options.backoff.reset):
            self._server_error_since = since = now
        return now - since < grace

    def _relist(self, error: Exception, now: float) -> None:
        if isinstance(error, TooLargeResourceVersion):
            self._quorum = self.history_lost = True
        self._wait(error, now, self._new_list())

    def _wait(self, error: Exception, now: float, then: Listing | Opening) -> None:
        self.failures += 1
        self.failure = error
        absent = isinstance(error, NotFound | UnsupportedKind)
        seconds = self._backoff.next(now, cap=self._options.absent_cap if absent else None)
        if isinstance(error, EngineError) and error.retry_after is not None:
            seconds = max(seconds, min(error.retry_after, self._options.retry_after_cap))
        self.state = Waiting(seconds, then)

    def waited(self) -> None:
        """The wait is over."""
        state = self.state
        assert isinstance(state, Waiting), state  # noqa: S101
        self.state = state.then
