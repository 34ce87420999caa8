"""Replacing: what a client may change, and which change counts."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from tests.conformance.kinds import GADGET, WIDGET, body, stored, widget
from tests.conformance.outcome import Outcome, Tree, about, invalid, not_found, refused
from tests.conformance.world import World

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def made(world: World, kind: Any, name: str = "a", **content: Any) -> Outcome:
    if kind is WIDGET:
        content = {"spec": {}, **content}
    created = world.create(kind, body(kind, name, **content))
    assert not created.refused, created
    return created


def edited(answer: Outcome, **content: Any) -> Tree:
    return {**answer.raw, **content}


def test_content_is_replaced(world: World) -> None:
    before = made(world, WIDGET, spec={"color": "red", "size": 3})
    after = world.update(WIDGET, "a", edited(before, spec={"color": "blue"}))
    assert after.object == widget("a", generation=2, spec={"color": "blue", "size": 1})


def test_a_write_that_changes_nothing_keeps_the_version(world: World) -> None:
    before = made(world, WIDGET, spec={"color": "red"})
    after = world.update(WIDGET, "a", before.raw)
    assert after.raw == before.raw


def test_an_empty_map_is_no_change(world: World) -> None:
    before = made(world, WIDGET)
    assert world.merge(WIDGET, "a", {"metadata": {"labels": {}, "annotations": {}}}).raw == before.raw


def test_metadata_alone_leaves_the_generation(world: World) -> None:
    before = made(world, WIDGET)
    metadata = {**before.metadata, "labels": {"l": "1"}, "annotations": {"a": "1"}}
    after = world.update(WIDGET, "a", edited(before, metadata=metadata))
    assert after.object == widget("a", metadata={"labels": {"l": "1"}, "annotations": {"a": "1"}})
    assert after.version != before.version


def test_without_a_status_subresource_any_content_moves_the_generation(world: World) -> None:
    before = made(world, GADGET, status={"a": 1}, extra=1)
    after = world.update(GADGET, "a", edited(before, status={"a": 2}))
    assert after.object == stored(GADGET, "a", metadata={"generation": 2}, status={"a": 2}, extra=1)


def test_a_config_map_has_no_generation(world: World) -> None:
    before = made(world, CONFIG_MAP, data={"k": "v"})
    after = world.update(CONFIG_MAP, "a", edited(before, data={"k": "w"}))
    assert after.object == stored(CONFIG_MAP, "a", data={"k": "w"})


def test_what_belongs_to_the_server_is_not_taken(world: World) -> None:
    before = made(world, WIDGET)
    metadata = {**before.metadata, "generation": 77, "creationTimestamp": "2001-01-01T00:00:00Z"}
    assert world.update(WIDGET, "a", edited(before, metadata=metadata)).raw == before.raw


def test_an_absent_object_is_not_made(world: World) -> None:
    assert world.update(CONFIG_MAP, "x", body(CONFIG_MAP, "x")) == not_found(CONFIG_MAP, "x")
    assert world.update(WIDGET, "x", body(WIDGET, "x")) == not_found(WIDGET, "x")


def test_an_absent_object_is_not_made_with_a_version_either(world: World) -> None:
    sent = body(CONFIG_MAP, "x", metadata={"resourceVersion": "5"})
    assert world.update(CONFIG_MAP, "x", sent) == not_found(CONFIG_MAP, "x")


def test_the_name_is_that_of_the_request(world: World) -> None:
    before = made(world, CONFIG_MAP)
    assert world.update(CONFIG_MAP, "a", edited(before, metadata={"name": "b"})) == refused(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


def test_the_name_is_required(world: World) -> None:
    made(world, CONFIG_MAP)
    assert world.update(CONFIG_MAP, "a", {"metadata": {}}) == refused(
        400, "BadRequest", "the name of the object (a based on URL) was undeterminable: name must be provided"
    )


def test_the_namespace_is_that_of_the_request(world: World) -> None:
    made(world, CONFIG_MAP)
    assert world.update(CONFIG_MAP, "a", {"metadata": {"name": "a", "namespace": "other"}}) == refused(
        400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"
    )


def test_an_old_version_is_a_conflict(world: World) -> None:
    before = made(world, WIDGET)
    world.merge(WIDGET, "a", {"spec": {"size": 2}})
    assert world.update(WIDGET, "a", before.raw) == refused(
        409, "Conflict", f'Operation cannot be fulfilled on widgets.conformance.dynamo.dev "a": {MODIFIED}',
        **about(WIDGET, "a"),
    )  # fmt: skip


def test_an_old_version_is_a_conflict_even_without_a_change(world: World) -> None:
    before = made(world, CONFIG_MAP)
    world.merge(CONFIG_MAP, "a", {"data": {"k": "v"}})
    world.merge(CONFIG_MAP, "a", {"data": None})
    assert world.update(CONFIG_MAP, "a", before.raw) == refused(
        409, "Conflict", f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}', **about(CONFIG_MAP, "a")
    )


def test_a_built_in_object_may_be_replaced_without_a_version(world: World) -> None:
    made(world, CONFIG_MAP, data={"k": "v"})
    assert world.update(CONFIG_MAP, "a", body(CONFIG_MAP, "a", data={"k": "w"})).object == stored(
        CONFIG_MAP, "a", data={"k": "w"}
    )


@pytest.mark.parametrize("version", ["", "0"])
def test_a_custom_object_may_not_be_replaced_without_a_version(world: World, version: str) -> None:
    made(world, WIDGET)
    sent = body(WIDGET, "a", metadata={"resourceVersion": version})
    rule = "Invalid value: 0: must be specified for an update"
    assert world.update(WIDGET, "a", sent) == refused(
        422, "Invalid", f'widgets.conformance.dynamo.dev "a" is invalid: metadata.resourceVersion: {rule}',
        **about(WIDGET, "a"),
        causes=[{"reason": "FieldValueInvalid", "message": rule, "field": "metadata.resourceVersion"}],
    )  # fmt: skip


def test_a_version_is_a_number(world: World) -> None:
    made(world, CONFIG_MAP)
    assert world.update(CONFIG_MAP, "a", body(CONFIG_MAP, "a", metadata={"resourceVersion": "abc"})) == refused(
        500, "InternalError", 'strconv.ParseUint: parsing "abc": invalid syntax'
    )


def test_another_uid_is_a_conflict(world: World) -> None:
    made(world, CONFIG_MAP)
    found = world.update(CONFIG_MAP, "a", body(CONFIG_MAP, "a", metadata={"uid": "other"}))
    assert (found.code, found.reason, found.details) == (409, "Conflict", about(CONFIG_MAP, "a"))
    assert "Precondition failed: UID in precondition: other, UID in object meta: UID" in found.message


def test_an_uid_may_be_left_out(world: World) -> None:
    before = made(world, WIDGET)
    sent = body(WIDGET, "a", metadata={"resourceVersion": before.version}, spec={"size": 1})
    assert world.update(WIDGET, "a", sent).raw == before.raw


def test_a_deletion_cannot_be_written(world: World) -> None:
    made(world, CONFIG_MAP)
    found = world.merge(CONFIG_MAP, "a", {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}})
    rule = 'Invalid value: "2020-01-01T00:00:00Z": field is immutable'
    assert found == invalid(CONFIG_MAP, "a", ("metadata.deletionTimestamp", "Invalid", rule))


def test_an_immutable_config_map_stays_as_it_is(world: World) -> None:
    made(world, CONFIG_MAP, data={"k": "v"}, immutable=True)
    rule = "Forbidden: field is immutable when `immutable` is set"
    assert world.merge(CONFIG_MAP, "a", {"data": {"k": "w"}}) == invalid(CONFIG_MAP, "a", ("data", "Forbidden", rule))
    assert world.merge(CONFIG_MAP, "a", {"immutable": False}) == invalid(
        CONFIG_MAP, "a", ("immutable", "Forbidden", rule)
    )
