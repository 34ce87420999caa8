"""410: versions and tokens that history no longer reaches."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dynamo_ctrl.engine.errors import Expired
from dynamo_ctrl.engine.port import ListOptions
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body
from tests.conformance.outcome import refused
from tests.conformance.world import World

OLD = "2"
"""A version from before the suite's kinds were served."""

INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing "
    "with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and now may show up in the list."
)
TOO_OLD = "The resourceVersion for the provided list is too old."
CUSTOM = pytest.mark.parametrize("kind", [WIDGET, GADGET, PLANET], ids=str)


def old_token(world: World, limit: int = 2) -> str:
    """The token of a page, as it would be if the page were very old."""
    page = world.list(GADGET, limit=limit)
    assert not page.refused, page
    content = json.loads(base64.urlsafe_b64decode(page.token + "=" * (-len(page.token) % 4)))
    raw = json.dumps({**content, "rv": int(OLD)}).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def filled(world: World) -> None:
    for name in "abcde":
        world.create(GADGET, body(GADGET, name))


def fresh_token(world: World, token: str) -> str:
    """The token that a 410 offers."""

    async def ask() -> str:
        try:
            await world.engine.list(GADGET, ListOptions(namespace=world.namespace, limit=2, continue_token=token))
        except Expired as error:
            return error.continue_token
        return "not expired"

    offered: str = world._run(ask())
    return offered


@CUSTOM
def test_a_watch_from_an_old_version_gets_an_error_event(world: World, kind: Kind[Any]) -> None:
    found = world.watch(kind, resource_version=OLD)
    (type_, status), *rest = found.events
    assert (type_, rest) == ("ERROR", [])
    assert status.pop("message").startswith(f"too old resource version: {OLD} (")
    assert status == {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
    }  # fmt: skip


def test_a_watch_from_an_old_version_gets_it_with_bookmarks_too(world: World) -> None:
    found = world.watch(WIDGET, resource_version=OLD, bookmarks=True)
    assert [(type_, each.get("code")) for type_, each in found.events] == [("ERROR", 410)]


def test_a_selection_does_not_help(world: World) -> None:
    found = world.watch(WIDGET, resource_version=OLD, label_selector="a=b")
    assert [(type_, each.get("code")) for type_, each in found.events] == [("ERROR", 410)]


def test_a_new_list_heals_a_watch(world: World) -> None:
    world.watch(WIDGET, resource_version=OLD)
    start = world.version(WIDGET)
    world.create(WIDGET, body(WIDGET, "a"))
    found = world.watch(WIDGET, 1, resource_version=start)
    assert found.types == ["ADDED"]


def test_a_streaming_list_never_expires(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a"))
    found = world.watch(WIDGET, 2, resource_version=OLD, send_initial=True, bookmarks=True)
    assert found.types == ["ADDED", "BOOKMARK"]


@CUSTOM
def test_an_exact_list_of_an_old_version_is_gone(world: World, kind: Kind[Any]) -> None:
    world.compact()
    assert world.list(kind, resource_version=OLD, match="Exact") == refused(410, "Expired", TOO_OLD)


def test_a_page_of_an_old_version_is_gone(world: World) -> None:
    world.compact()
    assert world.list(GADGET, resource_version=OLD, limit=1) == refused(410, "Expired", TOO_OLD)


def test_a_list_not_older_than_an_old_version_is_fresh(world: World) -> None:
    world.create(GADGET, body(GADGET, "a"))
    world.compact()
    found = world.list(GADGET, resource_version=OLD, match="NotOlderThan")
    assert found.names == ["a"]


def test_an_old_token_is_gone(world: World) -> None:
    filled(world)
    token = old_token(world)
    world.compact()
    assert world.list(GADGET, limit=2, continue_token=token) == refused(410, "Expired", INCONSISTENT)


def test_an_old_token_is_gone_whatever_the_limit(world: World) -> None:
    filled(world)
    token = old_token(world)
    world.compact()
    assert world.list(GADGET, continue_token=token) == refused(410, "Expired", INCONSISTENT)


def test_the_error_offers_a_way_to_go_on(world: World) -> None:
    filled(world)
    token = old_token(world)
    world.compact()
    fresh = fresh_token(world, token)
    world.delete(GADGET, "d")
    world.create(GADGET, body(GADGET, "cc"))
    found = world.list(GADGET, limit=2, continue_token=fresh)
    assert not found.refused
    assert found.names == ["c", "cc"]
    assert world.list(GADGET, continue_token=found.token).names == ["e"]


def test_what_follows_is_of_one_version_again(world: World) -> None:
    filled(world)
    fresh = fresh_token(world, old_token(world))
    first = world.list(GADGET, limit=1, continue_token=fresh)
    world.delete(GADGET, "e")
    assert not first.refused
    rest = world.list(GADGET, continue_token=first.token)
    assert not rest.refused
    assert (first.names, rest.names) == (["c"], ["d", "e"])
    assert rest.version == first.version
