"""`keep_only`: the named paths are kept, the rest is skipped over while it is read (R 4, 7)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from dynamo_ctrl.cache.intake import Intake
from dynamo_ctrl.cache.keep import InvalidPath, keep_only
from dynamo_ctrl.objects.builtin.core import POD
from dynamo_ctrl.objects.frozen import JsonMap

ALWAYS = {
    "name": "p", "generateName": "p-", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z", "deletionGracePeriodSeconds": 30,
    "labels": {"app": "x"}, "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "o", "uid": "ou"}],
    "finalizers": ["example.com/f"],
}  # fmt: skip
POD_CONTENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        **ALWAYS, "annotations": {"example.com/x": "1", "example.com/y": "2"}, "managedFields": [{"manager": "m"}],
    },
    "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "i"}, {"name": "side"}]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}],
        "containerStatuses": None,
    },
}  # fmt: skip
RAW = msgspec.json.encode(POD_CONTENT)


def kept(*paths: str, raw: bytes = RAW) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(keep_only(*paths).text(raw))
    return found


def test_what_every_object_needs_is_kept_and_annotations_and_managed_fields_are_not() -> None:
    assert kept() == {"apiVersion": "v1", "kind": "Pod", "metadata": ALWAYS}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.nodeName", {"spec": {"nodeName": "n"}}),
        ("spec", {"spec": POD_CONTENT["spec"]}),
        ("spec.containers[].name", {"spec": {"containers": [{"name": "main"}, {"name": "side"}]}}),
        ("spec.containers[].image", {"spec": {"containers": [{"image": "i"}, {}]}}),
        ("status.containerStatuses[].restartCount", {"status": {"containerStatuses": None}}),
        ("spec.nothing.at.all", {"spec": {}}),
        ("nothing", {}),
    ],
)
def test_a_path_keeps_what_is_there(path: str, expected: dict[str, Any]) -> None:
    found = kept(path)
    assert {name: value for name, value in found.items() if name not in ("apiVersion", "kind", "metadata")} == expected


def test_a_key_with_dots_is_named_in_brackets() -> None:
    assert kept("metadata.annotations[example.com/x]")["metadata"]["annotations"] == {"example.com/x": "1"}


def test_several_paths_are_kept_together_and_nothing_else() -> None:
    found = kept("status.phase", "status.conditions[].type", "spec.nodeName")
    assert found["status"] == {"phase": "Running", "conditions": [{"type": "Ready"}, {"type": "Initialized"}]}
    assert found["spec"] == {"nodeName": "n"}


def test_what_paths_cannot_say_a_function_says() -> None:
    def ready(content: JsonMap) -> dict[str, Any]:
        conditions = [each for each in content["status"]["conditions"] if each["type"] == "Ready"]
        return {**content, "status": {"conditions": conditions}}

    projection = keep_only("status.conditions[].type", then=ready)
    assert msgspec.json.decode(projection.text(RAW))["status"] == {"conditions": [{"type": "Ready"}]}
    assert projection(POD_CONTENT)["status"] == {"conditions": [{"type": "Ready"}]}


def test_it_is_idempotent() -> None:
    projection = keep_only("status.phase", "spec.containers[].name")
    once = projection.text(RAW)
    assert projection.text(once) == once


@pytest.mark.parametrize(
    ("paths", "text"),
    [
        (("",), "a path begins with a field"),
        (("[].name",), "a path begins with a field"),
        (("spec[",), "cannot be read from '[' on"),
        (("spec.a..b",), "cannot be read from '..b' on"),
        (("spec", "spec.nodeName"), "'spec.nodeName': it and a path inside it cannot both be kept"),
        (("spec.nodeName", "spec"), "'spec': it and a path inside it cannot both be kept"),
        (("metadata",), "cannot both be kept"),
        (("spec.containers[].name", "spec.containers.name"), "it is a list here, and an object in another path"),
        (("spec.containers.name", "spec.containers[].name"), "it is a list here, and an object in another path"),
    ],
)
def test_a_path_that_makes_no_sense_is_refused(paths: tuple[str, ...], text: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        keep_only(*paths)
    assert text in str(caught.value)


def test_the_same_path_may_be_named_twice() -> None:
    assert kept("spec.nodeName", "spec.nodeName", "metadata.labels")["spec"] == {"nodeName": "n"}


def test_r4_7_the_cache_keeps_the_paths_and_never_decodes_the_rest() -> None:
    intake = Intake(POD, keep_only("status.phase"))
    obj = intake.read(RAW)
    assert obj is not None
    assert (obj.status.phase, obj.metadata.labels) == ("Running", {"app": "x"})
    assert len(obj.raw) < len(RAW) - 150
    assert b"containers" not in obj.raw
    own = intake.own(POD.decode(RAW))
    assert own is not None
    assert own.raw == obj.raw, "an own write is kept as the watch will bring it"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (RAW.replace(b'"kind":"Pod"', b'"kind":"Node"'), "Node"),
        (RAW.replace(b'"status":{', b'"status":[{'), "the projection failed"),
        (b"{", "the projection failed"),
        (RAW.replace(b'"spec":{', b'"spec":\xff{'), "the projection failed"),
    ],
)
def test_an_object_of_another_shape_is_skipped_and_named(logs: list[Any], raw: bytes, reason: str) -> None:
    intake = Intake(POD, keep_only("status.phase"))
    assert intake.read(raw) is None
    assert intake.malformed == 1
    assert reason in logs[0]["error"]


@pytest.mark.parametrize("error", [KeyError("status"), asyncio.CancelledError()], ids=repr)
def test_a_function_that_raises_skips_the_object(error: BaseException) -> None:
    def broken(content: JsonMap) -> dict[str, Any]:
        raise error

    intake = Intake(POD, keep_only("status.phase", then=broken))
    assert intake.read(RAW) is None
    assert intake.malformed == 1
