"""`Watcher`: what to ask an API server for next, so that a store follows one collection. Sans-I/O.

The rules are those of R 3.1. The shell asks `ask()` what to do, does it, and tells the outcome; what the store has to do
with it is returned as a decision. States are explicit:

    Listing --last page--> Opening --opened--> Watching --ended--> Opening      (a normal end: the same version, no list)
       ^                      |                   |
       |        failed        v      failed       |
       +------ Waiting <------+-------------------+                              (then Listing, or Opening without a list)

Times are seconds of any clock that only grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, TypeAlias

from dynamo_ctrl.cache.backoff import Backoff, BackoffOptions
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WatcherOptions:
    """The bounds of one watcher. All times are seconds.

    Attributes:
        page_size: objects in one page of a list.
        first_version: version of the first list. "" is a consistent read, paged, served from the watch cache by servers
            since 1.31; it cannot go back in time when another API server answers after a restart. "0" takes any state
            that the server has at hand, usually in a single answer.
        watch_timeout: each watch ends after a time drawn uniformly from this range, so that reconnects spread.
        idle: a stream without any event, bookmarks included, for so long is half open: it is watched again.
        short_watch: a watch that ends sooner than this without any event has failed.
        server_error_grace: for so long after the first internal error on a stream it is watched again without a list.
        absent_cap: greatest back-off while the API is not served.
        retry_after_cap: the longest `Retry-After` that is believed.
    """

    page_size: int = 500
    first_version: Literal["", "0"] = ""
    watch_timeout: tuple[float, float] = (300.0, 600.0)
    idle: float = 150.0
    short_watch: float = 1.0
    server_error_grace: float = 0.0
    absent_cap: float = 10.0
    retry_after_cap: float = 300.0
    backoff: BackoffOptions = field(default_factory=BackoffOptions)


class VeryShortWatch(EngineError):
    """A watch ended at once and without an event: something between us and the server does not let watches live."""

    default_code, default_reason = 0, "VeryShortWatch"


# --- what the watcher asks for


@dataclass(frozen=True, slots=True)
class ListPage:
    """Get one page."""

    options: ListOptions


@dataclass(frozen=True, slots=True)
class OpenWatch:
    """Open a watch and tell its events."""

    options: WatchOptions


@dataclass(frozen=True, slots=True)
class Wait:
    """Let so many seconds pass; being woken earlier is fine."""

    seconds: float


Ask: TypeAlias = ListPage | OpenWatch | Wait


# --- what the store has to do with an answer


@dataclass(frozen=True, slots=True)
class Collect:
    """Lay the items of the page aside, invisible to readers. `fresh`: forget what was laid aside before."""

    fresh: bool


@dataclass(frozen=True, slots=True)
class Replace:
    """The list is complete with this page: replace the content with what was laid aside.

    Attributes:
        version: the version that the content stands for.
        fresh: forget what was laid aside before this page.
        consistent: the list was a quorum read; it holds every write that was answered before its first page was asked for.
    """

    version: str
    fresh: bool = True
    consistent: bool = False


# --- states


@dataclass(frozen=True, slots=True)
class Listing:
    """Pages are being fetched. `version` is what the list asks for; `token` is set from the second page on."""

    version: str
    token: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Opening:
    """A watch is wanted and not open yet."""

    version: str


@dataclass(frozen=True, slots=True)
class Watching:
    """A watch is open."""

    since: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something failed; `then` follows after the wait."""

    seconds: float
    then: Listing | Opening


State: TypeAlias = Listing | Opening | Watching | Waiting


class Watcher:
    """Follows one collection: one kind in one namespace or in all, with its selectors.

    Attributes:
        scope: the namespace, "" for all.
        state: where it is.
        version: the last version seen, "" before the first list.
        failure: why it waits; `None` otherwise.
        history_lost: the server has not reached a version that it told before, so it was restored or replaced: until the next
            list succeeds, equal versions do not mean equal objects.
        pages, lists, watches, failures: counters for metrics.
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
        self.pages = self.lists = self.watches = self.failures = 0
        self._quorum = False  # the next list reads at "", until one succeeds (R 3.1 item 2)
        self.history_lost = False
        self._replaying = False  # the server replays what exists, in no order of versions (R 3.1 item 3)
        self._events = 0
        self._server_error_since: float | None = None
        self.state: State = self._new_list()

    # --- asking

    def ask(self) -> Ask | None:
        """What to do now; `None` while a watch is open: tell its events."""
        state = self.state
        match state:
            case Listing():
                return ListPage(self._page(state))
            case Opening(version):
                low, high = self._options.watch_timeout
                return OpenWatch(
                    replace(self._watch, resource_version=version, timeout=self._random.uniform(low, high))
                )
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

    def _new_list(self) -> Listing:
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
        self.lists += 1
        self.version = version
        self.failure = None
        self._quorum = self.history_lost = False
        self._replaying = version in ("", "0")
        self.state = Opening(version)
        return Replace(version, fresh=fresh, consistent=state.version == "")

    # --- answers to a watch

    def opened(self, now: float) -> None:
        """The watch is open."""
        self.watches += 1
        self.failure = None
        self._events = 0
        self.state = Watching(now)

    def changed(self, version: str, *, added: bool) -> None:
        """An ADDED, MODIFIED or DELETED event with the object's version."""
        self._events += 1
        if self._replaying:
            if added:
                return
            self._replaying = False
        if version:
            self.version = version

    def bookmark(self, version: str) -> None:
        """A BOOKMARK event: nothing changed up to that version."""
        self.changed(version, added=False)

    def skipped(self) -> None:
        """An event that cannot be used (malformed, of another kind, of an unknown type); the stream goes on."""
        self._events += 1

    def ended(self, now: float) -> None:
        """The stream ended, was cut, or fell silent: a normal end, unless it was very short (R 3.1 item 6)."""
        state = self.state
        assert isinstance(state, Watching), state  # noqa: S101
        if self._events == 0 and now - state.since < self._options.short_watch:
            lived = f"the watch ended after {now - state.since:.3f} s without an event"
            self._wait(VeryShortWatch(lived), now, self._new_list())
        else:
            self.state = Opening(self.version)

    # --- failures

    def failed(self, error: Exception, now: float) -> None:
        """What was asked for failed, or the stream told an ERROR event (as its typed error)."""
        state = self.state
        match state:
            case Listing():
                self._list_failed(state, error, now)
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
