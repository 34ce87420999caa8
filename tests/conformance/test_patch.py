"""Patches: merge and JSON, what they do and how they fail."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.kinds import GADGET, WIDGET, body, stored, widget
from tests.conformance.outcome import about, invalid, not_found, refused
from tests.conformance.world import World

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
CANNOT_APPLY = "the server rejected our request due to an error in our request"


def config_map(world: World, **data: str) -> None:
    world.create(CONFIG_MAP, body(CONFIG_MAP, "a", data=data))


def gadget(world: World, **content: Any) -> None:
    world.create(GADGET, body(GADGET, "a", **content))


def test_a_merge_patch_sets_and_removes(world: World) -> None:
    config_map(world, keep="1", change="1", drop="1")
    found = world.merge(CONFIG_MAP, "a", {"data": {"change": "2", "drop": None, "new": "3"}})
    assert found.object == stored(CONFIG_MAP, "a", data={"keep": "1", "change": "2", "new": "3"})


def test_a_merge_patch_replaces_lists(world: World) -> None:
    gadget(world, spec={"list": [1, 2, {"x": 1}], "map": {"a": {"b": 1, "c": 2}}})
    found = world.merge(GADGET, "a", {"spec": {"list": [3], "map": {"a": {"c": None}}}})
    assert found.object == stored(GADGET, "a", metadata={"generation": 2}, spec={"list": [3], "map": {"a": {"b": 1}}})


def test_a_merge_patch_replaces_a_value_of_another_type(world: World) -> None:
    gadget(world, spec={"a": [1]})
    found = world.merge(GADGET, "a", {"spec": {"a": {"b": {"c": None, "d": 1}}}})
    assert found.object["spec"] == {"a": {"b": {"d": 1}}}


def test_a_patch_that_changes_nothing_keeps_the_version(world: World) -> None:
    config_map(world, k="v")
    before = world.get(CONFIG_MAP, "a")
    assert world.merge(CONFIG_MAP, "a", {"data": {"k": "v", "absent": None}}) == before
    assert world.patch(CONFIG_MAP, "a", Patch.json([{"op": "replace", "path": "/data/k", "value": "v"}])) == before
    assert world.get(CONFIG_MAP, "a").raw == before.raw


def test_a_merge_patch_goes_through_defaults_and_pruning(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a", spec={"size": 5}))
    found = world.merge(WIDGET, "a", {"spec": {"size": None, "unknown": 1}})
    assert found.object == widget("a", generation=2, spec={"size": 1})


def test_a_merge_patch_needs_no_version(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a"))
    assert world.merge(WIDGET, "a", {"spec": {"size": 2}}).object == widget("a", generation=2, spec={"size": 2})


def test_a_version_in_a_merge_patch_is_a_precondition(world: World) -> None:
    config_map(world)
    before = world.get(CONFIG_MAP, "a").version
    assert world.merge(CONFIG_MAP, "a", {"metadata": {"resourceVersion": before}, "data": {"k": "1"}}).object
    assert world.merge(CONFIG_MAP, "a", {"metadata": {"resourceVersion": before}, "data": {"k": "2"}}) == refused(
        409, "Conflict", f'Operation cannot be fulfilled on configmaps "a": {MODIFIED}', **about(CONFIG_MAP, "a")
    )


def test_another_uid_in_a_merge_patch_is_invalid(world: World) -> None:
    config_map(world)
    rule = 'Invalid value: "other": field is immutable'
    assert world.merge(CONFIG_MAP, "a", {"metadata": {"uid": "other"}}) == invalid(
        CONFIG_MAP, "a", ("metadata.uid", "Invalid", rule)
    )


def test_the_name_cannot_be_patched(world: World) -> None:
    config_map(world)
    assert world.merge(CONFIG_MAP, "a", {"metadata": {"name": "b"}}) == refused(
        400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)"
    )


def test_an_absent_object_is_not_found(world: World) -> None:
    assert world.merge(CONFIG_MAP, "x", {}) == not_found(CONFIG_MAP, "x")
    assert world.patch(WIDGET, "x", Patch.json([])) == not_found(WIDGET, "x")


def test_a_json_patch_adds_replaces_and_removes(world: World) -> None:
    config_map(world, keep="1", change="1", drop="1")
    patch = Patch.json(
        [
            {"op": "add", "path": "/data/new", "value": "3"},
            {"op": "replace", "path": "/data/change", "value": "2"},
            {"op": "remove", "path": "/data/drop"},
        ]
    )
    assert world.patch(CONFIG_MAP, "a", patch).object == stored(
        CONFIG_MAP, "a", data={"keep": "1", "change": "2", "new": "3"}
    )


def test_a_json_patch_moves_and_copies(world: World) -> None:
    config_map(world, a="1", b="2")
    patch = Patch.json(
        [{"op": "move", "from": "/data/a", "path": "/data/c"}, {"op": "copy", "from": "/data/b", "path": "/data/d"}]
    )
    assert world.patch(CONFIG_MAP, "a", patch).object["data"] == {"b": "2", "c": "1", "d": "2"}


def test_a_json_patch_edits_lists(world: World) -> None:
    gadget(world, spec={"list": ["a", "b", "c"]})
    patch = Patch.json(
        [
            {"op": "add", "path": "/spec/list/-", "value": "end"},
            {"op": "add", "path": "/spec/list/0", "value": "start"},
            {"op": "remove", "path": "/spec/list/2"},
        ]
    )
    assert world.patch(GADGET, "a", patch).object["spec"] == {"list": ["start", "a", "c", "end"]}


def test_a_json_pointer_is_escaped(world: World) -> None:
    config_map(world)
    patch = Patch.json([{"op": "add", "path": "/metadata/annotations", "value": {"x.y/z": "1"}}])
    assert world.patch(CONFIG_MAP, "a", patch).object["metadata"]["annotations"] == {"x.y/z": "1"}
    patch = Patch.json([{"op": "replace", "path": "/metadata/annotations/x.y~1z", "value": "2"}])
    assert world.patch(CONFIG_MAP, "a", patch).object["metadata"]["annotations"] == {"x.y/z": "2"}


def test_a_json_patch_that_replaces_an_absent_key_adds_it(world: World) -> None:
    config_map(world, k="1")
    patch = Patch.json([{"op": "replace", "path": "/data/absent", "value": "2"}])
    assert world.patch(CONFIG_MAP, "a", patch).object["data"] == {"k": "1", "absent": "2"}


def test_a_json_patch_may_test_first(world: World) -> None:
    config_map(world, k="1")
    patch = Patch.json(
        [{"op": "test", "path": "/data/k", "value": "1"}, {"op": "replace", "path": "/data/k", "value": "2"}]
    )
    assert world.patch(CONFIG_MAP, "a", patch).object["data"] == {"k": "2"}


def test_a_test_that_fails_is_a_conflict_and_nothing_is_done(world: World) -> None:
    config_map(world, k="1")
    patch = Patch.json(
        [{"op": "replace", "path": "/data/k", "value": "2"}, {"op": "test", "path": "/data/k", "value": "3"}]
    )
    assert world.patch(CONFIG_MAP, "a", patch) == refused(
        409, "Conflict", f"a test of the patch failed: {CANNOT_APPLY}"
    )
    assert world.get(CONFIG_MAP, "a").object["data"] == {"k": "1"}


def test_the_version_can_be_tested(world: World) -> None:
    config_map(world)
    version = world.get(CONFIG_MAP, "a").version
    patch = Patch.json(
        [
            {"op": "test", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": {"k": "1"}},
        ]
    )
    assert world.patch(CONFIG_MAP, "a", patch).object["data"] == {"k": "1"}
    assert world.patch(CONFIG_MAP, "a", patch).code == 409


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/data/absent"},
        {"op": "replace", "path": "/absent/deep", "value": "1"},
        {"op": "add", "path": "/absent/deep", "value": "1"},
        {"op": "move", "from": "/data/absent", "path": "/data/k"},
        {"op": "nonsense", "path": "/data/k"},
    ],
    ids=lambda operation: operation["op"],
)
def test_a_json_patch_that_does_not_apply_is_invalid(world: World, operation: dict[str, Any]) -> None:
    config_map(world, k="1")
    assert world.patch(CONFIG_MAP, "a", Patch.json([operation])) == refused(422, "Invalid", CANNOT_APPLY)


def test_a_patch_is_json(world: World) -> None:
    config_map(world)
    assert world.patch(CONFIG_MAP, "a", Patch("merge", b"{nope")) == refused(400, "BadRequest", "invalid JSON patch")


def test_a_merge_patch_is_an_object(world: World) -> None:
    config_map(world)
    assert world.patch(CONFIG_MAP, "a", Patch("merge", b"[]")) == refused(
        400,
        "BadRequest",
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
    )


def test_a_json_patch_is_a_list(world: World) -> None:
    config_map(world)
    assert world.patch(CONFIG_MAP, "a", Patch("json", b"{}")) == refused(
        400,
        "BadRequest",
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    )


def test_a_patched_object_is_validated(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a"))
    found = world.merge(WIDGET, "a", {"spec": {"color": 5}})
    rule = 'Invalid value: "integer": spec.color in body must be of type string: "integer"'
    assert found == invalid(WIDGET, "a", ("spec.color", "TypeInvalid", rule))


def test_the_status_is_not_patched_through_the_object(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a", spec={}))
    assert world.merge(WIDGET, "a", {"status": {"note": "x"}}).object == widget("a")


def test_two_json_patches_of_finalizers_do_not_drop_each_other(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a", metadata={"finalizers": ["a.b/one"]}, spec={}))
    seen: Any = ["a.b/one"]
    first = Patch.json(
        [
            {"op": "test", "path": "/metadata/finalizers", "value": seen},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/two"},
        ]
    )
    second = Patch.json(
        [
            {"op": "test", "path": "/metadata/finalizers", "value": seen},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/three"},
        ]
    )
    assert world.patch(WIDGET, "a", first).object == widget("a", metadata={"finalizers": ["a.b/one", "a.b/two"]})
    assert world.patch(WIDGET, "a", second).refused
