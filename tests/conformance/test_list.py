"""Lists: what they hold, selectors, and which version they are of."""

from __future__ import annotations

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, POD, SECRET
from tests.conformance.kinds import GADGET, PLANET, WIDGET, body, widget
from tests.conformance.outcome import Outcome, refused
from tests.conformance.world import World

LABELS = {"a": {"app": "x", "tier": "1"}, "b": {"app": "x"}, "c": {"app": "y", "tier": "2"}, "d": {}}


def labelled(world: World) -> None:
    for name, labels in LABELS.items():
        world.create(GADGET, body(GADGET, name, metadata={"labels": labels}))


def test_a_list_holds_whole_objects_in_the_order_of_names(world: World) -> None:
    for name, size in (("c", 3), ("a", 1), ("b", 2)):
        world.create(WIDGET, body(WIDGET, name, spec={"size": size}))
    found = world.list(WIDGET)
    assert not found.refused
    assert found.objects == [widget(name, spec={"size": size}) for name, size in (("a", 1), ("b", 2), ("c", 3))]
    assert (found.token, found.remaining) == ("", None)


def test_an_empty_list_has_a_version(world: World) -> None:
    found = world.list(WIDGET)
    assert not found.refused
    assert found.objects == []
    assert int(found.version) > 0


def test_the_version_of_a_list_is_not_older_than_its_objects(world: World) -> None:
    created = world.create(WIDGET, body(WIDGET, "a"))
    assert int(world.version(WIDGET)) >= int(created.version)


def test_a_list_over_all_namespaces_is_ordered_by_namespace(world: World) -> None:
    world.create(WIDGET, body(WIDGET, "all"))
    found = world.list(WIDGET, namespace="", field_selector="metadata.name=all")
    assert not found.refused
    assert "NS" in [each["metadata"]["namespace"] for each in found.objects]


def test_objects_of_cluster_scope_are_listed(world: World) -> None:
    name = world.name("earth")
    world.create(PLANET, body(PLANET, name, metadata={"labels": {"token": world.token}}))
    assert world.list(PLANET, label_selector=f"token={world.token}").names == [name.replace(world.token, "TOKEN")]
    world.delete(PLANET, name)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=x", ["a", "b"]),
        ("app==x", ["a", "b"]),
        ("app!=x", ["c", "d"]),
        ("app in (x,y)", ["a", "b", "c"]),
        ("app notin (x)", ["c", "d"]),
        ("tier", ["a", "c"]),
        ("!tier", ["b", "d"]),
        ("app=x,tier=1", ["a"]),
        ("app=x,!tier", ["b"]),
        ("app in (x),tier notin (1)", ["b"]),
        ("app=", []),
        ("app=nobody", []),
    ],
)
def test_labels_select(world: World, selector: str, expected: list[str]) -> None:
    labelled(world)
    assert world.list(GADGET, label_selector=selector).names == expected


@pytest.mark.parametrize("selector", ["a b", "a=b c", "=x", "a in b", "a in (b", "a=-b"])
def test_a_label_selector_that_cannot_be_read_is_refused(world: World, selector: str) -> None:
    found = world.list(GADGET, label_selector=selector)
    assert (found.code, found.reason) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("metadata.name=b", ["b"]),
        ("metadata.name!=b", ["a", "c", "d"]),
        ("metadata.name=b,metadata.name!=b", []),
        ("metadata.namespace=elsewhere", []),
    ],
)
def test_fields_select(world: World, selector: str, expected: list[str]) -> None:
    labelled(world)
    assert world.list(GADGET, field_selector=selector).names == expected


def test_a_field_that_a_definition_makes_selectable_selects(world: World) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        world.create(WIDGET, body(WIDGET, name, spec={"color": color}))
    assert world.list(WIDGET, field_selector="spec.color=red").names == ["a", "c"]
    assert world.list(WIDGET, field_selector="spec.color!=red").names == ["b"]


def test_the_type_of_a_secret_selects(world: World) -> None:
    world.create(SECRET, body(SECRET, "a", type="x.y/z"))
    world.create(SECRET, body(SECRET, "b"))
    assert world.list(SECRET, field_selector="type=x.y/z").names == ["a"]
    assert world.list(SECRET, field_selector="type=Opaque").names == ["b"]


def test_the_node_of_a_pod_selects(world: World) -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "nowhere", "containers": [{"name": "c", "image": "i"}]}}
    world.accepted(lambda: world.create(POD, pod))
    assert world.list(POD, field_selector="spec.nodeName=nowhere").names == ["a"]
    assert world.list(POD, field_selector="spec.nodeName=").names == []
    assert world.list(POD, field_selector="status.phase=Pending,spec.nodeName=nowhere").names == ["a"]
    world.delete(POD, "a", grace=0)


def test_an_unknown_field_selector_is_refused(world: World) -> None:
    found = world.list(CONFIG_MAP, field_selector="data.x=y")
    assert (found.code, found.reason) == (400, "BadRequest")
    assert found.message.startswith('"data.x" is not a known field selector')
    assert world.list(GADGET, field_selector="data.x=y") == refused(
        400, "BadRequest", "field label not supported: data.x"
    )


def test_labels_and_fields_select_together(world: World) -> None:
    labelled(world)
    assert world.list(GADGET, label_selector="app=x", field_selector="metadata.name!=a").names == ["b"]


def test_any_version_will_do(world: World) -> None:
    labelled(world)
    world.eventually(lambda: world.list(GADGET, resource_version="0").names, ["a", "b", "c", "d"])


def test_a_list_may_be_newer_than_what_was_asked_for(world: World) -> None:
    first = world.create(GADGET, body(GADGET, "a")).version
    world.create(GADGET, body(GADGET, "b"))
    world.eventually(lambda: world.list(GADGET, resource_version=first).names, ["a", "b"])
    assert world.list(GADGET, resource_version=first, match="NotOlderThan").names == ["a", "b"]


def test_an_exact_version_shows_the_past(world: World) -> None:
    world.create(GADGET, body(GADGET, "a", n=1))
    past = world.create(GADGET, body(GADGET, "b", n=1)).version
    world.merge(GADGET, "a", {"n": 2})
    world.delete(GADGET, "b")
    world.create(GADGET, body(GADGET, "c", n=1))
    found = world.list(GADGET, resource_version=past, match="Exact")
    assert not found.refused
    assert [(each["metadata"]["name"], each["n"]) for each in found.objects] == [("a", 1), ("b", 1)]
    assert found.version == past


def test_a_version_of_the_future_is_too_large(world: World) -> None:
    found = world.list(GADGET, resource_version="999999999")
    assert (found.code, found.reason) == (504, "Timeout")
    assert found.message.startswith("Timeout: Too large resource version: 999999999, current: ")
    assert found.details == {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }


def test_a_version_is_a_number(world: World) -> None:
    assert world.list(GADGET, resource_version="abc") == refused(
        400, "BadRequest",
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    )  # fmt: skip


def _options(*rules: tuple[str, str]) -> Outcome:
    causes = [{"reason": f"FieldValue{r}", "message": m, "field": "resourceVersionMatch"} for r, m in rules]
    message = 'ListOptions.meta.k8s.io "" is invalid'
    if len(rules) == 1:
        message += f": resourceVersionMatch: {rules[0][1]}"
    return refused(422, "Invalid", message, group="meta.k8s.io", kind="ListOptions", causes=causes)


def test_a_match_needs_a_version(world: World) -> None:
    rule = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    assert world.list(GADGET, match="Exact") == _options(("Forbidden", rule))


def test_any_version_is_not_exact(world: World) -> None:
    rule = 'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    assert world.list(GADGET, match="Exact", resource_version="0") == _options(("Forbidden", rule))


def test_a_match_is_one_of_two(world: World) -> None:
    rule = 'Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""'
    assert world.list(GADGET, match="foo", resource_version="1") == _options(("NotSupported", rule))
