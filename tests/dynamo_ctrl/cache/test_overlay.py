"""Read-your-writes: seen at once by every read, gone when the watch has caught up (R 3.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.index import Index
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.objects.selector import LabelSelector

Make = Callable[..., ConfigMap]
BY_DATA = Index("data", CONFIG_MAP, lambda obj: obj.data.values())
AT = ("ns", "a")


def over(*objects: ConfigMap, version: str = "10", limit: int = 100) -> Store[ConfigMap]:
    store: Store[ConfigMap] = Store(own_writes=limit)
    for _ in store.add_index(BY_DATA):
        pass
    replace(store, *objects, version=version)
    return store


def replace(store: Store[ConfigMap], *objects: ConfigMap, version: str, since: int = -1) -> list[Change[ConfigMap]]:
    staging = store.stage("")
    for obj in objects:
        staging.add(obj)
    store.replace(staging, version, since=since)
    return [change for batch in staging.changes() for change in batch]


def put(store: Store[ConfigMap], obj: ConfigMap) -> tuple[Change[ConfigMap], ...]:
    """An event of the watch."""
    changes = store.put("", obj)
    store.advance("", obj.metadata.resource_version)
    return changes


def remove(store: Store[ConfigMap], last: ConfigMap) -> tuple[Change[ConfigMap], ...]:
    changes = store.remove("", AT, last)
    store.advance("", last.metadata.resource_version)
    return changes


def settle(steps: Iterator[None]) -> None:
    for _ in steps:
        pass


def names(objects: object) -> list[str]:
    return [obj.key.name for obj in objects]  # type: ignore[attr-defined]


def test_a_creation_is_seen_by_every_read(config_map: Make) -> None:
    store = over(config_map("b", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    own = config_map("a", 11, labels={"x": "1"}, owner="o", data={"k": "v"})
    store.wrote(own)
    assert store.get(AT) is own
    assert names(store.list()) == names(store.list("ns")) == ["a", "b"]
    assert names(store.select(LabelSelector.parse("x=1"))) == ["a", "b"]
    assert names(store.select(LabelSelector.parse("x=1"), "ns")) == ["a", "b"]
    assert names(store.by_index("data", "v")) == ["a", "b"]
    assert names(store.owned("uid-o")) == ["a", "b"]
    assert names(store.list("other")) == []


def test_an_update_hides_the_old_state_from_every_read(config_map: Make) -> None:
    store = over(config_map("a", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    store.wrote(config_map("a", 11, labels={"x": "2"}, owner="p", data={"k": "w"}))
    assert names(store.select(LabelSelector.parse("x=1"))) == []
    assert names(store.select(LabelSelector.parse("x=2"))) == ["a"]
    assert names(store.by_index("data", "v")) == names(store.owned("uid-o")) == []
    assert names(store.by_index("data", "w")) == names(store.owned("uid-p")) == ["a"]
    assert len(store.list()) == 1


def test_a_deletion_is_seen_by_every_read(config_map: Make) -> None:
    store = over(config_map("a", 1, labels={"x": "1"}, owner="o", data={"k": "v"}))
    store.deleted(AT, "uid-ns-a")
    assert store.get(AT) is None
    assert not store.list()
    assert not store.select(LabelSelector.parse("x=1"))
    assert not store.by_index("data", "v")
    assert not store.owned("uid-o")


def test_the_entry_goes_with_the_event_of_the_write(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.wrote(config_map("a", 11))
    own = store.get(AT)
    put(store, config_map("a", 11))
    assert len(store.own) == 0
    assert store.get(AT) is own, "it is the same state: what was decoded of it stays decoded"


def test_the_entry_stays_while_only_older_events_come(config_map: Make) -> None:
    store = over(config_map("a", 1))
    own = config_map("a", 15)
    store.wrote(own)
    put(store, config_map("a", 12))
    put(store, config_map("b", 14))
    assert store.get(AT) is own
    assert len(store.own) == 1


def test_the_entry_goes_with_a_later_event_of_somebody_else(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.wrote(config_map("a", 11))
    put(store, later := config_map("a", 13))
    assert store.get(AT) is later
    assert len(store.own) == 0


def test_the_entry_goes_when_the_watch_has_passed_its_version(config_map: Make) -> None:
    store = over()
    store.wrote(config_map("a", 11))
    store.reached("", "12")
    assert store.get(AT) is None, "it is not on the server any more, or it does not belong to this informer"
    assert len(store.own) == 0


def test_an_answer_that_the_watch_has_overtaken_already_is_not_laid_over(config_map: Make) -> None:
    newer = config_map("a", 9)
    store = over(newer, version="10")
    store.wrote(config_map("a", 8))
    store.wrote(config_map("gone-again", 10))
    assert store.get(AT) is newer
    assert len(store.own) == 0


def test_versions_are_compared_as_numbers(config_map: Make) -> None:
    store = over(config_map("a", 9), version="9")
    own = config_map("a", 10)
    store.wrote(own)
    assert store.get(AT) is own


def test_answers_that_arrive_out_of_order_leave_the_newest(config_map: Make) -> None:
    store = over(config_map("a", 1))
    own = config_map("a", 12)
    store.wrote(own)
    store.wrote(config_map("a", 11))
    assert store.get(AT) is own


def test_a_write_without_effect_is_not_laid_over(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.wrote(config_map("a", 1))
    assert len(store.own) == 0


def test_a_tombstone_goes_with_the_deletion(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.deleted(AT, "uid-ns-a")
    put(store, config_map("a", 11))
    assert store.get(AT) is None, "the same uid is still going"
    remove(store, config_map("a", 12))
    assert len(store.own) == 0


def test_a_tombstone_does_not_hide_the_next_object_of_that_name(config_map: Make) -> None:
    store = over(config_map("a", 1, uid="first"))
    store.deleted(AT, "first")
    put(store, second := config_map("a", 13, uid="second"))
    assert store.get(AT) is second
    assert len(store.own) == 0


def test_a_creation_after_our_own_deletion_is_seen(config_map: Make) -> None:
    store = over(config_map("a", 1, uid="first"))
    store.deleted(AT, "first")
    own = config_map("a", 12, uid="second")
    store.wrote(own)
    assert store.get(AT) is own
    remove(store, config_map("a", 11, uid="first"))
    assert store.get(AT) is own, "the deletion was of the object before"
    put(store, config_map("a", 12, uid="second"))
    assert len(store.own) == 0


def test_a_deletion_of_our_own_creation_is_seen_before_the_watch_told_either(config_map: Make) -> None:
    store = over()
    store.wrote(config_map("a", 11))
    store.deleted(AT, "uid-ns-a")
    assert store.get(AT) is None
    put(store, config_map("a", 11))
    assert store.get(AT) is None
    remove(store, config_map("a", 12))
    assert len(store.own) == 0


def test_a_deletion_that_the_watch_told_first_leaves_nothing(config_map: Make) -> None:
    store = over(config_map("a", 1, uid="second"))
    store.deleted(AT, "first")
    store.deleted(("ns", "b"), "whoever")
    assert len(store.own) == 0


def test_the_deletion_event_of_what_we_updated_clears_the_update(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.wrote(config_map("a", 11))
    remove(store, config_map("a", 12))
    assert store.get(AT) is None
    assert len(store.own) == 0


def test_an_object_that_leaves_the_selector_is_hidden_and_does_not_linger(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.wrote(config_map("a", 11), selected=False)
    assert store.get(AT) is None
    assert not store.list()
    remove(store, config_map("a", 11))
    assert len(store.own) == 0


def test_an_object_that_never_was_in_the_selector_leaves_nothing(config_map: Make) -> None:
    store = over()
    store.wrote(config_map("a", 11), selected=False)
    assert len(store.own) == 0


def test_a_relist_clears_what_it_has_overtaken_and_keeps_the_rest(config_map: Make) -> None:
    store = over(config_map("a", 1), config_map("b", 1))
    store.wrote(config_map("a", 11))
    store.wrote(own := config_map("b", 21))
    replace(store, again := config_map("a", 15), config_map("b", 1), version="20")
    assert store.get(AT) is again
    assert store.get(("ns", "b")) is own
    assert len(store.own) == 1


def test_a_relist_that_misses_the_object_clears_its_tombstone(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.deleted(AT, "uid-ns-a")
    replace(store, version="20")
    assert len(store.own) == 0


def test_a_cached_relist_that_still_has_the_deleted_object_does_not_bring_it_back(config_map: Make) -> None:
    store = over(config_map("a", 1))
    store.deleted(AT, "uid-ns-a")
    replace(store, config_map("a", 1), version="10")
    assert store.get(AT) is None


def test_a_consistent_list_begun_after_the_write_wins_whatever_the_versions_say(config_map: Make) -> None:
    store = over(config_map("a", 900), config_map("b", 901), version="950")
    store.wrote(config_map("a", 960))
    store.deleted(("ns", "b"), "uid-ns-b")
    since = store.own.turn
    store.wrote(later := config_map("c", 970))
    replace(store, restored := config_map("a", 100), b := config_map("b", 90), version="120", since=since)
    assert store.get(AT) is restored
    assert store.get(("ns", "b")) is b
    assert store.get(("ns", "c")) is later, "it was written after the list began"


def test_the_oldest_entry_is_given_up_beyond_the_limit(config_map: Make) -> None:
    store = over(config_map("b", 1), limit=2)
    made = [config_map(name, 11 + number) for number, name in enumerate("abcd")]
    told = [change for obj in made for change in store.wrote(obj)]
    assert names(store.list()) == ["b", "c", "d"]
    assert len(store.own) == 2
    assert told == [Change(made[0], None, inferred=True)], "of b the watch will tell"


def test_before_the_first_list_own_writes_are_kept(config_map: Make) -> None:
    store: Store[ConfigMap] = Store()
    store.wrote(own := config_map("a", 11))
    assert store.get(AT) is own


def test_only_the_scope_that_moved_is_swept(config_map: Make) -> None:
    store: Store[ConfigMap] = Store(["n1", "n2"])
    for scope in ("n1", "n2"):
        store.wrote(config_map("a", 11, namespace=scope))
    store.reached("n1", "20")
    assert [obj.key.namespace for obj in store.list()] == ["n2"]
    store.forget_own("n2")
    assert len(store.own) == 0


def test_an_index_declared_late_finds_own_writes_and_a_wrong_one_is_refused(config_map: Make) -> None:
    store: Store[ConfigMap] = Store()
    store.wrote(config_map("a", 11, data={"k": "v"}))
    settle(store.add_index(BY_DATA))
    settle(store.add_index(BY_DATA))
    assert names(store.by_index("data", "v")) == ["a"]
    with pytest.raises(ValueError, match="data"):
        store.add_index(Index("data", CONFIG_MAP, lambda obj: ()))


@pytest.mark.parametrize("consistent", [True, False])
def test_what_we_made_and_the_server_never_told_of_is_told_when_it_is_gone(config_map: Make, consistent: bool) -> None:
    store = over(config_map("b", 1))
    store.wrote(own := config_map("a", 11))
    since = store.own.turn if consistent else -1
    (change,) = replace(store, config_map("b", 1), version="12", since=since)
    assert (change.old, change.new) == (own, None)
    assert store.get(AT) is None
    assert not store.own


def test_what_we_made_and_a_list_has_is_new(config_map: Make) -> None:
    store = over(config_map("b", 1))
    store.wrote(own := config_map("a", 11))
    (change,) = replace(store, config_map("b", 1), config_map("a", 11), version="12")
    assert change.old is None
    assert change.new is not None
    assert change.new.metadata == own.metadata
