"""Namespaces: what a new one looks like, what it lets in, and how it ends."""

from __future__ import annotations

import pytest

from dynamo_ctrl.objects.builtin.core import CONFIG_MAP, NAMESPACE
from tests.conformance.kinds import WIDGET, body
from tests.conformance.outcome import invalid, not_found, refused
from tests.conformance.world import World, namespace_body


def other(world: World, name: str) -> World:
    """A second world on the same server, in another namespace."""
    world.create(NAMESPACE, namespace_body(name))
    return world.elsewhere(name)


def test_a_new_namespace_is_active(world: World) -> None:
    name = world.name("new")
    assert world.create(NAMESPACE, namespace_body(name)).object == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "new-TOKEN", "labels": {"kubernetes.io/metadata.name": "new-TOKEN"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    world.delete(NAMESPACE, name)


def test_an_object_needs_its_namespace(world: World) -> None:
    nowhere = world.elsewhere(world.name("nowhere"))
    for kind in (CONFIG_MAP, WIDGET):
        assert nowhere.create(kind, body(kind, "a")) == refused(
            404, "NotFound", 'namespaces "NS" not found', name="NS", kind="namespaces"
        )


def test_a_list_in_no_namespace_is_empty(world: World) -> None:
    assert world.list(CONFIG_MAP, namespace=world.name("nowhere")).names == []


def test_the_label_with_the_name_cannot_be_removed(world: World) -> None:
    found = world.merge(NAMESPACE, world.namespace, {"metadata": {"labels": None}})
    assert found.object["metadata"]["labels"] == {"kubernetes.io/metadata.name": "NS"}


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(("name", "rule"), [("A", LABEL), ("a_b", LABEL), ("a.b", "must not contain dots")])
def test_a_namespace_is_named_by_a_dns_label(world: World, name: str, rule: str) -> None:
    found = world.create(NAMESPACE, namespace_body(name))
    assert found == invalid(NAMESPACE, name, ("metadata.name", "Invalid", f'Invalid value: "{name}": {rule}'))


def test_a_namespace_takes_its_content_along(world: World) -> None:
    second = other(world, world.name("second"))
    second.create(CONFIG_MAP, body(CONFIG_MAP, "a"))
    second.create(WIDGET, body(WIDGET, "a"))
    assert second.delete(NAMESPACE, second.namespace).object["status"]["phase"] == "Terminating"
    second.eventually(lambda: second.get(NAMESPACE, second.namespace), not_found(NAMESPACE, "NS"))
    assert second.list(WIDGET).names == []


def test_a_finalizer_holds_a_namespace(world: World) -> None:
    second = other(world, world.name("second"))
    second.create(WIDGET, body(WIDGET, "a", metadata={"finalizers": ["x.y/z"]}))
    second.delete(NAMESPACE, second.namespace)
    second.eventually(lambda: "deletionTimestamp" in second.get(WIDGET, "a").object["metadata"], True)
    assert second.get(NAMESPACE, second.namespace).object["status"]["phase"] == "Terminating"
    second.merge(WIDGET, "a", {"metadata": {"finalizers": None}})
    second.eventually(lambda: second.gone(NAMESPACE, second.namespace), True)


def test_a_namespace_that_goes_takes_nothing_new(world: World) -> None:
    second = other(world, world.name("second"))
    second.create(WIDGET, body(WIDGET, "a", metadata={"finalizers": ["x.y/z"]}))
    second.delete(NAMESPACE, second.namespace)
    second.eventually(lambda: second.create(CONFIG_MAP, body(CONFIG_MAP, "late")).refused, True)
    assert second.create(CONFIG_MAP, body(CONFIG_MAP, "b")) == refused(
        403, "Forbidden",
        'configmaps "b" is forbidden: unable to create new content in namespace NS because it is being terminated',
        name="b", kind="configmaps",
        causes=[{"reason": "NamespaceTerminating", "message": "namespace NS is being terminated",
                 "field": "metadata.namespace"}],
    )  # fmt: skip
    second.merge(WIDGET, "a", {"metadata": {"finalizers": None}})


def test_the_default_namespace_stays(world: World) -> None:
    assert world.delete(NAMESPACE, "default") == refused(
        403, "Forbidden", 'namespaces "default" is forbidden: this namespace may not be deleted',
        name="default", kind="namespaces",
    )  # fmt: skip


def test_objects_of_two_namespaces_do_not_meet(world: World) -> None:
    second = other(world, world.name("second"))
    second.create(WIDGET, body(WIDGET, "a", spec={"size": 2}))
    world.create(WIDGET, body(WIDGET, "a", spec={"size": 1}))
    assert second.get(WIDGET, "a").object["spec"] == {"size": 2}
    assert world.list(WIDGET).names == ["a"]
    second.delete(NAMESPACE, second.namespace)
