"""Owner garbage collection: background, foreground, orphan, and what a dependant is worth."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body
from tests.conformance.outcome import Outcome, Tree
from tests.conformance.world import World


def owned_by(kind: Kind[Any], owner: Outcome, *, block: bool = True, controller: bool = False) -> Tree:
    reference: Tree = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.metadata["name"],
        "uid": owner.uid,
    }
    if block:
        reference["blockOwnerDeletion"] = True
    if controller:
        reference["controller"] = True
    return reference


def made(world: World, kind: Kind[Any], name: str, *owners: Tree, finalizers: tuple[str, ...] = ()) -> Outcome:
    metadata: Tree = {"ownerReferences": list(owners)} if owners else {}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    created = world.create(kind, body(kind, name, metadata=metadata))
    assert not created.refused, created
    return created


def names(world: World, kind: Kind[Any]) -> list[str]:
    page = world.list(kind)
    return [name for name in page.names if name != "kube-root-ca.crt"]


def owners(world: World, name: str) -> list[str]:
    found = world.get(CONFIG_MAP, name)
    return [owner["name"] for owner in found.object["metadata"].get("ownerReferences", [])]


def test_dependants_follow_their_owner(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    for name in ("a", "b"):
        made(world, CONFIG_MAP, name, owned_by(WIDGET, owner))
    made(world, CONFIG_MAP, "free")
    world.delete(WIDGET, "owner")
    world.eventually(lambda: names(world, CONFIG_MAP), ["free"])


def test_dependants_of_dependants_follow(world: World) -> None:
    top = made(world, WIDGET, "top")
    middle = made(world, GADGET, "middle", owned_by(WIDGET, top))
    made(world, CONFIG_MAP, "bottom", owned_by(GADGET, middle))
    world.delete(WIDGET, "top")
    world.eventually(lambda: names(world, CONFIG_MAP) + names(world, GADGET), [])


def test_a_dependant_with_another_owner_stays_and_loses_the_reference(world: World) -> None:
    one, two = made(world, WIDGET, "one"), made(world, WIDGET, "two")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, one), owned_by(WIDGET, two))
    world.delete(WIDGET, "one")
    world.eventually(lambda: owners(world, "a"), ["two"])
    world.delete(WIDGET, "two")
    world.eventually(lambda: names(world, CONFIG_MAP), [])


def test_orphans_stay_without_their_owner(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner))
    world.delete(WIDGET, "owner", propagation="Orphan")
    world.eventually(lambda: (world.gone(WIDGET, "owner"), owners(world, "a")), (True, []))


def test_an_owner_in_the_foreground_waits_for_its_dependants(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner), finalizers=("x.y/z",))
    left = world.delete(WIDGET, "owner", propagation="Foreground")
    assert left.object["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.eventually(lambda: "deletionTimestamp" in world.get(CONFIG_MAP, "a").object["metadata"], True)
    assert not world.gone(WIDGET, "owner")
    world.merge(CONFIG_MAP, "a", {"metadata": {"finalizers": None}})
    world.eventually(lambda: world.gone(WIDGET, "owner"), True)


def test_an_owner_in_the_foreground_without_dependants_goes(world: World) -> None:
    made(world, WIDGET, "owner")
    world.delete(WIDGET, "owner", propagation="Foreground")
    world.eventually(lambda: world.gone(WIDGET, "owner"), True)


def test_an_owner_in_the_foreground_does_not_wait_for_what_does_not_block(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner, block=False), finalizers=("x.y/z",))
    world.delete(WIDGET, "owner", propagation="Foreground")
    world.eventually(lambda: world.gone(WIDGET, "owner"), True)
    world.eventually(lambda: "deletionTimestamp" in world.get(CONFIG_MAP, "a").object["metadata"], True)
    world.merge(CONFIG_MAP, "a", {"metadata": {"finalizers": None}})


def test_the_foreground_goes_down_the_tree(world: World) -> None:
    top = made(world, WIDGET, "top")
    middle = made(world, GADGET, "middle", owned_by(WIDGET, top))
    made(world, CONFIG_MAP, "bottom", owned_by(GADGET, middle), finalizers=("x.y/z",))
    world.delete(WIDGET, "top", propagation="Foreground")
    world.eventually(lambda: "deletionTimestamp" in world.get(CONFIG_MAP, "bottom").object["metadata"], True)
    assert world.get(GADGET, "middle").object["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert world.get(WIDGET, "top").object["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.merge(CONFIG_MAP, "bottom", {"metadata": {"finalizers": None}})
    world.eventually(lambda: world.gone(GADGET, "middle") and world.gone(WIDGET, "top"), True)


def test_the_foreground_keeps_other_finalizers(world: World) -> None:
    made(world, WIDGET, "owner", finalizers=("x.y/z",))
    left = world.delete(WIDGET, "owner", propagation="Foreground")
    assert left.object["metadata"]["finalizers"] == ["x.y/z", "foregroundDeletion"]
    world.eventually(lambda: world.get(WIDGET, "owner").object["metadata"]["finalizers"], ["x.y/z"])
    world.merge(WIDGET, "owner", {"metadata": {"finalizers": None}})
    assert world.gone(WIDGET, "owner")


def test_a_deletion_in_the_foreground_can_be_moved_to_the_background(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner), finalizers=("x.y/z",))
    world.delete(WIDGET, "owner", propagation="Foreground")
    assert not world.gone(WIDGET, "owner")
    world.delete(WIDGET, "owner", propagation="Background")
    assert world.gone(WIDGET, "owner")
    world.merge(CONFIG_MAP, "a", {"metadata": {"finalizers": None}})


def test_a_dependant_of_an_owner_that_never_was_goes(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    stranger = {**owned_by(WIDGET, owner), "uid": "00000000-0000-4000-8000-000000000000"}
    made(world, CONFIG_MAP, "a", stranger)
    world.eventually(lambda: names(world, CONFIG_MAP), [])


def test_a_dependant_of_an_earlier_owner_of_that_name_goes(world: World) -> None:
    first = made(world, WIDGET, "owner")
    world.delete(WIDGET, "owner", propagation="Orphan")
    world.eventually(lambda: world.gone(WIDGET, "owner"), True)
    made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, first))
    world.eventually(lambda: names(world, CONFIG_MAP), [])


def test_an_owner_of_cluster_scope_owns_in_namespaces(world: World) -> None:
    name = world.name("owner")
    owner = world.create(PLANET, body(PLANET, name))
    assert not owner.refused
    made(world, CONFIG_MAP, "a", owned_by(PLANET, owner))
    assert names(world, CONFIG_MAP) == ["a"]
    world.delete(PLANET, name)
    world.eventually(lambda: names(world, CONFIG_MAP), [])


def test_a_finalizer_of_a_dependant_holds_it_in_the_background(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner), finalizers=("x.y/z",))
    world.delete(WIDGET, "owner")
    assert world.gone(WIDGET, "owner")
    world.eventually(lambda: "deletionTimestamp" in world.get(CONFIG_MAP, "a").object["metadata"], True)
    world.merge(CONFIG_MAP, "a", {"metadata": {"finalizers": None}})
    assert world.gone(CONFIG_MAP, "a")


def test_dependants_wait_until_a_finalizer_lets_the_owner_go(world: World) -> None:
    owner = made(world, WIDGET, "owner", finalizers=("x.y/z",))
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner))
    world.delete(WIDGET, "owner")
    assert names(world, CONFIG_MAP) == ["a"]
    world.merge(WIDGET, "owner", {"metadata": {"finalizers": None}})
    world.eventually(lambda: names(world, CONFIG_MAP), [])


def test_a_dependant_that_was_let_go_stays(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, owner))
    made(world, CONFIG_MAP, "b", owned_by(WIDGET, owner))
    world.merge(CONFIG_MAP, "a", {"metadata": {"ownerReferences": None}})
    world.delete(WIDGET, "owner")
    world.eventually(lambda: names(world, CONFIG_MAP), ["a"])


def test_a_dependant_that_was_adopted_goes(world: World) -> None:
    owner = made(world, WIDGET, "owner")
    made(world, CONFIG_MAP, "a")
    world.merge(CONFIG_MAP, "a", {"metadata": {"ownerReferences": [owned_by(WIDGET, owner, controller=True)]}})
    world.delete(WIDGET, "owner")
    world.eventually(lambda: names(world, CONFIG_MAP), [])


@pytest.mark.parametrize("kind", [CONFIG_MAP, GADGET], ids=str)
def test_an_owner_may_be_of_any_kind(world: World, kind: Kind[Any]) -> None:
    owner = made(world, kind, "owner")
    made(world, WIDGET, "a", owned_by(kind, owner))
    world.delete(kind, "owner")
    world.eventually(lambda: world.gone(WIDGET, "a"), True)


def test_two_owners_in_the_foreground_take_their_dependant_along(world: World) -> None:
    one, two = made(world, WIDGET, "one"), made(world, WIDGET, "two")
    made(world, CONFIG_MAP, "a", owned_by(WIDGET, one), owned_by(WIDGET, two))
    world.delete(WIDGET, "one", propagation="Foreground")
    world.eventually(lambda: (owners(world, "a"), world.gone(WIDGET, "one")), (["two"], True))
    world.delete(WIDGET, "two", propagation="Foreground")
    world.eventually(lambda: (names(world, CONFIG_MAP), world.gone(WIDGET, "two")), ([], True))
