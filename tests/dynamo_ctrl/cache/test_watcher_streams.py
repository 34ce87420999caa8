"""The rules of R 3.1 about watches and their failures; the number of the item stands in the name."""

from __future__ import annotations

from random import Random

import pytest

from dynamo_ctrl.cache.backoff import BackoffOptions
from dynamo_ctrl.cache.decisions import (
    Listing,
    ListPage,
    Opening,
    OpenWatch,
    VeryShortWatch,
    Wait,
)
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.engine.errors import (
    EngineError,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
    Unavailable,
    Unreachable,
)
from dynamo_ctrl.engine.port import ListOptions, WatchOptions


def watcher(**options: object) -> Watcher:
    return Watcher(Random(7), WatcherOptions(**options))  # type: ignore[arg-type]


def listing(it: Watcher) -> ListOptions:
    ask = it.ask()
    assert isinstance(ask, ListPage), ask
    return ask.options


def opening(it: Watcher) -> WatchOptions:
    ask = it.ask()
    assert isinstance(ask, OpenWatch), ask
    return ask.options


def waiting(it: Watcher) -> float:
    ask = it.ask()
    assert isinstance(ask, Wait), ask
    return ask.seconds


def listed(it: Watcher, version: str = "10") -> Watcher:
    it.listed(version, "")
    return it


def watched(it: Watcher, version: str = "10", now: float = 0.0) -> Watcher:
    listed(it, version).opened(now)
    return it


def after_wait(it: Watcher) -> Watcher:
    waiting(it)
    it.waited()
    return it


def state(it: Watcher) -> object:
    return it.state


def failure(it: Watcher) -> Exception | None:
    return it.failure


# --- item 6: the watch


def test_6_the_timeout_of_each_watch_is_drawn_from_five_to_ten_minutes() -> None:
    it = listed(watcher())
    drawn = {opening(it).timeout for _ in range(50)}
    assert len(drawn) == 50
    assert all(300 <= timeout <= 600 for timeout in drawn)
    assert max(drawn) - min(drawn) > 150


def test_6_bookmarks_are_asked_for_and_move_the_version() -> None:
    it = listed(watcher())
    assert opening(it).bookmarks
    it.opened(0.0)
    it.bookmark("55")
    it.ended(300.0)
    assert opening(it).resource_version == "55"


@pytest.mark.parametrize(("events", "lived"), [(0, 1.0), (0, 300.0), (1, 0.0)])
def test_6_a_normal_end_is_watched_again_from_the_last_version_without_a_list(events: int, lived: float) -> None:
    it = watched(watcher())
    for number in range(events):
        it.changed(str(11 + number), added=False)
    it.ended(lived)
    assert state(it) == Opening(str(10 + events))
    assert it.failures == 0


def test_6_a_very_short_watch_costs_a_wait_and_a_list_with_the_last_version() -> None:
    it = watched(watcher(), now=100.0)
    it.ended(100.9)
    assert isinstance(it.failure, VeryShortWatch)
    after_wait(it)
    assert listing(it).resource_version == "10"


def test_6_an_event_that_was_skipped_counts_as_an_event() -> None:
    it = watched(watcher())
    it.skipped()
    it.ended(0.1)
    assert isinstance(state(it), Opening)


@pytest.mark.parametrize("error", [Unanswered("no event for 150 s"), Unreachable("connection reset")])
def test_6_a_stream_that_breaks_or_falls_silent_has_ended(error: EngineError) -> None:
    it = watched(watcher())
    it.failed(error, 150.0)
    assert state(it) == Opening("10")


# --- item 7: failures of a watch


@pytest.mark.parametrize("error", [TooManyRequests("busy"), Unreachable("connection refused")])
def test_7_a_throttled_or_refused_watch_waits_and_watches_again_without_a_list(error: EngineError) -> None:
    it = listed(watcher())
    it.failed(error, 1.0)
    after_wait(it)
    assert opening(it).resource_version == "10"


@pytest.mark.parametrize("error", [Forbidden("no"), Unavailable("down"), Unanswered("late"), NotFound("no such API")])
def test_7_any_other_refused_watch_lists_with_the_last_version_after_a_wait(error: EngineError) -> None:
    it = listed(watcher())
    it.failed(error, 1.0)
    after_wait(it)
    assert listing(it).resource_version == "10"


def test_7_an_expired_watch_lists_with_the_last_version_first_and_only_then_without() -> None:
    it = watched(watcher())
    it.failed(Expired("too old"), 1.0)
    after_wait(it)
    assert listing(it).resource_version == "10"
    it.failed(Expired("too old"), 2.0)
    assert listing(it).resource_version == ""


def test_7_an_internal_error_on_the_stream_lists_anew_by_default() -> None:
    it = watched(watcher())
    it.failed(ServerError("etcd"), 1.0)
    after_wait(it)
    assert isinstance(state(it), Listing)


def test_7_an_internal_error_is_watched_again_without_a_list_within_its_grace() -> None:
    it = watched(watcher(server_error_grace=10.0))
    it.failed(ServerError("etcd"), 1.0)
    after_wait(it)
    assert isinstance(state(it), Opening)
    it.opened(5.0)
    it.failed(ServerError("etcd"), 11.5)
    after_wait(it)
    assert isinstance(state(it), Listing)


def test_7_a_throttled_stream_waits_and_watches_again() -> None:
    it = watched(watcher())
    it.failed(TooManyRequests("busy"), 1.0)
    after_wait(it)
    assert isinstance(state(it), Opening)


# --- item 9: too large a version


def test_9_a_server_with_an_older_history_is_listed_without_a_version_and_its_versions_prove_nothing() -> None:
    it = watched(watcher(), "900")
    it.failed(Invalid("restarted"), 1.0)
    after_wait(it)
    it.failed(TooLargeResourceVersion("900 > 100"), 2.0)
    assert it.history_lost
    assert listing(it).resource_version == ""
    assert not listed(it, "100").history_lost
    assert opening(it).resource_version == "100"


def test_9_a_watch_that_finds_its_version_too_large_does_not_ask_for_it_again() -> None:
    it = watched(watcher(), "900")
    it.failed(TooLargeResourceVersion("900 > 100"), 1.0)
    after_wait(it)
    assert listing(it).resource_version == ""
    assert it.history_lost


# --- more


def test_an_absent_api_is_asked_for_again_more_often_than_a_failing_server() -> None:
    it = watcher(backoff=BackoffOptions(jitter=0.0))
    for second in range(12):
        it.failed(NotFound("no such API"), float(second))
        assert waiting(it) <= 10.0
        it.waited()


def test_an_unknown_error_lists_anew_from_every_state() -> None:
    for it in (watcher(), listed(watcher()), watched(watcher())):
        it.failed(RuntimeError("a defect"), 1.0)
        after_wait(it)
        assert isinstance(state(it), Listing)


def test_selectors_and_namespace_go_along_with_every_request() -> None:
    it = Watcher(Random(7), namespace="ns", label_selector="a=b", field_selector="metadata.name=x")
    for options in (listing(it), opening(listed(it))):
        assert (options.namespace, options.label_selector, options.field_selector) == ("ns", "a=b", "metadata.name=x")


def test_the_failure_is_told_while_it_waits_and_forgotten_when_the_watch_is_open() -> None:
    it = watched(watcher())
    error = Expired("too old")
    it.failed(error, 1.0)
    assert failure(it) is error
    after_wait(it)
    watched(it, "20")
    assert failure(it) is None


def test_counters() -> None:
    it = watcher()
    it.listed("1", "t")
    watched(it, "1")
    it.failed(Expired("too old"), 1.0)
    assert (it.pages, it.lists, it.watches, it.failures) == (2, 1, 1, 1)
