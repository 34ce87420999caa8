"""Read-your-writes: seen at once by every read, gone when the watch has caught up (R 3.13)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.overlay import Overlay
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.selector import LabelSelector

Make = Callable[..., ConfigMap]
BY_DATA = Index("data", CONFIG_MAP, lambda obj: obj.data.values())
AT = ("ns", "a")


def over(*objects: ConfigMap, version: str = "10", limit: int = 100) -> Overlay[ConfigMap]:
    overlay: Overlay[ConfigMap] = Overlay(Store(), limit=limit)
    overlay.add_index(BY_DATA)
    replace(overlay, *objects, version=version)
    return overlay


def replace(overlay: Overlay[ConfigMap], *objects: ConfigMap, version: str, since: int = -1) -> None:
    staging = overlay.store.stage("")
    for obj in objects:
        staging.add(obj)
    overlay.store.replace(staging, version)
    overlay.replaced("", since)


def put(overlay: Overlay[ConfigMap], obj: ConfigMap) -> None:
    """An event of the watch."""
    overlay.store.put("", obj)
    overlay.seen(obj)
    overlay.store.advance("", obj.metadata.resource_version)


def remove(overlay: Overlay[ConfigMap], last: ConfigMap) -> None:
    overlay.store.remove("", AT, last)
    overlay.gone(AT, last.metadata.resource_version)
    overlay.store.advance("", last.metadata.resource_version)


def names(objects: object) -> list[str]:
    return [obj.key.name for obj in objects]  # type: ignore[attr-defined]


def test_a_creation_is_seen_by_every_read(config_map: Make) -> None:
    overlay = over(config_map("b", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    own = config_map("a", 11, labels={"x": "1"}, owner="o", data={"k": "v"})
    overlay.wrote(own)
    assert overlay.get(AT) is own
    assert names(overlay.list()) == names(overlay.list("ns")) == ["a", "b"]
    assert names(overlay.select(LabelSelector.parse("x=1"))) == ["a", "b"]
    assert names(overlay.select(LabelSelector.parse("x=1"), "ns")) == ["a", "b"]
    assert names(overlay.by_index("data", "v")) == ["a", "b"]
    assert names(overlay.owned("uid-o")) == ["a", "b"]
    assert names(overlay.list("other")) == []


def test_an_update_hides_the_old_state_from_every_read(config_map: Make) -> None:
    overlay = over(config_map("a", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    overlay.wrote(config_map("a", 11, labels={"x": "2"}, owner="p", data={"k": "w"}))
    assert names(overlay.select(LabelSelector.parse("x=1"))) == []
    assert names(overlay.select(LabelSelector.parse("x=2"))) == ["a"]
    assert names(overlay.by_index("data", "v")) == names(overlay.owned("uid-o")) == []
    assert names(overlay.by_index("data", "w")) == names(overlay.owned("uid-p")) == ["a"]
    assert len(overlay.list()) == 1


def test_a_deletion_is_seen_by_every_read(config_map: Make) -> None:
    overlay = over(config_map("a", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    overlay.deleted(AT, "uid-ns-a")
    assert overlay.get(AT) is None
    assert not overlay.list()
    assert not overlay.select(LabelSelector.parse("x=1"))
    assert not overlay.by_index("data", "v")
    assert not overlay.owned("uid-o")


def test_the_entry_goes_with_the_event_of_the_write(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.wrote(config_map("a", 11))
    put(overlay, event := config_map("a", 11))
    assert len(overlay) == 0
    assert overlay.get(AT) is event


def test_the_entry_stays_while_only_older_events_come(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    own = config_map("a", 15)
    overlay.wrote(own)
    put(overlay, config_map("a", 12))
    put(overlay, config_map("b", 14))
    assert overlay.get(AT) is own
    assert len(overlay) == 1


def test_the_entry_goes_with_a_later_event_of_somebody_else(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.wrote(config_map("a", 11))
    put(overlay, later := config_map("a", 13))
    assert overlay.get(AT) is later
    assert len(overlay) == 0


def test_the_entry_goes_when_the_watch_has_passed_its_version(config_map: Make) -> None:
    overlay = over()
    overlay.wrote(config_map("a", 11))
    overlay.store.advance("", "12")
    overlay.reached("")
    assert overlay.get(AT) is None, "it is not on the server any more, or it does not belong to this informer"
    assert len(overlay) == 0


def test_an_answer_that_the_watch_has_overtaken_already_is_not_laid_over(config_map: Make) -> None:
    newer = config_map("a", 9)
    overlay = over(newer, version="10")
    overlay.wrote(config_map("a", 8))
    overlay.wrote(config_map("gone-again", 10))
    assert overlay.get(AT) is newer
    assert len(overlay) == 0


def test_versions_are_compared_as_numbers(config_map: Make) -> None:
    overlay = over(config_map("a", 9), version="9")
    own = config_map("a", 10)
    overlay.wrote(own)
    assert overlay.get(AT) is own


def test_answers_that_arrive_out_of_order_leave_the_newest(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    own = config_map("a", 12)
    overlay.wrote(own)
    overlay.wrote(config_map("a", 11))
    assert overlay.get(AT) is own


def test_a_write_without_effect_is_not_laid_over(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.wrote(config_map("a", 1))
    assert len(overlay) == 0


def test_a_tombstone_goes_with_the_deletion(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.deleted(AT, "uid-ns-a")
    put(overlay, config_map("a", 11))
    assert overlay.get(AT) is None, "the same uid is still going"
    remove(overlay, config_map("a", 12))
    assert len(overlay) == 0


def test_a_tombstone_does_not_hide_the_next_object_of_that_name(config_map: Make) -> None:
    overlay = over(config_map("a", 1, uid="first"))
    overlay.deleted(AT, "first")
    put(overlay, second := config_map("a", 13, uid="second"))
    assert overlay.get(AT) is second
    assert len(overlay) == 0


def test_a_creation_after_our_own_deletion_is_seen(config_map: Make) -> None:
    overlay = over(config_map("a", 1, uid="first"))
    overlay.deleted(AT, "first")
    own = config_map("a", 12, uid="second")
    overlay.wrote(own)
    assert overlay.get(AT) is own
    remove(overlay, config_map("a", 11, uid="first"))
    assert overlay.get(AT) is own, "the deletion was of the object before"
    put(overlay, config_map("a", 12, uid="second"))
    assert len(overlay) == 0


def test_a_deletion_of_our_own_creation_is_seen_before_the_watch_told_either(config_map: Make) -> None:
    overlay = over()
    overlay.wrote(config_map("a", 11))
    overlay.deleted(AT, "uid-ns-a")
    assert overlay.get(AT) is None
    put(overlay, config_map("a", 11))
    assert overlay.get(AT) is None
    remove(overlay, config_map("a", 12))
    assert len(overlay) == 0


def test_a_deletion_that_the_watch_told_first_leaves_nothing(config_map: Make) -> None:
    overlay = over(config_map("a", 1, uid="second"))
    overlay.deleted(AT, "first")
    overlay.deleted(("ns", "b"), "whoever")
    assert len(overlay) == 0


def test_the_deletion_event_of_what_we_updated_clears_the_update(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.wrote(config_map("a", 11))
    remove(overlay, config_map("a", 12))
    assert overlay.get(AT) is None
    assert len(overlay) == 0


def test_an_object_that_leaves_the_selector_is_hidden_and_does_not_linger(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.wrote(config_map("a", 11), selected=False)
    assert overlay.get(AT) is None
    assert not overlay.list()
    remove(overlay, config_map("a", 11))
    assert len(overlay) == 0


def test_an_object_that_never_was_in_the_selector_leaves_nothing(config_map: Make) -> None:
    overlay = over()
    overlay.wrote(config_map("a", 11), selected=False)
    assert len(overlay) == 0


def test_a_relist_clears_what_it_has_overtaken_and_keeps_the_rest(config_map: Make) -> None:
    overlay = over(config_map("a", 1), config_map("b", 1))
    overlay.wrote(config_map("a", 11))
    overlay.wrote(own := config_map("b", 21))
    replace(overlay, again := config_map("a", 15), config_map("b", 1), version="20")
    assert overlay.get(AT) is again
    assert overlay.get(("ns", "b")) is own
    assert len(overlay) == 1


def test_a_relist_that_misses_the_object_clears_its_tombstone(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.deleted(AT, "uid-ns-a")
    replace(overlay, version="20")
    assert len(overlay) == 0


def test_a_cached_relist_that_still_has_the_deleted_object_does_not_bring_it_back(config_map: Make) -> None:
    overlay = over(config_map("a", 1))
    overlay.deleted(AT, "uid-ns-a")
    replace(overlay, config_map("a", 1), version="10")
    assert overlay.get(AT) is None


def test_a_consistent_list_begun_after_the_write_wins_whatever_the_versions_say(config_map: Make) -> None:
    overlay = over(config_map("a", 900), config_map("b", 901), version="950")
    overlay.wrote(config_map("a", 960))
    overlay.deleted(("ns", "b"), "uid-ns-b")
    since = overlay.turn
    overlay.wrote(later := config_map("c", 970))
    replace(overlay, restored := config_map("a", 100), b := config_map("b", 90), version="120", since=since)
    assert overlay.get(AT) is restored
    assert overlay.get(("ns", "b")) is b
    assert overlay.get(("ns", "c")) is later, "it was written after the list began"


def test_the_oldest_entry_is_given_up_beyond_the_limit(config_map: Make) -> None:
    overlay = over(limit=2)
    for number, name in enumerate("abc"):
        overlay.wrote(config_map(name, 11 + number))
    assert names(overlay.list()) == ["b", "c"]
    assert len(overlay) == 2


def test_before_the_first_list_own_writes_are_kept(config_map: Make) -> None:
    overlay: Overlay[ConfigMap] = Overlay(Store())
    overlay.wrote(own := config_map("a", 11))
    assert overlay.get(AT) is own


def test_only_the_scope_that_moved_is_swept(config_map: Make) -> None:
    overlay: Overlay[ConfigMap] = Overlay(Store(["n1", "n2"]))
    for scope in ("n1", "n2"):
        overlay.wrote(config_map("a", 11, namespace=scope))
    overlay.store.advance("n1", "20")
    overlay.store.advance("n2", "20")
    overlay.reached("n1")
    assert [obj.key.namespace for obj in overlay.list()] == ["n2"]
    overlay.clear("n2")
    assert len(overlay) == 0


def test_an_index_declared_late_finds_own_writes_and_a_wrong_one_is_refused(config_map: Make) -> None:
    overlay: Overlay[ConfigMap] = Overlay(Store())
    overlay.wrote(config_map("a", 11, data={"k": "v"}))
    overlay.add_index(BY_DATA)
    overlay.add_index(BY_DATA)
    assert names(overlay.by_index("data", "v")) == ["a"]
    with pytest.raises(ValueError, match="data"):
        overlay.add_index(Index("data", CONFIG_MAP, lambda obj: ()))
