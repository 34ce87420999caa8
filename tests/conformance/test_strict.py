"""Fields that a kind does not have: dropped, or refused where the client asks for it."""

from __future__ import annotations

from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.patch import Patch
from tests.conformance.kinds import SHAPE, body
from tests.conformance.world import World


def unknown(*paths: str) -> str:
    return "strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in paths)


@pytest.mark.parametrize(
    ("sent", "paths"),
    [
        ({"spec": {"zz": 1}}, ["spec.zz"]),
        ({"spec": {"zz": None}}, ["spec.zz"]),
        ({"spec": {"zz": {"a": 1}, "text": "abc"}}, ["spec.zz"]),
        ({"spec": {"section": {"a": 1, "zz": 1}}}, ["spec.section.zz"]),
        ({"spec": {"map": [{"name": "a"}, {"name": "b", "zz": 1}]}}, ["spec.map[1].zz"]),
        ({"spec": {"objects": {"x": {"a": 1, "zz": 1}}}}, ["spec.objects.x.zz"]),
        ({"spec": {"loose": {"known": {"z": "a", "w": 1}}}}, ["spec.loose.known.w"]),
        ({"spec": {}, "zz": 1}, ["zz"]),
        ({"metadata": {"zz": 1}, "spec": {"zz": 1, "aa": 1}}, ["metadata.zz", "spec.aa", "spec.zz"]),
        ({"spec": {"text": 5, "zz": 1}}, ["spec.zz"]),
    ],
    ids=str,
)
def test_a_create_that_asks_for_it_is_refused_with_every_unknown_field(
    world: World, sent: dict[str, Any], paths: list[str]
) -> None:
    content = body(SHAPE, "a", **{name: value for name, value in sent.items() if name != "metadata"})
    content["metadata"].update(sent.get("metadata", {}))
    outcome = world.create(SHAPE, content, strict=True)
    kind = SHAPE.kind
    told = f'{kind} in version "{SHAPE.version}" cannot be handled as a {kind}: {unknown(*paths)}'
    assert outcome.refusal == (400, "BadRequest", told, {})
    assert world.get(SHAPE, "a").code == 404


def test_what_is_known_passes_a_strict_create(world: World) -> None:
    spec = {"section": {"a": 1}, "loose": {"x": {"y": 1}}, "map": [{"name": "a", "v": 1}], "texts": {"a": "b"}}
    assert not world.create(SHAPE, body(SHAPE, "a", spec=spec), strict=True).refused


@pytest.mark.parametrize(
    ("patch", "paths"),
    [
        (Patch.merge({"spec": {"zz": 1}}), ["spec.zz"]),
        (Patch.merge({"metadata": {"zz": 1}, "spec": {"section": {"zz": 1}}}), ["metadata.zz", "spec.section.zz"]),
        (Patch.json([{"op": "add", "path": "/spec/zz", "value": 1}]), ["spec.zz"]),
    ],
    ids=["merge", "merge two", "json"],
)
def test_a_patch_that_asks_for_it_is_refused_and_changes_nothing(world: World, patch: Patch, paths: list[str]) -> None:
    before = world.create(SHAPE, body(SHAPE, "a", spec={"text": "abc"})).version
    outcome = world.patch(SHAPE, "a", patch, strict=True)
    assert (outcome.code, outcome.reason) == (422, "Invalid")
    assert outcome.message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert outcome.message.endswith(f": {unknown(*paths)}")
    assert world.get(SHAPE, "a").version == before
    assert not world.patch(SHAPE, "a", patch).refused


@pytest.mark.parametrize(
    ("more", "path"), [({"dat": {}}, "dat"), ({"metadata": {"name": "a", "lables": {}}}, "metadata.lables")], ids=str
)
def test_the_first_level_of_built_in_kinds_is_known(world: World, more: dict[str, Any], path: str) -> None:
    content = {**body(CONFIG_MAP, "a", data={"x": "1"}), **more}
    told = f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {unknown(path)}'
    assert world.create(CONFIG_MAP, content, strict=True).refusal == (400, "BadRequest", told, {})
    assert world.create(CONFIG_MAP, content).object["data"] == {"x": "1"}
