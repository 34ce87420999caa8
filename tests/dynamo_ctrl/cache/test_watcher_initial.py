"""The rules of R 3.2: initial objects that come as a stream, and every way back to a list in pages."""

from __future__ import annotations

from random import Random

import pytest

from dynamo_ctrl.cache.decisions import Filling, Listing, ListPage, NoEndMark, OpenWatch, Replace, Wait, Watching
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.engine.errors import (
    BadRequest,
    EngineError,
    Expired,
    Forbidden,
    Invalid,
    ServerError,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
    Unreachable,
)
from dynamo_ctrl.engine.port import ListOptions, WatchOptions


def watcher(**options: object) -> Watcher:
    return Watcher(Random(7), WatcherOptions(initial="stream", **options), namespace="ns")  # type: ignore[arg-type]


def stream(it: Watcher) -> WatchOptions:
    """The streaming list that it asks for."""
    ask = it.ask()
    assert isinstance(ask, OpenWatch), ask
    assert ask.options.send_initial
    assert ask.options.bookmarks
    return ask.options


def page(it: Watcher) -> ListOptions:
    ask = it.ask()
    assert isinstance(ask, ListPage), ask
    return ask.options


def filling(it: Watcher) -> Watcher:
    stream(it)
    it.opened(0.0)
    assert isinstance(it.state, Filling)
    return it


def filled(it: Watcher, version: str = "10") -> Watcher:
    filling(it).bookmark(version, ends_initial=True)
    return it


def after_wait(it: Watcher) -> Watcher:
    assert isinstance(it.ask(), Wait)
    it.waited()
    return it


def test_the_mark_replaces_and_the_same_connection_is_followed() -> None:
    it = watcher()
    assert (stream(it).resource_version, stream(it).namespace) == ("", "ns")
    it.opened(0.0)
    for number in range(3):
        it.changed(str(number), added=True)
    assert it.version == "", "the versions of initial objects say nothing"
    assert it.bookmark("10", ends_initial=True) == Replace("10", fresh=False, consistent=True)
    assert (it.state, it.version, it.lists, it.watches, it.pages) == (Watching(0.0), "10", 1, 1, 0)
    it.changed("11", added=True)
    assert it.version == "11", "after the mark an addition is an event like any other"


def test_a_stream_that_ends_after_its_mark_is_resumed_without_initial_objects() -> None:
    it = filled(watcher())
    it.ended(0.5)
    ask = it.ask()
    assert isinstance(ask, OpenWatch)
    assert (ask.options.send_initial, ask.options.resource_version) == (False, "10")


def test_later_streams_ask_for_nothing_older_than_what_was_seen_and_are_not_consistent() -> None:
    it = filled(watcher())
    it.failed(Expired("compacted"), 1.0)
    assert stream(after_wait(it)).resource_version == "10"
    it.opened(2.0)
    assert it.bookmark("20", ends_initial=True) == Replace("20", fresh=False, consistent=False)


@pytest.mark.parametrize("silence", [True, False], ids=["silent", "a bookmark that is not the mark"])
def test_r4_16_a_stream_that_does_not_come_to_its_mark_is_listed_at_once(silence: bool) -> None:
    it = filling(watcher())
    if silence:
        it.silent()
    else:
        assert it.bookmark("10") is None
    assert page(it) == ListOptions(namespace="ns", limit=500)
    assert (it.fallbacks, it.failures) == (1, 0)
    it.listed("12", "")
    it.opened(0.0)
    it.failed(Expired("compacted"), 1.0)
    assert stream(after_wait(it)).resource_version == "12", "the next time a stream is tried again"


def test_r4_16_streams_that_end_before_their_mark_are_tried_again_so_many_times() -> None:
    it = watcher(stream_attempts=3)
    for _ in range(2):
        filling(it).ended(0.5)
        assert isinstance(it.failure, NoEndMark)
        after_wait(it)
    filling(it).ended(0.5)
    page(it)
    assert (it.fallbacks, it.failures) == (1, 2)


def test_one_stream_that_comes_to_its_mark_makes_up_for_those_that_did_not() -> None:
    it = watcher(stream_attempts=2)
    filling(it).ended(0.5)
    filled(after_wait(it)).failed(Expired("compacted"), 1.0)
    filling(after_wait(it)).ended(2.0)
    assert it.fallbacks == 0
    after_wait(it)


@pytest.mark.parametrize("error", [Unanswered("no event for 150 s"), Unreachable("connection reset")])
def test_a_stream_that_breaks_before_its_mark_has_ended_early(error: EngineError) -> None:
    it = filling(watcher())
    it.failed(error, 3.0)
    assert isinstance(it.failure, NoEndMark)
    stream(after_wait(it))


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("error", [TooManyRequests("busy", retry_after=40), Unreachable("connection refused")])
def test_a_throttled_or_refused_stream_is_tried_again_after_a_wait(error: EngineError, opened: bool) -> None:
    it = watcher()
    if opened and isinstance(error, TooManyRequests):
        filling(it)
    it.failed(error, 0.0)
    ask = it.ask()
    assert isinstance(ask, Wait)
    assert ask.seconds >= (error.retry_after or 0.8)
    stream(after_wait(it))
    assert it.fallbacks == 0


@pytest.mark.parametrize("error", [Expired("compacted"), TooLargeResourceVersion("too large")])
@pytest.mark.parametrize("opened", [True, False])
def test_a_version_that_the_server_does_not_have_is_asked_for_anew_at_once(error: EngineError, opened: bool) -> None:
    it = filled(watcher())
    it.failed(Expired("compacted"), 1.0)
    after_wait(it)
    if opened:
        filling(it)
    it.failed(error, 2.0)
    assert stream(it).resource_version == ""
    assert it.history_lost is isinstance(error, TooLargeResourceVersion)
    it.failed(error, 2.0)
    assert stream(after_wait(it)).resource_version == "", "without a version there is nothing left to leave out"
    it.opened(3.0)
    assert it.bookmark("5", ends_initial=True) == Replace("5", fresh=False, consistent=True)
    assert not it.history_lost
    it.failed(Expired("compacted"), 4.0)
    assert stream(after_wait(it)).resource_version == "5"


@pytest.mark.parametrize("error", [BadRequest("unknown option"), Invalid("no"), Forbidden("no"), ServerError("broken")])
@pytest.mark.parametrize("opened", [True, False])
def test_any_other_refusal_is_listed_at_once(error: EngineError, opened: bool) -> None:
    it = watcher()
    if opened:
        filling(it)
    it.failed(error, 0.0)
    assert isinstance(it.state, Listing)
    assert page(it).resource_version == ""
    assert it.fallbacks == 1


def test_a_list_that_took_the_place_of_a_stream_and_fails_waits_for_the_next_stream() -> None:
    it = watcher()
    it.failed(BadRequest("unknown option"), 0.0)
    it.failed(ServerError("broken"), 0.0)
    stream(after_wait(it))


def test_an_event_that_cannot_be_used_ends_nothing() -> None:
    it = filling(watcher())
    it.skipped()
    assert isinstance(it.state, Filling)
