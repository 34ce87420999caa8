"""Pages: limits, tokens, and the one version that all pages show."""

from __future__ import annotations

import base64
import json

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from tests.conformance.kinds import GADGET, PLANET, body
from tests.conformance.outcome import Listed, refused
from tests.conformance.world import World, namespace_body


def filled(world: World, names: str = "abcdefg") -> None:
    for index, name in enumerate(names):
        world.create(GADGET, body(GADGET, name, metadata={"labels": {"parity": str(index % 2)}}))


def page(world: World, **options: object) -> Listed:
    found = world.list(GADGET, **options)
    assert not found.refused, found
    return found


def test_pages_hold_everything_once(world: World) -> None:
    filled(world)
    assert world.pages(GADGET, 3) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]


def test_a_last_page_may_be_full(world: World) -> None:
    filled(world, "abcdef")
    assert world.pages(GADGET, 3) == [["a", "b", "c"], ["d", "e", "f"]]


def test_a_limit_that_holds_everything_gives_one_page(world: World) -> None:
    filled(world, "abc")
    assert world.pages(GADGET, 3) == [["a", "b", "c"]]
    assert world.pages(GADGET, 500) == [["a", "b", "c"]]


def test_pages_of_nothing_are_one(world: World) -> None:
    assert world.pages(GADGET, 3) == [[]]


def test_a_page_tells_how_many_are_left(world: World) -> None:
    filled(world)
    first = page(world, limit=3)
    second = page(world, limit=3, continue_token=first.token)
    third = page(world, limit=3, continue_token=second.token)
    assert (first.remaining, second.remaining, third.remaining) == (4, 1, None)


def test_a_selected_page_does_not_tell(world: World) -> None:
    filled(world)
    first = page(world, limit=2, label_selector="parity=0")
    assert (first.names, first.remaining, bool(first.token)) == (["a", "c"], None, True)


def test_selected_pages_hold_what_is_selected(world: World) -> None:
    filled(world)
    assert world.pages(GADGET, 2, label_selector="parity=0") == [["a", "c"], ["e", "g"]]
    assert world.pages(GADGET, 2, field_selector="metadata.name!=b") == [["a", "c"], ["d", "e"], ["f", "g"]]


def test_a_selected_page_may_be_followed_by_an_empty_one(world: World) -> None:
    filled(world, "abcd")
    assert world.pages(GADGET, 2, label_selector="parity=0") == [["a", "c"], []]


def test_all_pages_are_of_one_version(world: World) -> None:
    filled(world)
    first = page(world, limit=3)
    world.create(GADGET, body(GADGET, "bb"))
    world.create(GADGET, body(GADGET, "dd"))
    world.delete(GADGET, "e")
    world.merge(GADGET, "f", {"metadata": {"labels": {"new": "1"}}})
    second = page(world, limit=3, continue_token=first.token)
    assert second.names == ["d", "e", "f"]
    assert second.version == first.version
    assert second.objects[2]["metadata"]["labels"] == {"parity": "1"}


def test_the_limit_may_change_between_pages(world: World) -> None:
    filled(world)
    first = page(world, limit=2)
    assert page(world, limit=4, continue_token=first.token).names == ["c", "d", "e", "f"]
    assert page(world, continue_token=first.token).names == ["c", "d", "e", "f", "g"]


def test_a_token_can_be_used_twice(world: World) -> None:
    filled(world)
    first = page(world, limit=2)
    again = [page(world, limit=2, continue_token=first.token).names for _ in range(2)]
    assert again == [["c", "d"], ["c", "d"]]


def test_a_page_of_the_past_needs_no_match(world: World) -> None:
    filled(world, "abc")
    past = world.version(GADGET)
    world.create(GADGET, body(GADGET, "aa"))
    first = page(world, limit=2, resource_version=past)
    assert (first.names, first.version, first.remaining) == (["a", "b"], past, 1)
    assert page(world, continue_token=first.token).names == ["c"]


def test_any_version_comes_whole(world: World) -> None:
    filled(world)
    world.eventually(lambda: page(world, limit=2, resource_version="0").names, list("abcdefg"))
    assert page(world, limit=2, resource_version="0").token == ""


def test_a_negative_limit_is_none(world: World) -> None:
    filled(world, "abc")
    assert page(world, limit=-1).names == ["a", "b", "c"]


def test_a_token_goes_with_no_version(world: World) -> None:
    filled(world)
    token = page(world, limit=2).token
    assert world.list(GADGET, continue_token=token, resource_version="5") == refused(
        400, "BadRequest", "specifying resource version is not allowed when using continue"
    )


def test_a_token_with_any_version_brings_all_the_rest(world: World) -> None:
    filled(world)
    token = page(world, limit=2).token
    assert page(world, limit=2, continue_token=token, resource_version="0").names == ["c", "d", "e", "f", "g"]


def test_a_token_goes_with_no_match(world: World) -> None:
    filled(world)
    token = page(world, limit=2).token
    found = world.list(GADGET, continue_token=token, match="Exact")
    assert (found.code, found.reason) == (422, "Invalid")
    assert [cause["message"] for cause in found.details["causes"]] == [
        "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        "Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ]


def test_nonsense_is_no_token(world: World) -> None:
    found = world.list(GADGET, continue_token="nonsense", limit=1)
    assert (found.code, found.reason) == (400, "BadRequest")
    assert found.message.startswith("invalid continue token: continue key is not valid: ")


def test_a_token_of_another_format_is_refused(world: World) -> None:
    token = base64.urlsafe_b64encode(json.dumps({"v": "other", "rv": 5, "start": "/a"}).encode()).rstrip(b"=").decode()
    assert world.list(GADGET, continue_token=token, limit=1) == refused(
        400, "BadRequest",
        "invalid continue token: continue key is not valid: server does not recognize this encoded version other",
    )  # fmt: skip


def test_pages_go_over_namespaces(world: World) -> None:
    second = world.elsewhere(f"{world.namespace}-2")
    world.create(NAMESPACE, namespace_body(second.namespace))
    label = {"labels": {"token": world.token}}
    for each in (world, second):
        for name in "ab":
            each.create(GADGET, body(GADGET, name, metadata=label))
    chosen = {"namespace": "", "label_selector": f"token={world.token}"}
    assert world.pages(GADGET, 3, **chosen) == [["a", "b", "a"], ["b"]]
    world.delete(NAMESPACE, second.namespace)


def test_objects_of_cluster_scope_come_in_pages(world: World) -> None:
    names = [world.name(stem) for stem in "abc"]
    for name in names:
        world.create(PLANET, body(PLANET, name, metadata={"labels": {"token": world.token}}))
    assert world.pages(PLANET, 2, label_selector=f"token={world.token}") == [["a-TOKEN", "b-TOKEN"], ["c-TOKEN"]]
    for name in names:
        world.delete(PLANET, name)


def test_built_in_objects_come_in_pages(world: World) -> None:
    for name in "abc":
        world.create(CONFIG_MAP, body(CONFIG_MAP, name, metadata={"labels": {"l": "1"}}))
    assert world.pages(CONFIG_MAP, 2, label_selector="l=1") == [["a", "b"], ["c"]]
