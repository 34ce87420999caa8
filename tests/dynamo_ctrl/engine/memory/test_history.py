"""The window of history, bookmarks, time-outs, and feeds that fall behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dynamo_ctrl.clock import ManualClock
from dynamo_ctrl.engine.errors import Expired
from dynamo_ctrl.engine.memory import Core
from dynamo_ctrl.engine.memory.history import BOOKMARK_EVERY, LAST_BOOKMARK, Feed
from dynamo_ctrl.engine.port import ListOptions, WatchOptions
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.patch import Patch

WINDOW = 5


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def core(clock: ManualClock) -> Core:
    core = Core(clock=clock, window=WINDOW)
    core.create(CONFIG_MAP, "default", b'{"metadata":{"name":"a"}}')
    return core


def change(core: Core, times: int = 1) -> None:
    for _ in range(times):
        core.patch(CONFIG_MAP, Key("default", "a"), Patch.merge({"data": {"n": str(core.version)}}))


def watch(core: Core, version: int | None = None, **options: Any) -> Feed:
    start = str(core.version if version is None else version)
    return core.watch(CONFIG_MAP, WatchOptions(resource_version=start, **options))


def is_closed(feed: Feed) -> bool:
    return feed.closed


def types(feed: Feed) -> list[str]:
    return [event.type for event in feed.take()]


def test_the_window_can_be_watched_from_its_oldest_change(core: Core) -> None:
    start = core.version
    change(core, WINDOW)
    assert types(watch(core, start)) == ["MODIFIED"] * WINDOW


def test_before_the_window_a_watch_gets_an_error_and_ends(core: Core) -> None:
    start = core.version
    change(core, 4 * WINDOW)
    feed = watch(core, start)
    (event,) = feed.take()
    status = json.loads(event.object)
    assert (event.type, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert is_closed(feed)


def test_before_the_window_an_exact_list_expires(core: Core) -> None:
    start = str(core.version)
    change(core, 4 * WINDOW)
    with pytest.raises(Expired, match="too old"):
        core.list(CONFIG_MAP, ListOptions(resource_version=start, match="Exact"))


def test_compaction_ends_the_past_and_not_the_present(core: Core) -> None:
    start = core.version
    change(core, 2)
    core.compact()
    assert types(watch(core, start)) == ["ERROR"]
    feed = watch(core)
    change(core)
    assert types(feed) == ["MODIFIED"]


def test_an_expired_token_offers_one_that_goes_on(core: Core) -> None:
    for name in "bcd":
        core.create(CONFIG_MAP, "default", json.dumps({"metadata": {"name": name}}).encode())
    page = core.list(CONFIG_MAP, ListOptions(limit=2))
    change(core)
    core.compact()
    with pytest.raises(Expired) as caught:
        core.list(CONFIG_MAP, ListOptions(limit=2, continue_token=page.continue_token))
    rest = core.list(CONFIG_MAP, ListOptions(limit=2, continue_token=caught.value.continue_token))
    assert [json.loads(raw)["metadata"]["name"] for raw in rest.items] == ["c", "d"]


def test_a_feed_that_falls_behind_is_closed(core: Core) -> None:
    feed = watch(core)
    change(core, 4 * WINDOW)
    assert feed.take() == []
    assert is_closed(feed)


def test_a_watch_from_the_future_waits_for_it(core: Core) -> None:
    feed = watch(core, core.version + 2)
    change(core, 2)
    assert types(feed) == []
    change(core)
    assert types(feed) == ["MODIFIED"]


def test_two_feeds_get_the_same_event_without_a_copy(core: Core) -> None:
    one, two = watch(core), watch(core)
    change(core)
    assert one.take()[0] is two.take()[0]


def test_a_quiet_watch_gets_bookmarks_of_the_newest_version(core: Core, clock: ManualClock) -> None:
    feed = watch(core, timeout=290)
    assert types(feed) == []
    assert feed.due == BOOKMARK_EVERY
    core.create(CONFIG_MAP, "kube-system", b'{"metadata":{"name":"other"}}')
    feed.take()
    clock.advance(BOOKMARK_EVERY)
    (event,) = feed.take()
    assert event.type == "BOOKMARK"
    assert json.loads(event.object) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(core.version)},
    }
    assert feed.due == 2 * BOOKMARK_EVERY


def test_a_watch_without_bookmarks_gets_none(core: Core, clock: ManualClock) -> None:
    feed = watch(core, timeout=0, bookmarks=False)
    clock.advance(10 * BOOKMARK_EVERY)
    assert types(feed) == []
    assert feed.due is None


def test_a_watch_ends_with_its_time_and_a_last_bookmark_before(core: Core, clock: ManualClock) -> None:
    feed = watch(core, timeout=10)
    assert feed.due == 10 - LAST_BOOKMARK
    clock.advance(10 - LAST_BOOKMARK)
    assert types(feed) == ["BOOKMARK"]
    assert not is_closed(feed)
    assert feed.due == 10
    clock.advance(LAST_BOOKMARK)
    assert types(feed) == []
    assert is_closed(feed)
    assert feed.due is None


def test_what_happened_before_the_end_is_still_delivered(core: Core, clock: ManualClock) -> None:
    feed = watch(core, timeout=1)
    change(core)
    clock.advance(5)
    assert types(feed) == ["MODIFIED"]
    assert is_closed(feed)


def test_a_closed_feed_delivers_nothing(core: Core) -> None:
    feed = watch(core)
    change(core)
    feed.close()
    feed.close()
    assert feed.take() == []


def test_a_feed_says_when_there_is_something(core: Core) -> None:
    feed = watch(core)
    calls: list[str] = []
    feed.on_ready = lambda: calls.append("ready")
    change(core, 2)
    assert calls == ["ready"] * 2
    feed.close()
    assert calls == ["ready"] * 3
    change(core)
    assert calls == ["ready"] * 3


def test_who_is_woken_may_close_feeds(core: Core) -> None:
    feeds = [watch(core) for _ in range(3)]
    feeds[0].on_ready = feeds[1].close
    change(core)
    assert feeds[1].take() == []
    assert [event.type for event in feeds[2].take()] == ["MODIFIED"]
