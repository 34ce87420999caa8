"""Deletes that are bound to what was seen, and writes that lost a race."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import GADGET, WIDGET, body
from tests.conformance.outcome import Outcome, not_found, refused
from tests.conformance.world import World

BOTH = pytest.mark.parametrize("kind", [CONFIG_MAP, WIDGET], ids=str)


def made(world: World, kind: Kind[Any], name: str = "a", **content: Any) -> Outcome:
    created = world.create(kind, body(kind, name, **content))
    assert not created.refused, created
    return created


def failed(kind: Kind[Any], name: str, what: str, given: str, found: str, hint: str) -> Outcome:
    typed = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.kind}
    return refused(
        409, "Conflict",
        f'Operation cannot be fulfilled on {typed} "{name}": the {what} in the precondition ({given}) does not match the '
        f"{what} in record ({found}). The object might have been {hint}",
        **details,
    )  # fmt: skip


@BOTH
def test_the_right_uid_deletes(world: World, kind: Kind[Any]) -> None:
    before = made(world, kind)
    assert not world.delete(kind, "a", uid=before.uid).refused
    assert world.gone(kind, "a")


@BOTH
def test_another_uid_does_not(world: World, kind: Kind[Any]) -> None:
    made(world, kind)
    assert world.delete(kind, "a", uid="other") == failed(
        kind, "a", "UID", "other", "UID", "deleted and then recreated"
    )
    assert not world.gone(kind, "a")


@BOTH
def test_the_right_version_deletes(world: World, kind: Kind[Any]) -> None:
    before = made(world, kind)
    assert not world.delete(kind, "a", version=before.version).refused
    assert world.gone(kind, "a")


@BOTH
def test_an_old_version_does_not(world: World, kind: Kind[Any]) -> None:
    before = made(world, kind)
    world.merge(kind, "a", {"metadata": {"labels": {"l": "1"}}})
    assert world.delete(kind, "a", version=before.version) == failed(
        kind, "a", "ResourceVersion", "RV", "RV", "modified"
    )
    assert not world.gone(kind, "a")


def test_both_must_hold(world: World) -> None:
    before = made(world, WIDGET)
    assert world.delete(WIDGET, "a", uid=before.uid, version="1").refused
    assert world.delete(WIDGET, "a", uid="other", version=before.version).refused
    assert not world.delete(WIDGET, "a", uid=before.uid, version=before.version).refused


def test_a_precondition_on_an_absent_object_is_not_found(world: World) -> None:
    assert world.delete(WIDGET, "a", uid="other", version="1") == not_found(WIDGET, "a")


def test_a_precondition_holds_for_the_second_delete_too(world: World) -> None:
    before = made(world, WIDGET, metadata={"finalizers": ["x.y/z"]})
    first = world.delete(WIDGET, "a", version=before.version)
    assert not first.refused
    assert world.delete(WIDGET, "a", version=before.version).refused
    assert not world.delete(WIDGET, "a", version=first.version).refused


def test_an_object_of_the_same_name_is_another_object(world: World) -> None:
    before = made(world, WIDGET)
    world.delete(WIDGET, "a")
    made(world, WIDGET)
    assert world.delete(WIDGET, "a", uid=before.uid) == failed(
        WIDGET, "a", "UID", "UID", "UID", "deleted and then recreated"
    )


def test_of_two_writers_with_one_version_one_wins(world: World) -> None:
    before = made(world, GADGET, n=0).raw
    results = [world.update(GADGET, "a", {**before, "n": n}) for n in (1, 2)]
    assert [each.refused for each in results] == [False, True]
    assert world.get(GADGET, "a").object["n"] == 1


def test_a_version_goes_on_from_answer_to_answer(world: World) -> None:
    answer = made(world, GADGET, n=0)
    for n in (1, 2, 3):
        found = world.update(GADGET, "a", {**answer.raw, "n": n})
        assert not found.refused
        answer = found
    assert answer.object["n"] == 3


def test_a_recreated_object_does_not_take_an_old_update(world: World) -> None:
    before = made(world, GADGET)
    world.delete(GADGET, "a")
    made(world, GADGET)
    found = world.update(GADGET, "a", before.raw)
    assert (found.code, found.reason) == (409, "Conflict")


def test_a_conflict_names_the_object(world: World) -> None:
    before = made(world, GADGET)
    world.merge(GADGET, "a", {"n": 1})
    found = world.update(GADGET, "a", before.raw)
    assert found.details == {"name": "a", "group": "conformance.dynamo.dev", "kind": "gadgets"}
