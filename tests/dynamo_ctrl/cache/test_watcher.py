"""The rules of R 3.1 about lists and back-off; the number of the item stands in the name."""

from __future__ import annotations

from random import Random

import pytest

from dynamo_ctrl.cache.backoff import BackoffOptions
from dynamo_ctrl.cache.decisions import (
    Collect,
    Listing,
    ListPage,
    OpenWatch,
    Replace,
    Wait,
    Waiting,
    Watching,
)
from dynamo_ctrl.cache.options import WatcherOptions
from dynamo_ctrl.cache.watcher import Watcher
from dynamo_ctrl.engine.errors import (
    EngineError,
    Expired,
    Invalid,
    TooLargeResourceVersion,
    TooManyRequests,
    Unanswered,
    Unavailable,
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


# --- item 1: the loop and its back-off


def test_1_it_lists_then_watches_from_the_lists_version() -> None:
    it = watcher()
    assert isinstance(state(it), Listing)
    assert it.listed("10", "") == Replace("10", fresh=True, consistent=True)
    assert opening(it).resource_version == "10"
    it.opened(5.0)
    assert state(it) == Watching(5.0)
    assert it.ask() is None


def test_1_failures_wait_800_ms_doubling_with_jitter_up_to_30_s() -> None:
    it = watcher()
    sleeps = []
    for second in range(9):
        it.failed(Unavailable("down"), float(second))
        sleeps.append(waiting(it))
        it.waited()
    for sleep, base in zip(sleeps, (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0), strict=True):
        assert base <= sleep < 2 * base


def test_1_the_backoff_begins_anew_after_two_minutes_without_a_failure() -> None:
    it = watcher(backoff=BackoffOptions(jitter=0.0))
    for second in (0.0, 1.0, 2.0):
        it.failed(Unavailable("down"), second)
        last = waiting(it)
        it.waited()
    assert last == pytest.approx(3.2)
    it.failed(Unavailable("down"), 122.5)
    assert waiting(it) == pytest.approx(0.8)


def test_1_success_alone_does_not_reset_the_backoff() -> None:
    it = watcher(backoff=BackoffOptions(jitter=0.0))
    it.failed(Unavailable("down"), 0.0)
    after_wait(it)
    watched(it)
    it.failed(Unavailable("down again"), 5.0)
    assert waiting(it) == pytest.approx(1.6)


def test_1_retry_after_lengthens_the_wait_and_is_believed_up_to_a_bound() -> None:
    it = watcher(backoff=BackoffOptions(jitter=0.0))
    it.failed(TooManyRequests("slow down", retry_after=7.0), 0.0)
    assert waiting(it) == 7.0
    it.waited()
    it.failed(TooManyRequests("go away", retry_after=1e9), 1.0)
    assert waiting(it) == 300.0


# --- item 2: the version of a list


def test_2_the_first_list_is_a_consistent_read() -> None:
    assert listing(watcher()) == ListOptions(limit=500)


def test_2_the_first_list_may_take_any_cached_state_if_asked_to() -> None:
    it = watcher(first_version="0")
    assert listing(it) == ListOptions(limit=500, resource_version="0")
    assert it.listed("10", "") == Replace("10", consistent=False)


def test_2_a_later_list_asks_for_nothing_older_than_what_was_seen() -> None:
    it = watched(watcher())
    it.changed("17", added=False)
    it.failed(Invalid("odd"), 3.0)
    after_wait(it)
    assert listing(it) == ListOptions(limit=500, resource_version="17", match="NotOlderThan")
    assert it.listed("20", "") == Replace("20", consistent=False)


@pytest.mark.parametrize("error", [Expired("gone"), TooLargeResourceVersion("too large")])
def test_2_an_old_or_unreached_version_falls_back_to_a_quorum_read_at_once(error: EngineError) -> None:
    it = watched(watcher())
    it.failed(Expired("gone"), 2.0)
    after_wait(it)
    assert listing(it).resource_version == "10"
    it.failed(error, 3.0)
    assert listing(it) == ListOptions(limit=500), "without a wait in between"


def test_2_the_quorum_read_is_kept_until_one_list_succeeds_and_then_forgotten() -> None:
    it = watched(watcher())
    it.failed(Expired("gone"), 2.0)
    after_wait(it)
    it.failed(Expired("gone"), 3.0)
    it.failed(Unavailable("down"), 4.0)
    after_wait(it)
    assert listing(it).resource_version == ""
    assert it.listed("30", "") == Replace("30", consistent=True)
    it.opened(5.0)
    it.failed(Invalid("odd"), 6.0)
    after_wait(it)
    assert listing(it).resource_version == "30"


def test_2_a_quorum_read_that_expires_waits() -> None:
    it = watcher()
    it.failed(Expired("gone"), 0.0)
    assert isinstance(state(it), Waiting)


# --- item 3: the guard on versions that are replayed


@pytest.mark.parametrize("start", ["", "0"])
def test_3_replayed_objects_do_not_move_the_version(start: str) -> None:
    it = watched(watcher(), start)
    it.changed("90", added=True)
    it.changed("40", added=True)
    assert it.version == start
    it.changed("95", added=False)
    assert it.version == "95"
    it.changed("96", added=True)
    assert it.version == "96"


def test_3_a_bookmark_ends_the_replay() -> None:
    it = watched(watcher(), "0")
    it.changed("40", added=True)
    it.bookmark("41")
    assert it.version == "41"


def test_3_a_watch_from_a_real_version_moves_it_with_every_event() -> None:
    it = watched(watcher())
    it.changed("11", added=True)
    assert it.version == "11"


# --- item 4: paging


def test_4_pages_are_collected_and_only_the_last_one_replaces() -> None:
    it = watcher(page_size=2)
    assert it.listed("10", "t1") == Collect(fresh=True)
    assert listing(it) == ListOptions(limit=2, continue_token="t1")
    assert it.listed("10", "t2") == Collect(fresh=False)
    assert it.listed("10", "") == Replace("10", fresh=False, consistent=True)
    assert opening(it).resource_version == "10"


def test_4_a_token_that_expires_in_the_middle_becomes_one_list_without_pages() -> None:
    it = watched(watcher())
    it.failed(Invalid("odd"), 1.0)
    after_wait(it)
    it.listed("12", "token")
    it.failed(Expired("the token is too old"), 2.0)
    assert listing(it) == ListOptions(limit=0, resource_version="10", match="NotOlderThan")
    assert it.listed("13", "") == Replace("13", fresh=True, consistent=False), "what was collected is forgotten"


def test_4_a_token_is_never_sent_together_with_a_version() -> None:
    it = watched(watcher())
    it.failed(Invalid("odd"), 1.0)
    after_wait(it)
    it.listed("12", "token")
    assert listing(it).resource_version == ""
    assert listing(it).match == ""


def test_4_another_failure_in_the_middle_begins_the_list_anew_after_a_wait() -> None:
    it = watcher()
    it.listed("10", "token")
    it.failed(Unanswered("lost"), 1.0)
    after_wait(it)
    assert listing(it).continue_token == ""
    assert it.listed("11", "") == Replace("11", fresh=True, consistent=True)
