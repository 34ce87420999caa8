"""Creating: names, what the server fills in, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body, custom, stored, widget
from tests.conformance.outcome import about, invalid, not_found, refused
from tests.conformance.world import World

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def test_a_custom_object_gets_defaults_and_a_generation(world: World) -> None:
    assert world.create(WIDGET, body(WIDGET, "a", spec={"color": "red"})).object == widget(
        "a", spec={"color": "red", "size": 1}
    )


def test_a_built_in_object_gets_its_type_from_the_request(world: World) -> None:
    created = world.create(CONFIG_MAP, {"metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"k": "v"}})
    assert created.object == stored(CONFIG_MAP, "a", metadata={"labels": {"l": "1"}}, data={"k": "v"})


def test_unknown_fields_are_dropped(world: World) -> None:
    created = world.create(CONFIG_MAP, {"metadata": {"name": "a", "foo": 1}, "bar": 1})
    assert created.object == stored(CONFIG_MAP, "a")


def test_the_server_gives_uid_version_and_time(world: World) -> None:
    sent = body(WIDGET, "a", metadata={"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9})
    metadata = world.create(WIDGET, sent).metadata
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert int(metadata["resourceVersion"]) > 0
    assert re.fullmatch(r"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["generation"] == 1


def test_what_is_created_can_be_read(world: World) -> None:
    created = world.create(GADGET, body(GADGET, "a", anything={"x": [1, None, {"y": 2.5}]}))
    assert world.get(GADGET, "a") == created


def test_a_name_is_taken_once(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a"))
    assert world.create(WIDGET, body(WIDGET, "a")) == refused(
        409, "AlreadyExists", 'widgets.conformance.dynamo.dev "a" already exists', **about(WIDGET, "a")
    )


def test_a_name_is_taken_until_the_object_is_really_gone(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "a", metadata={"finalizers": ["x.y/z"]}))
    world.delete(WIDGET, "a")
    assert world.create(WIDGET, body(WIDGET, "a")) == refused(
        409, "AlreadyExists", 'object is being deleted: widgets.conformance.dynamo.dev "a" already exists',
        **about(WIDGET, "a"),
    )  # fmt: skip


def test_a_name_can_be_generated(world: World) -> None:
    first = world.create(CONFIG_MAP, {"metadata": {"generateName": "some-"}})
    second = world.create(CONFIG_MAP, {"metadata": {"generateName": "some-"}})
    names = [each.metadata["name"] for each in (first, second)]
    assert all(re.fullmatch(r"some-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)
    assert names[0] != names[1]
    assert first.metadata["generateName"] == "some-"


def test_a_given_name_wins_over_a_generated_one(world: World) -> None:
    created = world.create(CONFIG_MAP, {"metadata": {"name": "a", "generateName": "some-"}})
    assert created.object == stored(CONFIG_MAP, "a", metadata={"generateName": "some-"})


def test_a_long_base_is_cut_for_a_generated_name(world: World) -> None:
    created = world.create(CONFIG_MAP, {"metadata": {"generateName": "x" * 80}})
    assert created.metadata["name"][:-5] == "x" * 58


@pytest.mark.parametrize("kind", [CONFIG_MAP, WIDGET], ids=str)
def test_a_name_is_required(world: World, kind: Kind[Any]) -> None:
    sent = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {}}
    rule = "Required value: name or generateName is required"
    assert world.create(kind, sent) == invalid(kind, "", ("metadata.name", "Required", rule))


@pytest.mark.parametrize("kind", [CONFIG_MAP, WIDGET], ids=str)
@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a..b"])
def test_a_name_is_a_dns_subdomain(world: World, kind: Kind[Any], name: str) -> None:
    rule = f'Invalid value: "{name}": {SUBDOMAIN}'
    assert world.create(kind, body(kind, name)) == invalid(kind, name, ("metadata.name", "Invalid", rule))


def test_labels_annotations_and_finalizers_are_checked(world: World) -> None:
    metadata = {"labels": {"a b": "c", "d": "e f"}, "annotations": {"x y": "z"}, "finalizers": ["nodomain"]}
    assert world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata=metadata)) == invalid(
        CONFIG_MAP, "a",
        ("metadata.labels", "Invalid", f'Invalid value: "a b": {LABEL_KEY}'),
        ("metadata.labels", "Invalid", f'Invalid value: "e f": {LABEL_VALUE}'),
        ("metadata.annotations", "Invalid", f'Invalid value: "x y": {LABEL_KEY}'),
        ("metadata.finalizers[0]", "Invalid",
         'Invalid value: "nodomain": name is neither a standard finalizer name nor is it fully qualified'),
    )  # fmt: skip


def test_a_custom_object_takes_any_finalizer(world: World) -> None:
    created = world.create(WIDGET, body(WIDGET, "a", metadata={"finalizers": ["nodomain"]}))
    assert created.object["metadata"]["finalizers"] == ["nodomain"]
    world.merge(WIDGET, "a", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("kind", [CONFIG_MAP, WIDGET], ids=str)
def test_two_manners_of_deletion_exclude_each_other(world: World, kind: Kind[Any]) -> None:
    found = world.create(kind, body(kind, "a", metadata={"finalizers": ["foregroundDeletion", "orphan"]}))
    rule = 'Invalid value: ["foregroundDeletion","orphan"]: finalizer orphan and foregroundDeletion cannot be both set'
    assert found == invalid(kind, "a", ("metadata.finalizers", "Invalid", rule))


def test_only_one_owner_controls(world: World) -> None:
    owner = {"apiVersion": "v1", "kind": "X", "name": "y", "controller": True}
    owners = [{**owner, "uid": "a"}, {**owner, "uid": "b"}]
    found = world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"ownerReferences": owners}))
    value = (
        '[{"apiVersion":"v1","kind":"X","name":"y","uid":"a","controller":true},'
        '{"apiVersion":"v1","kind":"X","name":"y","uid":"b","controller":true}]'
    )
    rule = 'Only one reference can have Controller set to true. Found "true" in references for X/y and X/y'
    assert found == invalid(CONFIG_MAP, "a", ("metadata.ownerReferences", "Invalid", f"Invalid value: {value}: {rule}"))


def test_an_owner_needs_a_uid(world: World) -> None:
    owner = {"apiVersion": "v1", "kind": "X", "name": "y", "uid": ""}
    found = world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"ownerReferences": [owner]}))
    rule = "Required value: must not be empty"
    assert found == invalid(CONFIG_MAP, "a", ("metadata.ownerReferences[0].uid", "Required", rule))


def test_a_namespace_of_the_object_must_be_that_of_the_request(world: World) -> None:
    assert world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"namespace": "other"})) == refused(
        400, "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )  # fmt: skip


def test_a_resource_version_cannot_be_given(world: World) -> None:
    assert world.create(CONFIG_MAP, body(CONFIG_MAP, "a", metadata={"resourceVersion": "5"})) == refused(
        500, "InternalError", "resourceVersion should not be set on objects to be created"
    )


def test_a_custom_object_names_its_kind(world: World) -> None:
    found = world.create(WIDGET, {"metadata": {"name": "a"}})
    assert (found.code, found.reason) == (400, "BadRequest")
    assert "Object 'Kind' is missing" in found.message


def test_a_custom_object_is_of_the_kind_of_the_request(world: World) -> None:
    found = world.create(WIDGET, {**body(WIDGET, "a"), "kind": "Wodget"})
    rule = 'Invalid value: "Wodget": must be Widget'
    assert found == invalid(custom("Wodget"), "a", ("kind", "Invalid", rule))


def test_a_custom_object_is_of_the_version_of_the_request(world: World) -> None:
    assert world.create(WIDGET, {**body(WIDGET, "a"), "apiVersion": "conformance.dynamo.dev/v2"}) == refused(
        400, "BadRequest",
        "the API version in the data (conformance.dynamo.dev/v2) does not match the expected API version "
        "(conformance.dynamo.dev/v1)",
    )  # fmt: skip


def test_a_built_in_object_of_another_kind_is_refused(world: World) -> None:
    found = world.create(CONFIG_MAP, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})
    assert (found.code, found.reason) == (400, "BadRequest")


@pytest.mark.parametrize("text", [b"{nope", b"[]", b'"x"', b""])
def test_a_body_that_is_no_object_is_refused(world: World, text: bytes) -> None:
    found = world.create(CONFIG_MAP, text)
    assert (found.code, found.reason) == (400, "BadRequest")


def test_labels_are_texts(world: World) -> None:
    assert world.create(WIDGET, body(WIDGET, "a", metadata={"labels": {"a": 1}})) == refused(
        400, "BadRequest",
        'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field '
        "ObjectMeta.labels of type string",
    )  # fmt: skip


def test_an_object_of_cluster_scope_has_no_namespace(world: World) -> None:
    created = world.create(PLANET, body(PLANET, world.name("earth"), spec={"mass": 1}))
    assert created.object == body(PLANET, "earth-TOKEN", metadata={"generation": 1}, spec={"mass": 1})
    world.delete(PLANET, world.name("earth"))


def test_an_unknown_object_is_not_found(world: World) -> None:
    assert world.get(CONFIG_MAP, "x") == not_found(CONFIG_MAP, "x")
    assert world.get(WIDGET, "x") == not_found(WIDGET, "x")


def test_an_unknown_resource_of_a_known_group_is_not_found(world: World) -> None:
    message = "the server could not find the requested resource"
    for found in (world.get(custom("Nothing"), "x"), world.list(custom("Nothing")), world.watch(custom("Nothing"))):
        assert (found.code, found.reason, found.details) == (404, "NotFound", {})
    assert world.create(Kind(WIDGET.model, group="", version="v1", kind="No", plural="nos"), {}) == refused(
        404, "NotFound", message
    )


def test_an_unknown_version_is_not_found(world: World) -> None:
    found = world.get(custom("Widget", version="v9"), "x")
    assert (found.code, found.reason, found.details) == (404, "NotFound", {})


def test_versions_grow_with_every_write(world: World) -> None:
    versions = []
    for name in ("a", "b", "c"):
        created = world.create(CONFIG_MAP, body(CONFIG_MAP, name))
        assert not created.refused
        versions.append(int(created.version))
    assert versions == sorted(set(versions))
