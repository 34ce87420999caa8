"""What the model test does not say by name: atomicity, identity, versions, scopes, failing extractors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.index import Buckets, Index, Where, where
from dynamo_ctrl.cache.replacement import Staging
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, ConfigMap, Pod
from dynamo_ctrl.objects.selector import LabelSelector

Make = Callable[..., ConfigMap]


def filled(*objects: ConfigMap, version: str = "10") -> Store[ConfigMap]:
    store: Store[ConfigMap] = Store()
    staging = store.stage("")
    for obj in objects:
        staging.add(obj)
    store.replace(staging, version)
    return store


def replaced(store: Store[ConfigMap], staging: Staging[ConfigMap], version: str) -> list[Change[ConfigMap]]:
    store.replace(staging, version)
    return [change for batch in staging.changes() for change in batch]


def add_index(store: Store[Any], index: Index[Any]) -> None:
    for _ in store.add_index(index):
        pass


def test_r4_17_nothing_of_a_replacement_is_visible_before_it_is_complete(config_map: Make) -> None:
    store = filled(config_map("a", 1, labels={"x": "1"}, owner="o"))
    staging = store.stage("")
    staging.add(config_map("b", 2, labels={"x": "1"}, owner="o"))
    assert [obj.key.name for obj in store.list()] == ["a"]
    assert [obj.key.name for obj in store.select(LabelSelector.parse("x=1"))] == ["a"]
    assert [obj.key.name for obj in store.owned("uid-o")] == ["a"]
    assert store.version("ns") == "10"
    store.replace(staging, "20")
    assert [obj.key.name for obj in store.select(LabelSelector.parse("x=1"))] == ["b"]
    assert [obj.key.name for obj in store.owned("uid-o")] == ["b"]
    assert store.version("ns") == "20"


def test_a_replacement_tells_deletions_then_updates_then_additions(config_map: Make) -> None:
    a, b, c = config_map("a", 1), config_map("b", 2), config_map("c", 3)
    store = filled(a, b, c)
    b2, d = config_map("b", 7), config_map("d", 8)
    staging = store.stage("")
    for obj in (d, b2, config_map("c", 3)):
        staging.add(obj)
    assert replaced(store, staging, "9") == [Change(a, None, inferred=True), Change(b, b2), Change(None, d)]


def test_an_unchanged_version_is_not_told_and_the_object_stays_the_same(config_map: Make) -> None:
    a = config_map("a", 1, data={"k": "v"})
    store = filled(a)
    staging = store.stage("")
    staging.add(config_map("a", 1, data={"k": "v"}))
    assert replaced(store, staging, "20") == []
    assert store.get(("ns", "a")) is a


def test_where_versions_prove_nothing_every_object_is_told_as_updated(config_map: Make) -> None:
    a = config_map("a", 1, data={"k": "old"})
    store = filled(a)
    staging = store.stage("", comparable=False)
    again = config_map("a", 1, data={"k": "new"})
    staging.add(again)
    assert replaced(store, staging, "5") == [Change(a, again)]
    assert store.get(("ns", "a")) is again


def test_an_object_with_another_uid_is_a_deletion_and_a_creation(config_map: Make) -> None:
    old, new = config_map("a", 1, uid="first"), config_map("a", 5, uid="second")
    store = filled(old)
    staging = store.stage("")
    staging.add(new)
    assert replaced(store, staging, "9") == [Change(old, None, inferred=True), Change(None, new)]
    newer = config_map("a", 12, uid="third")
    assert store.put("", newer) == (Change(new, None, inferred=True), Change(None, newer))


def test_an_unreadable_object_keeps_its_last_readable_state_through_a_replacement(config_map: Make) -> None:
    a = config_map("a", 1)
    store = filled(a)
    staging = store.stage("")
    staging.keep(("ns", "a"))
    staging.keep(("ns", "never-seen"))
    assert replaced(store, staging, "9") == []
    assert list(store.list()) == [a]


def test_a_page_that_brings_an_object_twice_counts_the_last(config_map: Make) -> None:
    a = config_map("a", 1)
    store = filled(a)
    staging = store.stage("")
    staging.add(config_map("a", 4))
    staging.add(config_map("a", 1))
    assert replaced(store, staging, "9") == []
    assert len(store) == 1


@pytest.mark.parametrize("version", [4, 5])
def test_an_event_that_is_repeated_or_late_changes_nothing(config_map: Make, version: int) -> None:
    store = filled(config_map("a", 5))
    assert store.put("", config_map("a", version)) == ()
    known = store.get(("ns", "a"))
    assert known is not None
    assert known.metadata.resource_version == "5"


def test_versions_are_compared_as_numbers_and_not_as_text(config_map: Make) -> None:
    store = filled(config_map("a", 9))
    assert len(store.put("", config_map("a", 10))) == 1
    assert store.put("", config_map("a", 9)) == ()


def test_a_late_deletion_does_not_take_the_object_that_has_the_name_now(config_map: Make) -> None:
    store = filled(config_map("a", 8, uid="second"))
    assert store.remove("", ("ns", "a"), config_map("a", 7, uid="first")) == ()
    assert len(store) == 1


def test_a_deletion_tells_the_last_state_that_the_server_told(config_map: Make) -> None:
    store = filled(config_map("a", 1))
    last = config_map("a", 4)
    assert store.remove("", ("ns", "a"), last) == (Change(last, None),)


def test_an_unknown_deletion_tells_nothing(config_map: Make) -> None:
    assert filled().remove("", ("ns", "a"), config_map("a", 4)) == ()


@pytest.mark.parametrize("way", ["put", "replace"])
def test_the_decoded_spec_is_inherited_by_a_newer_state_with_the_same_spec(way: str) -> None:
    def pod(version: int, phase: str) -> Pod:
        metadata = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": str(version), "generation": 1}
        return POD.object({"metadata": metadata, "spec": {"nodeName": "n"}, "status": {"phase": phase}})

    store: Store[Pod] = Store()
    old, new = pod(1, "Pending"), pod(2, "Running")
    store.put("", old)
    decoded = old.spec
    if way == "put":
        store.put("", new)
    else:
        staging = store.stage("")
        staging.add(new)
        store.replace(staging, "2")
    found = store.get(("ns", "a"))
    assert found is new
    assert found.spec is decoded
    assert found.status.phase == "Running"


def test_one_scope_is_replaced_without_the_other(config_map: Make) -> None:
    store: Store[ConfigMap] = Store(["n1", "n2"])
    for scope in ("n1", "n2"):
        staging = store.stage(scope)
        staging.add(config_map("a", 1, namespace=scope))
        store.replace(staging, "1")
    changes = replaced(store, store.stage("n1"), "2")
    assert [change.key.namespace for change in changes] == ["n1"]
    assert [obj.key.namespace for obj in store.list()] == ["n2"]
    assert (store.version("n1"), store.version("n2"), store.version("n3")) == ("2", "1", "")
    assert (store.scope("n1"), store.scope("n3")) == ("n1", None)


def test_an_index_that_comes_late_has_the_present_content_and_a_staged_one(config_map: Make) -> None:
    store = filled(config_map("a", 1, data={"k": "v"}))
    staging = store.stage("")
    staging.add(config_map("b", 2, data={"k": "v"}))
    add_index(store, Index("data", CONFIG_MAP, lambda obj: obj.data.values()))
    assert [obj.key.name for obj in store.by_index("data", "v")] == ["a"]
    store.replace(staging, "3")
    assert [obj.key.name for obj in store.by_index("data", "v")] == ["b"]


def test_the_same_index_may_be_declared_twice_and_another_of_the_same_name_not() -> None:
    store = filled()
    index: Index[ConfigMap] = Index("data", CONFIG_MAP, lambda obj: obj.data.values())
    add_index(store, index)
    add_index(store, index)
    with pytest.raises(ValueError, match="another index of configmaps is called 'data'"):
        add_index(store, Index("data", CONFIG_MAP, lambda obj: ()))


def test_an_undeclared_index_cannot_be_read() -> None:
    with pytest.raises(KeyError):
        filled().by_index("nobody", "x")


def test_an_extractor_that_raises_is_counted_logged_once_and_indexes_nothing(config_map: Make, logs: list[Any]) -> None:
    store = filled()
    add_index(store, Index("size", CONFIG_MAP, lambda obj: [obj.data["size"]]))
    store.put("", config_map("a", 1, data={"size": "big"}))
    store.put("", config_map("b", 2))
    store.put("", config_map("c", 3))
    store.put("", config_map("a", 4))
    assert store.index_failures == 3
    (line,) = logs
    assert (line["log_level"], line["index"], line["kind"], line["key"]) == ("warning", "size", "configmaps", "ns/b")
    assert list(store.by_index("size", "big")) == [], "the old value is gone although the new one cannot be told"
    assert len(store) == 3


def test_failures_of_extractors_are_never_forgotten(config_map: Make, logs: list[Any]) -> None:
    store = filled()
    add_index(store, Index("size", CONFIG_MAP, lambda obj: [obj.data["size"]]))
    for version in range(1, 4):
        store.put("", config_map("a", version))
    staging = store.stage("")
    staging.add(config_map("b", 11, data={"size": "big"}))
    assert store.index_failures == 3
    store.replace(staging, "20")
    assert store.index_failures == 3
    store.put("", config_map("b", 21))
    assert store.index_failures == 4
    for _ in store.drop_index("size"):
        pass
    assert store.index_failures == 4


def test_an_object_may_have_several_values_and_duplicates_count_once(config_map: Make) -> None:
    store = filled()
    add_index(store, Index("both", CONFIG_MAP, lambda obj: [*obj.data.values(), *obj.data.values()]))
    store.put("", config_map("a", 1, data={"k": "x", "l": "y"}))
    store.put("", config_map("b", 2, data={"k": "y", "l": "y"}))
    found = {value: [obj.key.name for obj in store.by_index("both", value)] for value in "xyz"}
    assert found == {"x": ["a"], "y": ["a", "b"], "z": []}
    store.put("", config_map("a", 3, data={"k": "z", "l": "y"}))
    found = {value: [obj.key.name for obj in store.by_index("both", value)] for value in "xyz"}
    assert found == {"x": [], "y": ["a", "b"], "z": ["a"]}


def test_r4_17b_an_object_that_nobody_has_heard_of_yet_leaves_no_ghost(config_map: Make) -> None:
    """It came with an event that its reader has not taken, and a list that omits it comes before."""
    store = filled(config_map("a", 1))
    reader: Subscription[ConfigMap] = Subscription()
    reader.begin(store.told())
    reader.take()
    reader.offer(store.put("", config_map("ghost", 11)))
    staging = store.stage("")
    staging.add(config_map("a", 1))
    reader.offer(replaced(store, staging, "20"))
    (change,) = reader.take()
    assert (change.key.name, change.new) == ("ghost", None)
    assert reader.take() == ()
    assert [obj.key.name for obj in store.list()] == ["a"]


def test_an_extractor_that_returns_one_string_is_a_mistake_and_not_an_index_of_letters(config_map: Make) -> None:
    store = filled()
    wrong: Callable[[ConfigMap], Iterable[str]] = lambda obj: "abc"  # noqa: E731
    add_index(store, Index("wrong", CONFIG_MAP, wrong))
    store.put("", config_map("a", 1))
    assert list(store.by_index("wrong", "a")) == []
    assert store.index_failures == 1


def test_an_extractor_that_changes_its_mind_leaves_nothing_behind(config_map: Make) -> None:
    answers = iter((["x"], ["y"], ["z"]))
    store = filled()
    add_index(store, Index("fickle", CONFIG_MAP, lambda obj: next(answers)))
    store.put("", config_map("a", 1))
    store.put("", config_map("a", 2))
    assert list(store.by_index("fickle", "x")) == []
    store.remove("", ("ns", "a"))
    assert list(store.by_index("fickle", "y")) == []


def test_buckets_count_and_forget(config_map: Make) -> None:
    buckets: Buckets[Where, ConfigMap] = Buckets(where)
    a, b = config_map("a", 1), config_map("b", 1)
    for obj in (b, a, b):
        buckets.put("v", where(obj), obj)
    assert (buckets.size, buckets.count("v"), buckets.count("w")) == (2, 2, 0)
    assert buckets.list("v") == [a, b], "in order, whatever the order was in which they came"
    buckets.drop("v", ("ns", "nobody"))
    buckets.drop("w", ("ns", "a"))
    buckets.drop("v", ("ns", "a"))
    assert buckets.list("v") == [b]
    buckets.put("v", ("ns", "b"), newer := config_map("b", 2))
    assert buckets.list("v") == [newer]
    assert buckets.list("v")[0] is newer
    buckets.drop("v", ("ns", "nobody"))
    buckets.drop("v", ("ns", "b"))
    assert (buckets.size, buckets.list("v"), list(buckets.values())) == (0, [], [])


@pytest.mark.parametrize("value", [1, None])
def test_an_extractor_that_yields_something_else_than_strings_indexes_nothing(
    config_map: Make, logs: list[Any], value: Any
) -> None:
    store = filled()
    add_index(store, Index("odd", CONFIG_MAP, lambda obj: ["fine", value]))
    store.put("", config_map("a", 1))
    assert list(store.by_index("odd", "fine")) == []
    assert store.index_failures == 1
    assert [line["index"] for line in logs] == ["odd"]
