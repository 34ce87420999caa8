"""Coalescing, bounded delivery: first old, last new, one entry for each key, nothing lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamo_ctrl.cache.change import Change
from dynamo_ctrl.cache.delivery import Subscription
from dynamo_ctrl.cache.store import Store
from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, ConfigMap
from dynamo_ctrl.testing import settle

Make = Callable[..., ConfigMap]


def started(*objects: ConfigMap, batch: int = 256) -> Subscription[ConfigMap]:
    subscription: Subscription[ConfigMap] = Subscription(batch=batch)
    subscription.begin(objects)
    return subscription


def synced() -> Subscription[ConfigMap]:
    subscription = started()
    assert subscription.take() == ()
    return subscription


def test_updates_are_merged_into_the_first_old_and_the_last_new(config_map: Make) -> None:
    a1, a2, a3 = (config_map("a", version) for version in (1, 2, 3))
    subscription = synced()
    subscription.offer([Change(a1, a2)])
    subscription.offer([Change(a2, a3)])
    assert subscription.take() == (Change(a1, a3),)
    assert subscription.take() == ()


def test_a_creation_and_its_updates_are_one_creation(config_map: Make) -> None:
    a1, a2 = config_map("a", 1), config_map("a", 2)
    subscription = synced()
    subscription.offer([Change(None, a1), Change(a1, a2)])
    assert subscription.take() == (Change(None, a2),)


def test_an_update_and_the_deletion_are_one_deletion_of_the_first_old(config_map: Make) -> None:
    a1, a2 = config_map("a", 1), config_map("a", 2)
    subscription = synced()
    subscription.offer([Change(a1, a2), Change(a2, None, inferred=True)])
    assert subscription.take() == (Change(a1, None, inferred=True),)


def test_a_deletion_and_a_creation_stay_two(config_map: Make) -> None:
    old, new, newer = config_map("a", 1, uid="u1"), config_map("a", 2, uid="u2"), config_map("a", 3, uid="u2")
    subscription = synced()
    subscription.offer([Change(old, None), Change(None, new), Change(new, newer)])
    assert subscription.take() == (Change(old, None), Change(None, newer))


def test_an_object_that_came_and_went_is_told_as_deleted(config_map: Make) -> None:
    a = config_map("a", 1)
    subscription = synced()
    subscription.offer([Change(None, a), Change(a, None)])
    assert subscription.take() == (Change(a, None),)


def test_many_lives_under_one_name_are_at_most_two_changes(config_map: Make) -> None:
    lives = [config_map("a", version, uid=f"u{version}") for version in range(5)]
    subscription = synced()
    subscription.offer([Change(lives[0], None)])
    for life in lives[1:4]:
        subscription.offer([Change(None, life), Change(life, None)])
    subscription.offer([Change(None, lives[4])])
    assert subscription.take() == (Change(lives[0], None), Change(None, lives[4]))


def test_keys_come_in_the_order_of_their_first_change(config_map: Make) -> None:
    a, b = config_map("a", 1), config_map("b", 1)
    b2 = config_map("b", 2)
    subscription = synced()
    subscription.offer([Change(None, b), Change(None, a), Change(b, b2)])
    assert [change.key.name for change in subscription.take()] == ["b", "a"]


def test_r4_37_memory_is_bounded_by_the_number_of_keys_however_slow_the_reader(config_map: Make) -> None:
    subscription = synced()
    previous: ConfigMap | None = None
    for version in range(1000):
        new = config_map("a", version)
        subscription.offer([Change(previous, new)])
        previous = new
    assert len(subscription) == 1


def test_batches_are_bounded(config_map: Make) -> None:
    subscription = started(*(config_map(f"n{number}", 1) for number in range(5)), batch=2)
    subscription.offer([Change(None, config_map(f"m{number}", 1)) for number in range(3)])
    assert [len(subscription.take()) for _ in range(6)] == [2, 2, 1, 2, 1, 0]


def test_a_late_reader_gets_the_content_first_flagged_initial(config_map: Make) -> None:
    a, b = config_map("a", 1), config_map("b", 1)
    subscription = started(a, b)
    assert subscription.take() == (Change(None, a, initial=True), Change(None, b, initial=True))


def test_what_happens_to_an_initial_object_before_it_was_taken_is_merged_and_no_longer_initial(
    config_map: Make,
) -> None:
    a, b, c = config_map("a", 1), config_map("b", 1), config_map("c", 1)
    a2, c2 = config_map("a", 2), config_map("c", 3, uid="another")
    subscription = started(a, b, c)
    subscription.offer([Change(a, a2), Change(b, None), Change(c, None), Change(None, c2)])
    assert subscription.take() == (Change(None, a2), Change(b, None), Change(c, None), Change(None, c2))
    assert len(subscription) == 0


def test_it_is_synced_when_the_last_initial_batch_was_dealt_with(config_map: Make) -> None:
    subscription = started(config_map("a", 1), config_map("b", 1), batch=1)
    assert not subscription.synced
    subscription.take()
    subscription.take()
    assert not subscription.synced, "the last batch is still in the reader's hands"
    subscription.take()
    assert subscription.synced


def test_an_empty_content_is_synced_at_once_and_an_unfinished_one_never() -> None:
    assert started().synced
    waiting: Subscription[ConfigMap] = Subscription()
    assert waiting.take() == ()
    assert not waiting.synced


async def test_iteration_waits_for_changes_and_ends_when_closed(config_map: Make) -> None:
    a, b = config_map("a", 1), config_map("b", 2)
    closed: list[object] = []
    subscription: Subscription[ConfigMap] = Subscription(on_close=closed.append)
    seen: list[Change[ConfigMap]] = []

    async def read() -> None:
        async for batch in subscription:
            seen.extend(batch)

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        await asyncio.sleep(0)
        subscription.begin([a])
        await subscription.wait_synced()
        subscription.offer([Change(None, b)])
        subscription.close()
        subscription.close()
    assert seen == [Change(None, a, initial=True), Change(None, b)], "what waited at the end was still told"
    assert closed == [subscription]


async def test_a_reader_that_sleeps_is_woken_by_a_change_and_by_the_end(config_map: Make) -> None:
    a = config_map("a", 1)
    subscription = synced()
    reader = asyncio.ensure_future(anext(subscription, None))
    await settle()
    assert not reader.done()
    subscription.offer([Change(None, a)])
    assert await reader == (Change(None, a),)
    reader = asyncio.ensure_future(anext(subscription, None))
    await settle()
    subscription.close()
    assert await reader is None


async def test_who_waits_for_the_sync_waits_until_the_last_batch_was_dealt_with(config_map: Make) -> None:
    subscription = started(config_map("a", 1))
    waiter = asyncio.create_task(subscription.wait_synced())
    subscription.take()
    await settle()
    assert not waiter.done()
    subscription.take()
    await waiter


@given(st.data())
def test_whatever_is_merged_a_reader_ends_with_the_content(data: st.DataObject) -> None:
    """Changes applied in the order in which they are taken give the store's content, at any speed of the reader."""
    store: Store[ConfigMap] = Store()
    subscription: Subscription[ConfigMap] = Subscription(batch=2)
    content: dict[str, ConfigMap] = {}

    def take() -> None:
        for change in subscription.take():
            if change.new is None:
                content.pop(change.key.name, None)
            else:
                content[change.key.name] = change.new

    steps = st.sampled_from(["put", "put", "remove", "take"])
    for version, step in enumerate(data.draw(st.lists(steps, max_size=30)), start=1):
        name = data.draw(st.sampled_from("abc"))
        if step == "put":
            uid = data.draw(st.sampled_from(["u1", "u2"]))
            metadata = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}
            changes = store.put("", CONFIG_MAP.object({"metadata": metadata}))
        elif step == "remove":
            changes = store.remove("", ("ns", name))
        else:
            take()
            continue
        if subscription.started:
            subscription.offer(changes)
        elif data.draw(st.booleans()):
            subscription.begin(store.told())
    if not subscription.started:
        subscription.begin(store.told())
    while len(subscription):
        take()
    assert content == {obj.key.name: obj for obj in store.told()}


def test_a_change_has_at_least_one_side() -> None:
    with pytest.raises(AssertionError):
        _ = Change[ConfigMap](None, None).latest
