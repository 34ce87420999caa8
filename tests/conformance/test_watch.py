"""Watches: where they start, what they deliver, and how they end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.key import Key
from dynamo_ctrl.objects.kind import Kind
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body, stored, widget
from tests.conformance.outcome import refused
from tests.conformance.world import World

INITIAL_END = {"k8s.io/initial-events-end": "true"}


def test_a_watch_delivers_what_happens_after_a_version(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "before"))
    start = world.version(WIDGET)
    world.create(WIDGET, body(WIDGET, "a", spec={"color": "red"}))
    world.merge(WIDGET, "a", {"spec": {"color": "blue"}})
    world.merge(WIDGET, "a", {"status": {"note": "x"}}, subresource="status")
    world.delete(WIDGET, "a")
    blue = {"color": "blue", "size": 1}
    assert world.watch(WIDGET, 4, resource_version=start).events == [
        ("ADDED", widget("a", spec={"color": "red", "size": 1})),
        ("MODIFIED", widget("a", generation=2, spec=blue)),
        ("MODIFIED", widget("a", generation=2, spec=blue, status={"note": "x"})),
        ("DELETED", widget("a", generation=2, spec=blue, status={"note": "x"})),
    ]


def test_an_event_carries_the_version_of_its_write(world: World) -> None:
    start = world.version(CONFIG_MAP)
    created = world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"labels": {"l": world.token}}))
    merged = world.merge(CONFIG_MAP, "a", {"data": {"k": "v"}})
    world.delete(CONFIG_MAP, "a")
    versions: list[int] = []

    async def collect() -> None:
        from dynamo_ctrl.engine.port import WatchOptions

        options = WatchOptions(namespace=world.namespace, resource_version=start, label_selector=f"l={world.token}")
        async with asyncio.timeout(10), world.engine.watch(CONFIG_MAP, options) as found:
            async for event in found:
                versions.append(int(json.loads(event.object)["metadata"]["resourceVersion"]))
                if event.type == "DELETED":
                    return

    world._run(collect())
    assert versions[:2] == [int(each.version) for each in (created, merged)]
    assert versions[2] > versions[1]


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_nowhere_begins_with_what_is_there(world: World, version: str) -> None:
    for name in "ab":
        world.create(GADGET, body(GADGET, name))
    found = world.watch(GADGET, 2, resource_version=version)
    assert sorted(found.names) == [("ADDED", "a"), ("ADDED", "b")]
    assert found.events[0][1] == stored(GADGET, found.events[0][1]["metadata"]["name"], metadata={"generation": 1})


def test_bookmarks_mark_the_end_of_what_is_there(world: World) -> None:
    world.create(GADGET, body(GADGET, "a"))
    found = world.watch(GADGET, 2, bookmarks=True)
    assert found.events == [
        ("ADDED", stored(GADGET, "a", metadata={"generation": 1})),
        (
            "BOOKMARK",
            {"apiVersion": GADGET.api_version, "kind": GADGET.kind, "metadata": {"annotations": INITIAL_END}},
        ),
    ]


def test_a_streaming_list_ends_with_a_bookmark(world: World) -> None:
    for name in "ab":
        world.create(WIDGET, body(WIDGET, name))
    found = world.watch(WIDGET, 3, send_initial=True, bookmarks=True)
    assert sorted(found.names[:2]) == [("ADDED", "a"), ("ADDED", "b")]
    assert (found.events[2][0], found.events[2][1]["metadata"]) == ("BOOKMARK", {"annotations": INITIAL_END})


def test_a_streaming_list_of_nothing_is_a_bookmark(world: World) -> None:
    assert world.watch(WIDGET, 1, send_initial=True, bookmarks=True).names == [("BOOKMARK", "")]


def test_a_streaming_list_goes_on_as_a_watch(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a"))

    async def act() -> None:
        await world.engine.create(WIDGET, world.namespace, json.dumps(body(WIDGET, "b")).encode())

    found = world.during(WIDGET, act, 3, send_initial=True, bookmarks=True)
    assert sorted(found.names) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


def test_a_streaming_list_may_begin_at_an_old_version(world: World) -> None:
    start = world.create(GADGET, body(GADGET, "a")).version
    world.create(GADGET, body(GADGET, "b"))
    found = world.watch(GADGET, 3, send_initial=True, bookmarks=True, resource_version=start)
    assert sorted(found.names) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]


def test_a_streaming_list_of_the_future_is_too_large(world: World) -> None:
    found = world.watch(GADGET, send_initial=True, bookmarks=True, resource_version="999999999", timeout=10)
    assert [type_ for type_, _ in found.events] == ["ERROR"]
    status = found.events[0][1]
    assert (status["code"], status["reason"]) == (504, "Timeout")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]


def test_a_watch_sees_what_happens_while_it_is_open(world: World) -> None:
    async def act() -> None:
        key = Key(world.namespace, "a")
        await world.engine.create(GADGET, world.namespace, json.dumps(body(GADGET, "a", n=1)).encode())
        await world.engine.patch(GADGET, key, Patch.merge({"n": 2}))
        await world.engine.delete(GADGET, key)

    found = world.during(GADGET, act, 3, resource_version=world.version(GADGET))
    assert [(type_, each["n"]) for type_, each in found.events] == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)]


def test_a_write_that_changes_nothing_is_no_event(world: World) -> None:
    world.create(GADGET, body(GADGET, "a", n=1))
    start = world.version(GADGET)
    world.merge(GADGET, "a", {"n": 1})
    world.merge(GADGET, "a", {"n": 2})
    assert [each["n"] for _, each in world.watch(GADGET, 1, resource_version=start).events] == [2]


def test_an_object_that_leaves_the_selection_is_deleted(world: World) -> None:
    start = world.version(GADGET)
    world.create(GADGET, body(GADGET, "a", metadata={"labels": {"l": "in"}}))
    world.merge(GADGET, "a", {"metadata": {"labels": {"l": "out"}}})
    world.merge(GADGET, "a", {"n": 1})
    world.merge(GADGET, "a", {"metadata": {"labels": {"l": "in"}}})
    world.delete(GADGET, "a")
    inside = {"generation": 1, "labels": {"l": "in"}}
    again = {"generation": 2, "labels": {"l": "in"}}
    assert world.watch(GADGET, 4, resource_version=start, label_selector="l=in").events == [
        ("ADDED", stored(GADGET, "a", metadata=inside)),
        ("DELETED", stored(GADGET, "a", metadata=inside)),
        ("ADDED", stored(GADGET, "a", metadata=again, n=1)),
        ("DELETED", stored(GADGET, "a", metadata=again, n=1)),
    ]


def test_fields_select_events(world: World) -> None:
    start = world.version(GADGET)
    for name in "abc":
        world.create(GADGET, body(GADGET, name))
    assert world.watch(GADGET, 1, resource_version=start, field_selector="metadata.name=b").names == [("ADDED", "b")]


def test_a_selectable_field_selects_events(world: World) -> None:
    start = world.version(WIDGET)
    world.create(WIDGET, body(WIDGET, "a", spec={"color": "red"}))
    world.merge(WIDGET, "a", {"spec": {"color": "blue"}})
    found = world.watch(WIDGET, 2, resource_version=start, field_selector="spec.color=red")
    assert found.names == [("ADDED", "a"), ("DELETED", "a")]


def test_the_deletion_of_an_object_with_finalizers_is_two_events(world: World) -> None:
    start = world.version(GADGET)
    world.create(GADGET, body(GADGET, "a", metadata={"finalizers": ["x.y/z"]}))
    world.delete(GADGET, "a")
    world.merge(GADGET, "a", {"metadata": {"finalizers": None}})
    going = {
        "generation": 2,
        "finalizers": ["x.y/z"],
        "deletionTimestamp": "TIME",
        "deletionGracePeriodSeconds": 0,
    }
    assert world.watch(GADGET, 3, resource_version=start).events == [
        ("ADDED", stored(GADGET, "a", metadata={"generation": 1, "finalizers": ["x.y/z"]})),
        ("MODIFIED", stored(GADGET, "a", metadata=going)),
        ("DELETED", stored(GADGET, "a", metadata=going)),
    ]


def test_other_namespaces_and_kinds_are_not_seen(world: World) -> None:
    start = world.version(GADGET)
    world.create(WIDGET, body(WIDGET, "a"))
    world.create(PLANET, body(PLANET, world.name("earth")))
    world.create(GADGET, body(GADGET, "b"))
    world.delete(PLANET, world.name("earth"))
    assert world.watch(GADGET, 1, resource_version=start).names == [("ADDED", "b")]


def test_a_watch_over_all_namespaces_sees_them_all(world: World) -> None:
    start = world.version(GADGET)
    world.create(GADGET, body(GADGET, "a", metadata={"labels": {"token": world.token}}))
    found = world.watch(GADGET, 1, resource_version=start, namespace="", label_selector=f"token={world.token}")
    assert found.names == [("ADDED", "a")]


@pytest.mark.parametrize("kind", [CONFIG_MAP, GADGET], ids=str)
def test_a_watch_ends_with_its_time(world: World, kind: Kind[Any]) -> None:
    assert world.watch(kind, resource_version=world.version(kind)).events == []


def test_a_watch_from_the_future_is_silent(world: World) -> None:
    world.create(GADGET, body(GADGET, "a"))
    assert world.watch(GADGET, resource_version="999999999").events == []


def test_a_version_is_a_number(world: World) -> None:
    found = world.watch(GADGET, resource_version="abc")
    assert found == refused(
        500, "InternalError",
        'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )  # fmt: skip


def test_a_selector_that_cannot_be_read_is_refused(world: World) -> None:
    found = world.watch(GADGET, label_selector="a b")
    assert (found.code, found.reason) == (400, "BadRequest")
