"""CRDs: which are accepted, what they serve, and how they change and end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dynamo_ctrl.objects.builtin.extensions import CUSTOM_RESOURCE_DEFINITION as CRD
from dynamo_ctrl.objects.kind import Kind
from tests.conformance.kinds import Custom, body, definition
from tests.conformance.outcome import Tree, invalid, refused
from tests.conformance.world import World

OBJECT = {"type": "object"}
SPEC_X = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": {"type": "integer"}}}}}


class Definition:
    """A CRD of its own for one test."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.group = f"{world.token}.dynamo.dev"
        self.kind = self.spoken("v1")
        self.name = f"foos.{self.group}"

    def spoken(self, version: str) -> Kind[Custom]:
        return Kind(Custom, group=self.group, version=version, kind="Foo", plural="foos")

    def body(self, schema: Tree = SPEC_X, **version: Any) -> Tree:
        return definition(self.kind, schema, **version)

    def install(self, schema: Tree = SPEC_X, **version: Any) -> None:
        created = self.world.create(CRD, self.body(schema, **version))
        assert not created.refused, created
        self.world.eventually(lambda: self.condition("Established"), ("True", "InitialNamesAccepted"))
        self.world.eventually(lambda: self.world.list(self.kind).refused, False)

    def condition(self, type_: str, name: str = "") -> tuple[str, str] | None:
        conditions = self.world.get(CRD, name or self.name).object["status"].get("conditions") or []
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == type_), None)

    def foo(self, name: str, version: str = "v1", **content: Any) -> Tree:
        return body(self.spoken(version), name, **content)


@pytest.fixture
def foos(world: World) -> Iterator[Definition]:
    """A definition that is taken away afterwards."""
    found = Definition(world)
    yield found
    world.delete(CRD, found.name)


def test_a_definition_gets_defaults(world: World, foos: Definition) -> None:
    found = world.create(CRD, foos.body()).object
    assert found["spec"]["names"] == {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"}
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["metadata"]["generation"] == 1


def test_a_definition_is_accepted_and_established(world: World, foos: Definition) -> None:
    foos.install()
    found = world.get(CRD, foos.name).object["status"]
    assert foos.condition("NamesAccepted") == ("True", "NoConflicts")
    assert [each["message"] for each in found["conditions"]] == [
        "no conflicts found",
        "the initial names have been accepted",
    ]
    assert found["acceptedNames"] == {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"}


def test_a_kind_is_unknown_until_its_definition_is_there(world: World, foos: Definition) -> None:
    before = world.list(foos.kind)
    assert (before.code, before.message) == (404, "404 page not found")
    foos.install()
    assert world.create(foos.kind, foos.foo("a", spec={"x": 1, "y": 1})).object["spec"] == {"x": 1}


def test_a_definition_is_discovered(world: World, foos: Definition) -> None:
    foos.install(subresources={"status": {}})
    (found,) = world.discover(foos.group, "v1")
    assert (found.plural, found.kind, found.namespaced, found.subresources) == ("foos", "Foo", True, ("status",))


def test_a_definition_may_be_of_cluster_scope(world: World, foos: Definition) -> None:
    kind = Kind(Custom, group=foos.group, version="v1", kind="Foo", plural="foos", namespaced=False)
    world.create(CRD, definition(kind, SPEC_X))
    world.eventually(lambda: world.create(kind, body(kind, "a", spec={"x": 1})).refused, False)
    assert "namespace" not in world.get(kind, "a").object["metadata"]


def spec(**change: Any) -> Any:
    return lambda tree: tree["spec"].update(change)


def version(**change: Any) -> Any:
    return lambda tree: tree["spec"]["versions"][0].update(change)


def schema(**node: Any) -> Any:
    return version(schema={"openAPIV3Schema": node})


def field(**node: Any) -> Any:
    return schema(type="object", properties={"a": node})


ROOT = "spec.validation.openAPIV3Schema"
FIELD = f"{ROOT}.properties[a]"
MAP = {"type": "array", "x-kubernetes-list-type": "map"}
ITEM = {"type": "object", "properties": {"n": {"type": "string"}}}


@pytest.mark.parametrize(
    ("change", "causes"),
    [
        (spec(scope="Foo"), [("spec.scope", "NotSupported",
                              'Unsupported value: "Foo": supported values: "Cluster", "Namespaced"')]),
        (spec(names={"plural": "foos"}), [(f"spec.names.{each}", "Required", "Required value")
                                          for each in ("singular", "kind", "listKind")]),
        (spec(preserveUnknownFields=True), [(
            "spec.preserveUnknownFields", "Invalid", "Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")]),
        (version(schema=None), [("spec.versions[0].schema.openAPIV3Schema", "Required", "Required value")]),
        (schema(properties={"spec": {"type": "object"}}), [
            (f"{ROOT}.type", "Required", "Required value: must not be empty at the root")]),
        (field(properties={"b": {}}), [
            (f"{FIELD}.properties[b].type", "Required", "Required value: must not be empty for specified object fields"),
            (f"{FIELD}.type", "Required", "Required value: must not be empty for specified object fields")]),
        (field(type="foo"), [(f"{FIELD}.type", "NotSupported", 'Unsupported value: "foo": supported values: "array", '
                              '"boolean", "integer", "number", "object", "string"')]),
        (field(type="array"), [(f"{FIELD}.items", "Required", "Required value: must be specified")]),
        (field(type="integer", default="x"), [
            (f"{FIELD}.default", "TypeInvalid", 'Invalid value: "string":  in body must be of type integer: "string"')]),
        (field(**MAP, items=ITEM), [(f"{FIELD}.x-kubernetes-list-map-keys", "Required",
                                     "Required value: must not be empty if x-kubernetes-list-type is map")]),
        (field(**MAP, items=ITEM, **{"x-kubernetes-list-map-keys": ["n"]}), [
            (f"{FIELD}.items.properties[n].default", "Required",
             "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required "
             "property")]),
        (field(type="object", properties={"x": {"type": "string"}}, additionalProperties={"type": "string"}), [
            (f"{FIELD}.additionalProperties", "Forbidden",
             "Forbidden: additionalProperties and properties are mutual exclusive")]),
        (version(subresources={"scale": {}}), [
            ("spec.subresources.scale.specReplicasPath", "Required", "Required value"),
            ("spec.subresources.scale.statusReplicasPath", "Required", "Required value")]),
        (version(subresources={"scale": {"specReplicasPath": ".foo.r", "statusReplicasPath": ".status.r"}}), [
            ("spec.subresources.scale.specReplicasPath", "Invalid",
             'Invalid value: ".foo.r": should be a json path under .spec')]),
    ],
)  # fmt: skip
def test_a_definition_that_breaks_a_rule_is_invalid(
    world: World, foos: Definition, change: Any, causes: list[tuple[str, str, str]]
) -> None:
    tree = foos.body()
    change(tree)
    found = world.create(CRD, tree)
    expected = invalid(CRD, foos.name.replace(world.token, "TOKEN"), *causes)
    assert found == expected


def test_a_definition_is_named_after_plural_and_group(world: World, foos: Definition) -> None:
    tree = foos.body()
    tree["metadata"]["name"] = f"bars.{foos.group}"
    rule = 'Invalid value: "bars.TOKEN.dynamo.dev": must be spec.names.plural+"."+spec.group'
    assert world.create(CRD, tree) == invalid(CRD, "bars.TOKEN.dynamo.dev", ("metadata.name", "Invalid", rule))


def test_one_version_is_stored(world: World, foos: Definition) -> None:
    tree = foos.body()
    tree["spec"]["versions"].append({**tree["spec"]["versions"][0], "name": "v2"})
    found = world.create(CRD, tree)
    assert "must have exactly one version marked as storage version" in str(found.details)


@pytest.mark.parametrize("change", [{"group": "other.dynamo.dev"}, {"scope": "Cluster"}], ids=str)
def test_some_fields_are_immutable(world: World, foos: Definition, change: Tree) -> None:
    foos.install()
    found = world.merge(CRD, foos.name, {"spec": change})
    ((name, value),) = change.items()
    cause = (f"spec.{name}", "Invalid", f'Invalid value: "{value}": field is immutable')
    assert found.refused
    assert invalid(CRD, "foos.TOKEN.dynamo.dev", cause).details["causes"][0] in found.details["causes"]


def test_a_new_schema_holds_for_new_writes(world: World, foos: Definition) -> None:
    foos.install()
    world.create(foos.kind, foos.foo("a", spec={"x": 1}))
    properties = {"x": {"type": "integer"}, "y": {"type": "integer", "default": 4}}
    changed = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    versions = foos.body(changed)["spec"]["versions"]
    assert world.merge(CRD, foos.name, {"spec": {"versions": versions}}).object["metadata"]["generation"] == 2

    def written() -> Tree:
        world.delete(foos.kind, "b")
        created: Tree = world.create(foos.kind, foos.foo("b", spec={"x": 2})).object["spec"]
        return created

    world.eventually(written, {"x": 2, "y": 4})


def test_stored_objects_are_read_through_the_new_schema(world: World, foos: Definition) -> None:
    foos.install()
    before = world.create(foos.kind, foos.foo("a", spec={"x": 1}))
    properties = {"y": {"type": "integer", "default": 4}}
    changed = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    world.merge(CRD, foos.name, {"spec": {"versions": foos.body(changed)["spec"]["versions"]}})
    world.eventually(lambda: world.get(foos.kind, "a").object["spec"], {"y": 4})
    assert world.get(foos.kind, "a").version == before.version


def test_what_was_there_before_a_rule_may_stay(world: World, foos: Definition) -> None:
    foos.install()
    world.create(foos.kind, foos.foo("a", spec={"x": 1}))
    stricter = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "x": {"type": "integer", "minimum": 5}, "y": {"type": "string"}}}}}  # fmt: skip
    world.merge(CRD, foos.name, {"spec": {"versions": foos.body(stricter)["spec"]["versions"]}})
    world.eventually(lambda: world.create(foos.kind, foos.foo("b", spec={"x": 2})).code, 422)
    assert world.merge(foos.kind, "a", {"spec": {"y": "new"}}).object["spec"] == {"x": 1, "y": "new"}
    assert world.merge(foos.kind, "a", {"spec": {"x": 2}}).code == 422


def test_an_object_is_the_same_in_every_version(world: World, foos: Definition) -> None:
    tree = foos.body()
    tree["spec"]["versions"].append({**tree["spec"]["versions"][0], "name": "v2", "storage": False})
    world.create(CRD, tree)
    v2 = foos.spoken("v2")
    world.eventually(lambda: world.list(v2).refused or world.list(foos.kind).refused, False)
    one = world.create(foos.kind, foos.foo("a", spec={"x": 1}))
    two = world.create(v2, foos.foo("b", "v2", spec={"x": 2}))
    assert one.object["apiVersion"] == "TOKEN.dynamo.dev/v1"
    assert two.object["apiVersion"] == "TOKEN.dynamo.dev/v2"
    assert world.get(v2, "a").raw == {**one.raw, "apiVersion": f"{foos.group}/v2"}
    listed = world.list(v2)
    assert [each["apiVersion"] for each in listed.objects] == ["TOKEN.dynamo.dev/v2"] * 2
    watched = world.watch(v2, 2)
    assert [each["apiVersion"] for _, each in watched.events] == ["TOKEN.dynamo.dev/v2"] * 2


def test_a_version_that_is_not_served_is_not_found(world: World, foos: Definition) -> None:
    tree = foos.body()
    tree["spec"]["versions"].append({**tree["spec"]["versions"][0], "name": "v2", "served": False, "storage": False})
    world.create(CRD, tree)
    world.eventually(lambda: world.list(foos.kind).refused, False)
    found = world.list(foos.spoken("v2"))
    assert found.code == 404


def test_a_definition_takes_its_objects_along(world: World, foos: Definition) -> None:
    foos.install()
    world.create(foos.kind, foos.foo("a"))
    world.delete(CRD, foos.name)
    world.eventually(lambda: world.gone(CRD, foos.name), True)
    world.eventually(lambda: world.list(foos.kind).refused, True)
    foos.install()
    assert world.list(foos.kind).names == []


def test_a_finalizer_holds_the_definition(world: World, foos: Definition) -> None:
    foos.install()
    world.create(foos.kind, foos.foo("a", metadata={"finalizers": ["x.y/z"]}))
    left = world.delete(CRD, foos.name).object
    assert left["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    world.eventually(lambda: "deletionTimestamp" in world.get(foos.kind, "a").object["metadata"], True)
    world.eventually(lambda: foos.condition("Terminating"), ("True", "InstanceDeletionInProgress"))
    assert world.create(foos.kind, foos.foo("b")) == refused(
        403, "Forbidden",
        'foos.TOKEN.dynamo.dev "b" is forbidden: create not allowed while custom resource definition is terminating',
        name="b", group="TOKEN.dynamo.dev", kind="foos",
    )  # fmt: skip
    world.merge(foos.kind, "a", {"metadata": {"finalizers": None}})
    world.eventually(lambda: world.gone(CRD, foos.name), True)


def test_a_watch_ends_with_its_definition(world: World, foos: Definition) -> None:
    foos.install()
    world.create(foos.kind, foos.foo("a", spec={"x": 1}))
    start = world.version(foos.kind)
    world.delete(CRD, foos.name)
    world.eventually(lambda: world.gone(CRD, foos.name), True)
    found = world.watch(foos.kind, resource_version=start)
    assert found.refused
    assert found.code == 404


def test_two_definitions_cannot_share_a_kind(world: World, foos: Definition) -> None:
    foos.install()
    other = Kind(Custom, group=foos.group, version="v1", kind="Foo", plural="bars")
    name = f"bars.{foos.group}"
    world.create(CRD, definition(other, SPEC_X))
    world.eventually(lambda: foos.condition("NamesAccepted", name), ("False", "ListKindConflict"))
    assert foos.condition("Established", name) == ("False", "NotAccepted")
    assert world.list(other).refused
    world.delete(CRD, name)
